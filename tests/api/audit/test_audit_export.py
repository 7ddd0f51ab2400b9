"""The log as lines of JSON, of any length, read piece by piece."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import httpx
import pytest
from pydantic import SecretStr
from sqlalchemy import event, text
from structlog.testing import capture_logs

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.guard import refuse_inside_transaction
from app.platform.audit.service import AuditService
from app.process import serving
from app.settings.settings import Settings
from tests.conftest import ADMIN_KEY
from tests.support.audit import ALL_URL, exported, listed
from tests.support.bank import ENGINE, ENGINE_URL
from tests.support.operations import create_memory

_MANY = 100_000
_URL = f"{ENGINE_URL}/auditEvents"


async def _fill(database: Database, count: int, now: datetime, engine_id: int = 1) -> None:
    """Store as many events of one moment."""
    statement = text("""
        insert into audit_events (engine_id, create_time, event_id, method, resource, result)
        select :engine_id, :now, lpad(n::text, 18, '0'), 'createMemory', :engine || n, 'OK'
        from generate_series(0, :count - 1) n
    """)
    engine = f"{ENGINE}/memories/"
    values = {"engine_id": engine_id, "now": now, "engine": engine, "count": count}
    async with database.transaction() as session:
        await session.execute(statement, values)


@contextmanager
def _pages_of(database: Database, fails_at: int = 0) -> Iterator[list[int]]:
    """Collect how many rows each page has that is read while the block runs."""
    found: list[int] = []

    def fail(*arguments: Any) -> None:
        if _is_page(arguments[2]) and len(found) + 1 == fails_at:
            raise RuntimeError("a canary")

    def note(*arguments: Any) -> None:
        if _is_page(arguments[2]):
            found.append(arguments[1].rowcount)

    listeners = {"before_cursor_execute": fail, "after_cursor_execute": note}
    for name, listener in listeners.items():
        event.listen(database.engine.sync_engine, name, listener)
    try:
        yield found
    finally:
        for name, listener in listeners.items():
            event.remove(database.engine.sync_engine, name, listener)


def _is_page(statement: str) -> bool:
    return statement.startswith("SELECT audit_events.")


async def test_an_export_is_the_list_from_its_other_end(client: httpx.AsyncClient) -> None:
    for number in range(3):
        await create_memory(client, f"Fact {number}.")
    for url in (_URL, ALL_URL):
        assert await exported(client, url) == (await listed(client, url))[::-1]


async def test_an_export_of_nothing_has_no_lines(client: httpx.AsyncClient) -> None:
    assert await exported(client, _URL) == []


@pytest.mark.parametrize("url", [_URL, ALL_URL])
@pytest.mark.parametrize("count", [199, 200, 201, 1_000])
async def test_an_export_has_all_events_however_many(
    client: httpx.AsyncClient, database: Database, clock: FixedClock, url: str, count: int
) -> None:
    await _fill(database, count, clock.now())
    found = await exported(client, url)
    assert [one["resource"].rpartition("/")[2] for one in found] == [*map(str, range(count))]


async def test_an_export_is_read_in_pieces(
    client: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    await _fill(database, 1_000, clock.now())
    with _pages_of(database) as pages:
        await exported(client, _URL)
    assert pages == [101, 99] * 5


async def test_no_transaction_is_open_between_the_pieces(
    resources: Resources, database: Database, clock: FixedClock
) -> None:
    await _fill(database, 500, clock.now())
    async for _ in AuditService.of(resources).export(None, None):
        refuse_inside_transaction("this")


async def test_what_happens_meanwhile_is_left_to_the_next_export(
    client: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    await _fill(database, 1, clock.now().replace(year=2027), engine_id=2)
    assert await exported(client, ALL_URL) == []


@pytest.fixture
async def live(
    settings: Settings, resources: Resources, database_url: str
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a server in this process, over the loopback address."""
    outside = settings.model_copy(
        update={
            "database_url": SecretStr(database_url),
            "port": 0,
            "max_costly_requests_per_key": 1,
        }
    )
    resources = Resources(outside, resources.clock, resources.db, database_url, resources.embedder)
    headers = {"Authorization": f"Bearer {ADMIN_KEY}"}
    async with serving.serving(outside, resources) as (port, _):
        base = f"http://127.0.0.1:{port}/v1/"
        async with httpx.AsyncClient(base_url=base, headers=headers, timeout=10) as client:
            yield client


async def _is_full(client: httpx.AsyncClient) -> bool:
    """Say whether the key's one place is taken."""
    answer = await client.get("/auditEvents:export", params={"filter": "engine=7"})
    if answer.status_code == 200:
        return False
    assert answer.json()["error"]["details"][0]["reason"] == "TOO_MANY_AT_ONCE"
    return True


async def test_a_client_that_goes_away_stops_its_export(
    live: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    """Its place is taken until then, and free again afterwards."""
    await _fill(database, _MANY, clock.now())
    with capture_logs() as lines, _pages_of(database) as pages:
        async with live.stream("GET", "/auditEvents:export") as answer:
            assert answer.status_code == 200
            await anext(answer.aiter_lines())
            assert await _is_full(live)
        async with asyncio.timeout(10):
            while await _is_full(live):
                pass
    assert sum(pages) < _MANY / 2
    assert {line["event"] for line in lines} == {"request"}


async def test_an_export_that_breaks_off_does_not_look_whole(
    live: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    await _fill(database, 1_000, clock.now())
    with (
        capture_logs() as lines,
        _pages_of(database, fails_at=3),
        pytest.raises(httpx.RemoteProtocolError),
    ):
        await live.get("/auditEvents:export")
    (line,) = [line for line in lines if line["event"] == "request.broken_off"]
    assert line["error"].startswith("RuntimeError ")
    assert "canary" not in str(lines)


async def test_what_fails_before_the_first_line_is_an_answer_of_its_own(
    client: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    await _fill(database, 1, clock.now())
    with _pages_of(database, fails_at=1):
        answer = await client.get(f"{_URL}:export")
    assert answer.status_code == 500
