"""What `memory-bank check` sends about one engine can run on the node of that engine.

A cluster joins its tables by the engine alone. Where a query inside another one aggregates, it
derives no engine for it: each query has to name the engine itself.
"""

import pytest
from sqlglot import exp

from app.kernel.checks import Examination
from app.process.features import FEATURES
from tests.architecture.tenancy import unconfined
from tests.architecture.trees import parse

EXAMINATIONS = [examination for feature in FEATURES for examination in feature.examinations]


def _unnamed(statement: str) -> list[str]:
    """Return the tables of tenants for which a query of the statement names no engine."""
    alone = (_without_outer(query) for query in parse(statement).find_all(exp.Select))
    return sorted({table for text in alone for table in unconfined(text)})


def _without_outer(query: exp.Expr) -> str:
    """Return the text of a query by itself, in which nothing of those around it is known."""
    sources = query.find_all(exp.Table, exp.Subquery)
    own = {source.alias_or_name for source in sources}

    def hide(node: exp.Expr) -> exp.Expr:
        is_outer = isinstance(node, exp.Column) and node.table and node.table not in own
        return exp.null() if is_outer else node

    return query.copy().transform(hide).sql(dialect="postgres")


@pytest.mark.parametrize("examination", EXAMINATIONS, ids=lambda one: one.check)
def test_each_query_of_an_examination_names_the_engine(examination: Examination) -> None:
    finds = examination.finds
    if examination.batches is None:
        assert "{of_engine}" in finds
        finds = finds.format(of_engine="engine_id = :engine")
    assert _unnamed(finds.replace(":engine", "1")) == []


@pytest.mark.parametrize(
    ("statement", "tables"),
    [
        (
            (
                "select 1 from sessions s left join lateral (select count(*) from session_events e"
                " where e.engine_id = s.engine_id) found on true where s.engine_id = 1"
            ),
            ["session_events"],
        ),
        (
            (
                "select 1 from memories m join memory_vectors v on v.memory_id = m.memory_id"
                " where m.engine_id = 1"
            ),
            ["memory_vectors"],
        ),
        (
            (
                "select 1 from memories m join memory_vectors v on v.engine_id = m.engine_id"
                " where m.engine_id = 1 and not exists (select from erasures where engine_id = 1)"
            ),
            [],
        ),
    ],
)
def test_the_judge_finds_a_join_without_the_engine(statement: str, tables: list[str]) -> None:
    assert _unnamed(statement) == tables
