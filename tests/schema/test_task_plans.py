"""Readers touch the pieces of their namespace and no others, each once or twice, however many.

Their statements are taken on their way and run once more, explained: among tens of thousands of
others, and before the database has counted what is there as well as after.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

import psycopg
import pytest
from sqlalchemy import event

from app.adapters.db import migrate
from app.adapters.db.engine import open_engine
from app.adapters.db.session import Database, Session
from app.artifacts.readers import store
from app.artifacts.readers.store import Texts
from app.kernel.names import NamespaceName
from app.language.chunking import Piece
from app.settings.settings import Settings
from tests.conftest import START
from tests.schema.conftest import database_beside

_MEMORY = "projects/default/locations/local/reasoningEngines/1/taskMemories/tools"
_MANY, _ONE_LONG = "n0", "long"
_ARTIFACTS, _CHUNKS, _OTHERS = 1_000, 5, 6
_LONG_CHUNKS = 5_000
_QUESTION = "w1 w2 w3 w4 w5 and w6 and word"
"""`w1` is in one piece in a hundred, `word` is in all."""
_PAGES_A_PIECE = 6
_PAGES_OF_CATALOG = 100

# Words of the first namespace are many enough to be kept outside of their rows.
_SEED = f"""
set session_replication_role = replica;
set synchronous_commit = off;
insert into engines (engine_id, project, location, version, create_time, update_time)
select 1, 'default', 'local', 1, %(start)s, %(start)s;
insert into task_namespaces (engine_id, memory, namespace, artifacts, version, create_time,
                             update_time, expire_time)
select 1, 'tools', name, 1, 1, %(start)s, %(start)s, %(start)s::timestamptz + interval '1 day'
from (select 'n' || number as name from generate_series(0, {_OTHERS}) as number
      union select '{_ONE_LONG}') as names;
insert into task_artifacts (engine_id, content_id, memory, namespace, name, ordinal, kind,
                            media_type, size_bytes, language, state, chunks, version, create_time,
                            expire_time)
select 1, namespace || '-' || number, memory, namespace, 'a' || number, number, 'text',
       'text/plain', 1, 'simple', 'ready',
       case when namespace = '{_ONE_LONG}' then {_LONG_CHUNKS} else {_CHUNKS} end, 1, create_time,
       expire_time
from task_namespaces, generate_series(1, {_ARTIFACTS}) as number
where namespace <> '{_ONE_LONG}' or number = 1;
insert into task_chunks (engine_id, content_id, n, memory, namespace, start_offset, end_offset,
                         text, tokens)
select 1, content_id, n, memory, namespace, 0, 1,
       'word w' || (ordinal + n) %% 100 || case when namespace = '{_MANY}' then long else '' end, 1
from task_artifacts, generate_series(0, chunks - 1) as n,
     lateral (select string_agg(' ' || md5((ordinal * n + part)::text), '') as long
              from generate_series(1, 60) as part) as texts;
"""

Find = Callable[[Session], Awaitable[Sequence[Piece]]]


@pytest.fixture(scope="module")
def url(database_url: str) -> Iterator[str]:
    with database_beside(database_url, "task_plans") as found:
        migrate.upgrade(found)
        with psycopg.connect(found, cursor_factory=psycopg.ClientCursor) as connection:
            connection.execute(_SEED.encode(), {"start": START.isoformat()})
        yield found


def _texts(namespace: str) -> Texts:
    numbers = range(1, 2 if namespace == _ONE_LONG else _ARTIFACTS + 1)
    name = NamespaceName.parse(f"{_MEMORY}/namespaces/{namespace}")
    return Texts(name, [f"{namespace}-{number}" for number in numbers], START)


def _best(namespace: str) -> Find:
    return lambda session: store.find_best(session, _texts(namespace), _QUESTION, 400)


def _page(namespace: str, after: tuple[int, int] | None) -> Find:
    return lambda session: store.list_pieces(session, _texts(namespace), after, 200)


def _places(namespace: str, places: Sequence[tuple[int, int]]) -> Find:
    wanted = [(f"{namespace}-{number}", n) for number, n in places]
    return lambda session: store.get_pieces(session, _texts(namespace), wanted)


_SIZE = _ARTIFACTS * _CHUNKS
_CASES: dict[str, tuple[Find, int, int]] = {
    "best of many": (_best(_MANY), 400, _SIZE + 400),
    "best of a long text": (_best(_ONE_LONG), 400, _LONG_CHUNKS + 400),
    "first of many": (_page(_MANY, None), 200, 201 * _CHUNKS),
    "next of many": (_page(_MANY, (500, 2)), 200, 201 * _CHUNKS),
    "next of a long text": (_page(_ONE_LONG, (1, 2_500)), 200, 200),
    "some of many": (_places(_MANY, [(n, 1) for n in range(1, 1_001)]), 1_000, 1_000),
    "some of a long text": (_places(_ONE_LONG, [(1, 5 * n) for n in range(1_000)]), 1_000, 1_000),
}


@pytest.mark.parametrize("is_counted", [False, True], ids=["new", "analyzed"])
async def test_readers_touch_no_pieces_but_those_of_their_namespace(
    url: str, settings: Settings, *, is_counted: bool
) -> None:
    if is_counted:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(b"analyze")
    for case, (find, wanted, most) in _CASES.items():
        statement, found = await _sent(url, settings, find)
        assert len(found) == wanted, case
        plan = _explained(url, statement)
        scans = [node for node in _nodes(plan) if node.get("Relation Name") == "task_chunks"]
        assert scans
        touched = sum(map(_rows, scans))
        pages = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
        print(f"{case}: {touched:,} rows, {pages:,} pages")
        assert touched <= most, (case, plan)
        assert pages <= _PAGES_A_PIECE * most + _PAGES_OF_CATALOG, (case, plan)


async def _sent(url: str, settings: Settings, find: Find) -> tuple[Any, Sequence[Piece]]:
    """Return the last statement that a lookup has sent, and what it has found."""
    database = Database(open_engine(url, settings))
    sent: list[Any] = []
    event.listen(
        database.engine.sync_engine,
        "before_cursor_execute",
        lambda *arguments: sent.append((arguments[2], arguments[3])),
    )
    try:
        async with database.snapshot() as session:
            found = await find(session)
    finally:
        await database.close()
    return sent[-1], found


def _explained(url: str, statement: Any) -> dict[str, Any]:
    text, values = statement
    with psycopg.connect(url) as connection:
        explain = "explain (analyze, buffers, format json) " + text
        (row,) = connection.execute(explain.encode(), values).fetchall()
    plan: dict[str, Any] = row[0][0]["Plan"]
    return plan


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", []):
        yield from _nodes(inner)


def _rows(node: dict[str, Any]) -> float:
    """Return how many rows a scan has looked at."""
    removed = [value for name, value in node.items() if name.startswith("Rows Removed by")]
    found: float = (node["Actual Rows"] + sum(removed)) * node["Actual Loops"]
    return found
