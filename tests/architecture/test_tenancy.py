"""The judge of statements, judged."""

import pytest

from tests.architecture.tenancy import TENANT_TABLES, unconfined
from tests.architecture.trees import is_judged


def test_the_tables_of_tenants_are_known() -> None:
    assert {"engines", "memories", "memory_vectors", "memory_revisions"} < TENANT_TABLES
    assert {"revision_labels", "operations", "request_ids"} < TENANT_TABLES
    assert not {"api_keys", "ticks"} & TENANT_TABLES


@pytest.mark.parametrize(
    "statement",
    [
        "select 1 from memories where memories.engine_id = %(engine_id_1)s::BIGINT and fact = 'a'",
        "select fact from memories where engine_id = $1",
        (
            "select * from memories m join memory_vectors v on v.engine_id = m.engine_id"
            " where m.engine_id = %(a)s"
        ),
        "select * from memories m, memory_vectors v where m.engine_id = 1 and v.engine_id = 1",
        (
            "select * from memory_revisions r where r.engine_id = 1 and exists"
            " (select 1 from revision_labels l where l.engine_id = r.engine_id and l.key = 'a')"
        ),
        "update memories set fact = 'a' where (memories.engine_id = 1) and (version = 2)",
        "delete from memories where engine_id = 1 and memory_id in ('a') returning memory_id",
        "insert into memories (engine_id, fact) values (%(a)s, %(b)s) on conflict do nothing",
        (
            "with new as (insert into memories (engine_id, fact) values (1, 'a') returning *)"
            " insert into memory_revisions (engine_id, fact) select new.engine_id, 'a' from new"
        ),
        "select * from memories where false",
        "select * from ticks",
        "select 1",
    ],
)
def test_what_names_one_engine_passes(statement: str) -> None:
    assert unconfined(statement) == []


@pytest.mark.parametrize(
    ("statement", "tables"),
    [
        ("select * from memories", ["memories"]),
        ("select * from memories where engine_id > 1", ["memories"]),
        ("select * from memories where engine_id in (1, 2)", ["memories"]),
        ("select * from memories where engine_id = any(%(ids)s)", ["memories"]),
        ("select * from memories where engine_id = 1 or fact = 'a'", ["memories"]),
        ("select * from memories where not (engine_id = 1)", ["memories"]),
        ("select * from memories where engine_id = version", ["memories"]),
        ("update memories set engine_id = 1 where fact = 'a'", ["memories"]),
        ("delete from memories where memory_id = 'a'", ["memories"]),
        (
            (
                "select * from memories m join memory_vectors v on v.memory_id = m.memory_id"
                " where m.engine_id = 1"
            ),
            ["memory_vectors"],
        ),
        (
            "select * from memories m join memory_vectors v on v.engine_id = m.engine_id",
            ["memories", "memory_vectors"],
        ),
        (
            (
                "select * from memories m left join memory_vectors v on v.engine_id = m.engine_id"
                " where m.engine_id = 1"
            ),
            ["memory_vectors"],
        ),
        (
            (
                "select * from memory_revisions where engine_id = 1 and revision_id in"
                " (select revision_id from revision_labels where key = 'a')"
            ),
            ["revision_labels"],
        ),
        (
            (
                "with old as (select engine_id, memory_id from memories limit 1)"
                " delete from memories using old where memories.engine_id = old.engine_id"
            ),
            ["memories"],
        ),
        ("select count(*) filter (where engine_id = 1) from memories", ["memories"]),
        ("select * from memories where false or fact = 'a'", ["memories"]),
        ("insert into memories (fact) values ('a')", ["memories"]),
        ("select 1 union select version from memories", ["memories"]),
    ],
)
def test_what_crosses_engines_is_found(statement: str, tables: list[str]) -> None:
    assert unconfined(statement) == tables


def test_definitions_are_not_judged() -> None:
    assert not is_judged("create index on memories (fact)")
    assert not is_judged("set timezone = 'UTC'")
    assert is_judged("with a as (select 1) select * from a")
