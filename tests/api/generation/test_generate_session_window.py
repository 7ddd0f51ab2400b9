"""Generating from a long session: the last events with content, and the others are counted."""

from typing import Any

import httpx
import pytest
from sqlalchemy import text

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.memory.generation.services.generation_input import MAX_SESSION_EVENTS
from app.platform.operations.services.runner import Runner
from tests.support.bank import ENGINE, listed
from tests.support.generation import run
from tests.support.sessions import append, new_path

TEA, HOME = "I like tea.", "I live in Oslo."
_FILL = """
    insert into session_events (engine_id, session_id, seq, event_id, author, invocation_id,
      timestamp, content, size_bytes, create_time)
    select 1, cast(:session as text), 1000 + n, 'e' || n, 'user', 'i',
      cast(:start as timestamptz) + n * interval '1 millisecond', cast(:content as json), 1, :now
    from generate_series(1, cast(:count as int)) n
"""


async def _fill(
    database: Database, clock: FixedClock, path: str, count: int, content: str | None
) -> None:
    """Add events to a session, from 13:00 on."""
    values: dict[str, Any] = {"session": path.rpartition("/")[2], "count": count}
    values |= {"start": "2026-01-15T13:00:00Z", "content": content, "now": clock.now()}
    async with database.transaction() as session:
        await session.execute(text(_FILL), values)
        await session.execute(text("update sessions set last_seq = 1000 + :count"), values)


@pytest.fixture
async def path(client: httpx.AsyncClient) -> str:
    """A session in which the user told at ten that they like tea, and at night where they live."""
    found = await new_path(client)
    await append(client, found, TEA, timestamp="2026-01-15T10:00:00Z")
    await append(client, found, HOME, timestamp="2026-01-15T23:00:00Z")
    return found


def _source(path: str, **fields: str) -> dict[str, Any]:
    return {"vertexSessionSource": {"session": f"{ENGINE}{path}", **fields}}


async def test_events_without_content_take_the_place_of_none(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock, database: Database, path: str
) -> None:
    await _fill(database, clock, path, 2 * MAX_SESSION_EVENTS + 1, None)
    operation = await run(client, runner, _source(path))
    assert sorted(await listed(client)) == [TEA, HOME]
    assert "omittedEventCount" not in operation["metadata"]


async def test_all_events_that_are_left_out_are_counted(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock, database: Database, path: str
) -> None:
    content = '{"role": "user", "parts": [{"functionCall": {"name": "f", "args": {}}}]}'
    await _fill(database, clock, path, 2 * MAX_SESSION_EVENTS + 5, content)
    operation = await run(client, runner, _source(path))
    assert await listed(client) == [HOME]
    assert operation["metadata"]["omittedEventCount"] == MAX_SESSION_EVENTS + 7
    # Those outside the asked time are not missed.
    operation = await run(client, runner, _source(path, startTime="2026-01-15T12:00:00Z"))
    assert operation["metadata"]["omittedEventCount"] == MAX_SESSION_EVENTS + 6
