"""Hot statements that are sent together are done all or not at all."""

import asyncio
from collections.abc import Sequence
from contextvars import Context
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from app.adapters.db.engine import open_engine
from app.adapters.db.server import DirectConnections, Statement
from app.adapters.db.session import Database
from app.memory.memories.store import ledger
from app.settings.settings import Settings
from tests.support.bank import ok
from tests.support.distributed import used_as_distributed
from tests.support.faults import CUT, RAISE, trigger
from tests.support.locks import until_waiting
from tests.support.statements import statements_on

_ONE: Statement = (b"select 1", [])
_PID: Statement = (b"select pg_backend_pid()", [])
_TICK = b"insert into ticks values ($1, now())"
_LOCK = "select pg_advisory_xact_lock(20261126)"
_SMALL: dict[str, Any] = {"fact": "I like tea.", "scope": {"user_id": "42"}}
_OFTEN = 7
"""Uses after which the driver has prepared a statement."""
_BEING_REMOVED = (
    "select 1 from memories where memory_id = 'again' and engine_id = 1 for update",
    "delete from memory_vectors where memory_id = 'again' and engine_id = 1",
)


async def _known(client: httpx.AsyncClient) -> None:
    """Have the process know the engine, and the model that serves it."""
    for _ in range(2):
        ok(await client.post("memories", json=_SMALL))


async def _ticks(database: Database) -> list[str]:
    names = await database.run(b"select name from ticks where name like 'hot.%' order by 1", [])
    return [name for (name,) in names]


@pytest.mark.parametrize(
    ("last", "is_done"),
    [
        ((_TICK, ["hot.b"]), True),
        ((b"select 1 where false", []), False),
        ((b"update ticks set last_slot = now() where name = $1", ["hot.none"]), False),
        ((_TICK, ["hot.a"]), False),
    ],
    ids=["a row", "no row", "nothing changed", "a taken key"],
)
async def test_only_what_reaches_rows_alone_is_committed(
    database: Database, last: Statement, *, is_done: bool
) -> None:
    before = await database.run(*_PID)
    for _ in range(_OFTEN):
        assert await database.run_together([_ONE, _ONE])
    statements: list[Statement] = [(_TICK, ["hot.a"]), _ONE, last]
    assert await database.run_together(statements) is is_done
    assert await _ticks(database) == (["hot.a", "hot.b"] if is_done else [])
    # What was rolled back leaves the connection as it was.
    for _ in range(_OFTEN):
        assert await database.run_together([_ONE, _ONE])
    assert await database.run(*_PID) == before


async def test_what_is_cancelled_leaves_nothing(database: Database) -> None:
    async with database.transaction() as session:
        await session.execute(text(_LOCK))
        statements: list[Statement] = [(_TICK, ["hot.a"]), (_LOCK.encode(), [])]
        # In a context of its own: what runs beside it is in no transaction.
        sending = asyncio.create_task(database.run_together(statements), context=Context())
        await until_waiting(database)
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
    assert await _ticks(database) == []
    assert await database.run_together([(_TICK, ["hot.a"])])


async def test_statements_larger_than_the_buffers_of_the_socket_are_sent_whole(
    database: Database,
) -> None:
    large = "é" * 4_000_000
    measured = b"select 1 where length($1::text) = 4000000"
    async with asyncio.timeout(30):
        for _ in range(_OFTEN):
            assert await database.run_together([_ONE, (measured, [large])])


async def test_behind_a_pooler_its_time_is_limited(database_url: str, data_dir: Path) -> None:
    """Connections of a pooler have no settings, so each transaction makes its own."""
    settings = Settings(data_dir=data_dir, database_behind_pooler=True)
    pooled = Database(open_engine(database_url, settings))
    limited = b"select 1 where current_setting('transaction_timeout') = '2min'"
    assert await pooled.run_together([(limited, [])])
    assert await pooled.run(b"show transaction_timeout", []) == [("0",)]
    await pooled.close()


@pytest.mark.usefixtures("of_each_kind")
@pytest.mark.parametrize("at_commit", [True, False])
@pytest.mark.parametrize("action", [RAISE.format(state="53100"), CUT], ids=["fault", "cut"])
async def test_a_creation_that_fails_leaves_nothing(
    client: httpx.AsyncClient, database: Database, action: str, *, at_commit: bool
) -> None:
    await _known(client)
    async with trigger(database, action, at_commit=at_commit):
        with statements_on(database, "INSERT INTO memories") as several:
            answer = await client.post("memories", json=_SMALL)
    assert (answer.status_code, several) == (503, [])
    assert len(ok(await client.get("memories"))["memories"]) == 2
    ok(await client.post("memories", json=_SMALL))


@pytest.mark.usefixtures("of_each_kind")
async def test_statements_are_sent_together_to_a_cluster_alone(
    client: httpx.AsyncClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[int] = []
    send = DirectConnections.run_together

    async def noting(self: DirectConnections, statements: Sequence[Statement]) -> bool:
        sent.append(len(statements))
        return await send(self, statements)

    monkeypatch.setattr(DirectConnections, "run_together", noting)
    await _known(client)
    ok(await client.post("memories", json=_SMALL))
    assert sent == ([6] if database.is_distributed else [])


async def test_an_id_that_is_just_being_removed_is_free_afterwards(
    client: httpx.AsyncClient, database: Database
) -> None:
    await _known(client)
    params = {"memoryId": "again"}
    ok(await client.post("memories", params=params, json=_SMALL))
    with used_as_distributed(database):
        async with asyncio.TaskGroup() as tasks, database.transaction() as session:
            for statement in _BEING_REMOVED:
                await session.execute(text(statement))
            creating = client.post("memories", params=params, json=_SMALL)
            created = tasks.create_task(creating, context=Context())
            await until_waiting(database)
            await ledger.erase_with_engine(session, 1, ["again"])
    assert ok(created.result())["done"]
