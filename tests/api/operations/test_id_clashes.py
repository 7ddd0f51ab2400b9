"""Ids that another process has drawn at the same moment: a request gets others, and succeeds.

The clock stands still, so that the next ids of a bucket are known, and their rows can be there.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import httpx
import pytest
from sqlalchemy import func, select, text

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.kernel.errors import Aborted, Reason
from app.kernel.ids import NO_BUCKET, bucket_of, bucket_of_user, new_id
from app.platform.audit.store import AuditEventRow
from app.platform.operations.services.runner import Runner
from app.platform.sessions.store import append_batch
from app.platform.sessions.store.tables import SessionEventRow
from tests.support.bank import ENGINE_URL, Json, listed, ok
from tests.support.engines import COLLECTION
from tests.support.errors import refusal
from tests.support.generation import said
from tests.support.operations import USER, create_memory, path_of
from tests.support.sessions import create_session, event
from tests.support.summaries import talk
from tests.support.tasks import store, text_output, upload

_TAKEN = 300
_KEYS_URL = "http://test/v1/keys"
_SESSION = "/sessions/chosen"


@dataclass(frozen=True)
class _Kind:
    """The column of a drawn id, what else is unique in a copy of a row, and the bucket."""

    column: str
    unique: str = "'version', 1"
    bucket: int = bucket_of_user("42")
    prefix: str = ""


_KINDS = {
    "operations": _Kind("operation_id"),
    "memories": _Kind("memory_id"),
    "memory_revisions": _Kind("revision_id", unique="'version', 1000 + place"),
    "sessions": _Kind("session_id"),
    "session_events": _Kind("event_id", unique="'seq', 1000 + place"),
    "session_summaries": _Kind("summary_id", unique="'version', 1000 + place"),
    "audit_events": _Kind("event_id", bucket=NO_BUCKET),
    "task_artifacts": _Kind("content_id", "'name', 'taken-' || place", NO_BUCKET),
    "erasures": _Kind("certificate_id", bucket=NO_BUCKET, prefix="er_"),
    "api_keys": _Kind("key_id", bucket=NO_BUCKET),
    "engines": _Kind("engine_id", bucket=NO_BUCKET),
}
_COLUMNS = text(
    "select string_agg(attname, ', ') from pg_attribute where attrelid = cast(:name as regclass)"
    " and attnum > 0 and not attisdropped and attgenerated = ''"
)


def _after(made: int) -> int:
    """Return the next id of a bucket."""
    after = made + 1_024
    if after % 100_000 < 97 * 1_024:
        return after
    return (made // 100_000 + 1) * 100_000 + bucket_of(made)


async def _take(database: Database, clock: FixedClock, table: str, bucket: int) -> str:
    """Insert copies of a row of a table under the next ids of its bucket; return the last id."""
    kind = _KINDS[table]
    made = new_id(clock.now(), bucket)
    taken = [made := _after(made) for _ in range(_TAKEN)]
    drawn = f"'{kind.prefix}' || id" if kind.prefix else "id"
    async with database.transaction() as session:
        columns = (await session.execute(_COLUMNS, {"name": table})).scalar_one()
        await session.execute(
            text(
                f"insert into {table} ({columns}) select {columns} from (select"
                f" (jsonb_populate_record(null::{table}, to_jsonb(old) ||"
                f" jsonb_build_object('{kind.column}', {drawn}, {kind.unique}))).*"
                f" from (select * from {table} limit 1) old,"
                " unnest(cast(:taken as bigint[])) with ordinality as ids (id, place)) made"
            ),
            {"taken": taken},
        )
    return f"{kind.prefix}{made}"


async def _count_after(database: Database, table: str, last: str) -> int:
    statement = text(f"select count(*) from {table} where {_KINDS[table].column}::text > :last")
    async with database.snapshot() as session:
        count: int = (await session.execute(statement, {"last": last})).scalar_one()
    return count


async def _fill(client: httpx.AsyncClient, runner: Runner) -> str:
    """Make a row of each table; return the path of the memory."""
    path = path_of((await create_memory(client, "I like tea."))["name"])
    await create_session(client, "chosen", memoryPolicy={"strategy": "every_n", "every": 1})
    await talk(client, _SESSION, 1)
    ok(await store(client, text_output("stored")))
    ok(await client.post(f"{ENGINE_URL}:eraseScope", json={"scope": {"user_id": "other"}}))
    await runner.run_pending()
    return path


_FACT = {"fact": "I like coffee.", "scope": USER}
_LINE = b'{"fact": "I like coffee.", "scope": {"user_id": "42"}}\n'
_STEPS: dict[str, Callable[[httpx.AsyncClient, str], Awaitable[httpx.Response]]] = {
    "create": lambda client, _: client.post("/memories", json=_FACT),
    "create once": lambda client, _: client.post("/memories?requestId=one", json=_FACT),
    "create labelled": lambda client, _: client.post(
        "/memories?requestId=one", json={**_FACT, "revisionLabels": {"a": "b"}}
    ),
    "create some": lambda client, _: client.post(
        "/memories:batchCreate", json={"requests": [{"memory": _FACT}, {"memory": _FACT}]}
    ),
    "import": lambda client, _: client.post(
        "/memories:import", content=_LINE, headers={"Content-Type": "application/x-ndjson"}
    ),
    "import parts": lambda client, _: client.post(
        "/memories:import?importId=work",
        content=_LINE,
        headers={"Content-Type": "application/x-ndjson"},
    ),
    "update": lambda client, path: client.patch(
        f"{path}?requestId=two", json={"fact": "I like coffee."}
    ),
    "delete": lambda client, path: client.delete(path),
    "generate": lambda client, _: client.post(
        "/memories:generate?requestId=three", json={**said("tea"), "scope": USER}
    ),
    "ingest": lambda client, _: client.post(
        "/memories:ingestEvents", json={**said("I like milk."), "scope": USER, "forceFlush": True}
    ),
    "session": lambda client, _: client.post("/sessions", json={"userId": "42"}),
    "event": lambda client, _: client.post(f"{_SESSION}:appendEvent", json=event()),
    "events": lambda client, _: client.post(
        f"{_SESSION}/events:batch", json={"events": [event(), event()]}
    ),
    "exchange": lambda client, _: client.post(
        f"{_SESSION}/exchanges", json={"input": "question 2", "output": "answer 2"}
    ),
    "store": lambda client, _: store(client, text_output("one"), text_output("two")),
    "upload": lambda client, _: upload(client, b"content"),
    "erase": lambda client, _: client.post(
        f"{ENGINE_URL}:eraseScope?requestId=four", json={"scope": USER}
    ),
    "key": lambda client, _: client.post(_KEYS_URL, json={"displayName": "k", "roles": ["user"]}),
    "engine": lambda client, _: client.post(f"{COLLECTION}?requestId=five", json={}),
}
_REPEATABLE = {"create once", "create labelled", "update", "generate", "erase", "engine"}
_OF_ANY_SCOPE = {"import", "import parts", "erase"}
"""Their operations concern any scope, or several."""
_WRITES = ("create", "create once", "create labelled", "create some", "import", "import parts")


@pytest.mark.parametrize(
    ("table", "step"),
    [
        *(("operations", step) for step in (*_WRITES, "update", "delete", "generate", "ingest")),
        *(("operations", step) for step in ("session", "erase")),
        *(("memories", step) for step in (*_WRITES, "ingest")),
        *(("memory_revisions", step) for step in (*_WRITES, "update", "delete", "ingest")),
        ("sessions", "session"),
        *(("session_events", step) for step in ("event", "events", "exchange")),
        ("session_summaries", "exchange"),
        *(("audit_events", step) for step in ("create", "update", "event")),
        *(("task_artifacts", step) for step in ("store", "upload")),
        ("erasures", "erase"),
        ("api_keys", "key"),
        ("engines", "engine"),
    ],
)
async def test_a_request_whose_ids_are_taken_gets_others(
    client: httpx.AsyncClient,
    database: Database,
    clock: FixedClock,
    runner: Runner,
    table: str,
    step: str,
) -> None:
    path = await _fill(client, runner)
    before = await _audited(database)
    is_of_any = table == "operations" and step in _OF_ANY_SCOPE
    bucket = NO_BUCKET if is_of_any else _KINDS[table].bucket
    last = await _take(database, clock, table, bucket)
    answer = ok(await _STEPS[step](client, path))
    if table != "audit_events" and step not in {"engine", "key"}:
        assert await _audited(database) == before + 1
    if step in _REPEATABLE:
        assert ok(await _STEPS[step](client, path))["name"] == answer["name"]
    await runner.run_pending()
    assert await _count_after(database, table, last) > 0
    if "/operations/" in answer.get("name", "") and step != "engine":
        assert ok(await client.get(path_of(answer["name"])))["done"]
    if step in _WRITES and table != "memories":
        made = 2 if step == "create some" else 1
        assert sorted(await listed(client)) == [*["I like coffee."] * made, "I like tea."]


async def test_an_id_is_drawn_at_most_ten_times(
    client: httpx.AsyncClient, database: Database, runner: Runner
) -> None:
    """The number of an event is taken here, so that no other id of it helps."""
    await _fill(client, runner)
    async with database.snapshot() as session:
        row = (await session.execute(select(SessionEventRow).limit(1))).scalar_one()
    values: Json = {
        column.name: getattr(row, column.name) for column in SessionEventRow.__table__.columns
    }
    with pytest.raises(Aborted) as raised:
        async with database.transaction() as session:
            await append_batch.insert_events(session, [values])
    assert raised.value.reason is Reason.CONCURRENT_CHANGE


@pytest.mark.parametrize("path", ["/memories?memoryId=mine", "/sessions?sessionId=mine"])
async def test_a_chosen_id_that_is_taken_is_refused(client: httpx.AsyncClient, path: str) -> None:
    body = {"fact": "tea", "scope": {"user_id": "42"}} if "memoryId" in path else {"userId": "42"}
    ok(await client.post(path, json=body))
    answer = await client.post(path, json=body)
    assert refusal(answer) == (409, "ALREADY_EXISTS", Reason.ID_TAKEN)


async def _audited(database: Database) -> int:
    async with database.snapshot() as session:
        statement = select(func.count()).select_from(AuditEventRow)
        count: int = (await session.execute(statement)).scalar_one()
    return count
