"""Hot statements that are sent in one message are done all or not at all."""

from typing import Any

import httpx
import pytest

from app.adapters.db.direct import Statement
from app.adapters.db.session import Database
from tests.support.bank import ok
from tests.support.faults import CUT, RAISE, trigger

_PID: Statement = (b"select pg_backend_pid()", [])
_TICK = b"insert into ticks values ($1, now())"
_SMALL: dict[str, Any] = {"fact": "I like tea.", "scope": {"user_id": "42"}}


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
    statements: list[Statement] = [(_TICK, ["hot.a"]), (b"select 1", []), last]
    assert await database.run_together(statements) is is_done
    assert await _ticks(database) == (["hot.a", "hot.b"] if is_done else [])
    # What was rolled back leaves the connection as it was.
    assert await database.run(*_PID) == before


@pytest.mark.usefixtures("of_each_kind")
@pytest.mark.parametrize("at_commit", [True, False])
@pytest.mark.parametrize("action", [RAISE.format(state="53100"), CUT], ids=["fault", "cut"])
async def test_a_creation_that_fails_leaves_nothing(
    client: httpx.AsyncClient, database: Database, action: str, *, at_commit: bool
) -> None:
    # The process knows the engine, and the model that serves it.
    for _ in range(2):
        ok(await client.post("memories", json=_SMALL))
    async with trigger(database, action, at_commit=at_commit):
        answer = await client.post("memories", json=_SMALL)
    assert answer.status_code == 503
    assert len(ok(await client.get("memories"))["memories"]) == 2
    ok(await client.post("memories", json=_SMALL))
