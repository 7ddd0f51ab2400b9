"""When sources go, what was made of them is looked at once, and what was made of others not at all.

The statements are taken on their way and run once more, explained, before the database has counted
what is there as well as after.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import psycopg
import pytest
from sqlalchemy import event

from app.adapters.db import migrate
from app.adapters.db.engine import open_engine
from app.adapters.db.session import Database
from app.artifacts.tasks.store.erasure import mark_derived
from app.artifacts.tasks.store.tables import NamespaceRow
from app.settings.settings import Settings
from tests.conftest import START
from tests.schema.conftest import database_beside

_OTHERS, _SOURCES, _RESULTS = 100, 1_000, 100
_GONE = 500
_MOST = 2 * _RESULTS * _SOURCES
"""Rows of all steps of a plan."""

# The results of the first namespace are made of all that is in it, those of others of little.
_SEED = f"""
set session_replication_role = replica;
insert into engines (engine_id, project, location, version, create_time, update_time)
select 1, 'default', 'local', 1, %(start)s, %(start)s;
insert into task_namespaces (engine_id, memory, namespace, artifacts, version, create_time,
                             update_time, expire_time)
select 1, 'tools', name, 1, 1, %(start)s, %(start)s, %(start)s::timestamptz + interval '1 day'
from (select 'n' || number as name from generate_series(0, {_OTHERS}) as number
      union select 'results') as names;
insert into task_artifacts (engine_id, content_id, memory, namespace, name, ordinal, kind,
                            media_type, size_bytes, state, version, depth, derived_from,
                            create_time, expire_time)
select 1, source || '-' || number, 'tools', 'results', source || '-' || number, number, 'text',
       'text/plain', 1, 'ready', 1, 1, derived_from, %(start)s, %(start)s::timestamptz
from generate_series(1, {_RESULTS}) as number,
     (select 'n' || n as source,
             (select jsonb_agg(jsonb_build_object('namespace', 'n' || n, 'name', 'a' || part))
              from generate_series(1, case n when 0 then {_SOURCES} else 1 end) as part)
             as derived_from
      from generate_series(0, {_OTHERS}) as n) as sources;
"""


@pytest.fixture(scope="module")
def url(database_url: str) -> Iterator[str]:
    with database_beside(database_url, "task_marks") as found:
        migrate.upgrade(found)
        with psycopg.connect(found, cursor_factory=psycopg.ClientCursor) as connection:
            connection.execute(_SEED.encode(), {"start": START.isoformat()})
        yield found


@pytest.mark.parametrize("is_counted", [False, True], ids=["new", "analyzed"])
@pytest.mark.parametrize(
    ("names", "marked"),
    [
        (None, _RESULTS),
        ([f"a{number}" for number in range(1, _GONE + 1)], _RESULTS),
        ([f"other{number}" for number in range(_GONE)], 0),
    ],
    ids=["all", "some", "others"],
)
async def test_each_result_and_each_source_is_touched_once(
    url: str, settings: Settings, names: list[str] | None, marked: int, *, is_counted: bool
) -> None:
    if is_counted:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(b"analyze")
    first, *later = await _sent(url, settings, "n0", names)
    with psycopg.connect(url) as connection:
        nodes = list(_nodes(_explained(connection, first)))
        assert _looked_at(nodes) == _RESULTS
        assert nodes[0]["Actual Rows"] == marked
        assert sum(map(_rows, nodes)) <= _MOST
        assert len(later) == (marked > 0)
        # What is marked is not looked at again, and of what was made of it there is nothing.
        for statement in (first, *later) if marked else ():
            assert _looked_at(list(_nodes(_explained(connection, statement)))) == 0
        connection.rollback()


async def _sent(
    url: str, settings: Settings, namespace: str, names: list[str] | None
) -> Sequence[Any]:
    """Return the statements that mark what was made of sources, without their changes."""
    database = Database(open_engine(url, settings))
    sent: list[Any] = []
    event.listen(
        database.engine.sync_engine,
        "before_cursor_execute",
        lambda *arguments: sent.append((arguments[2], arguments[3])),
    )
    source = NamespaceRow(engine_id=1, memory="tools", namespace=namespace)
    try:
        async with database.transaction() as session:
            await mark_derived(session, source, names)
            await session.rollback()
    finally:
        await database.close()
    return sent


def _explained(connection: psycopg.Connection[Any], statement: Any) -> dict[str, Any]:
    text, values = statement
    explain = "explain (analyze, format json) " + text
    (row,) = connection.execute(explain.encode(), values).fetchall()
    plan: dict[str, Any] = row[0][0]["Plan"]
    return plan


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", []):
        yield from _nodes(inner)


def _looked_at(nodes: Sequence[dict[str, Any]]) -> float:
    """Return how many rows of artifacts a statement has looked at."""
    scans = [node for node in nodes if node.get("Alias") == "task_artifacts"]
    return sum(_rows(node) for node in scans if node["Node Type"] != "ModifyTable")


def _rows(node: dict[str, Any]) -> float:
    removed = [value for name, value in node.items() if name.startswith("Rows Removed by")]
    found: float = (node["Actual Rows"] + sum(removed)) * node["Actual Loops"]
    return found
