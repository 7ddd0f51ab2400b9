"""What becomes of sessions that expire, and of those of a deleted engine."""

from datetime import timedelta

import httpx
import pytest

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason
from app.platform.engines.store.tables import EngineRow
from app.platform.operations.services.runner import Runner
from app.platform.sessions.store.tables import SessionEventRow, SessionRow
from app.platform.upkeep.service import UpkeepService
from app.settings.settings import Settings
from tests.support.bank import ENGINE_URL, count, ok
from tests.support.errors import refusal
from tests.support.sessions import append, create_session, ids, texts

_TABLES = (SessionRow, SessionEventRow)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"sweep_batch_rows": 2})


async def _fill(client: httpx.AsyncClient) -> None:
    for number in range(5):
        await create_session(client, f"s{number}", ttl="60s")
    for _ in range(5):
        await append(client, "/sessions/s0")
    await append(client, "/sessions/s4")


async def test_the_sweep_removes_expired_sessions_with_their_events(
    client: httpx.AsyncClient, clock: FixedClock, resources: Resources, database: Database
) -> None:
    await _fill(client)
    await create_session(client, "kept")
    await append(client, "/sessions/kept", "still here")
    service = UpkeepService(resources)
    await service.sweep()
    assert await count(database, *_TABLES) == (6, 7)
    clock.advance(timedelta(minutes=1))
    assert await ids(client) == ["kept"]
    await service.sweep()
    assert await count(database, *_TABLES) == (1, 1)
    assert await texts(client, "/sessions/kept") == ["still here"]


async def test_an_engine_with_sessions_is_deleted_with_force_only(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    await _fill(client)
    answer = await client.delete(ENGINE_URL)
    assert refusal(answer) == (400, "FAILED_PRECONDITION", Reason.ENGINE_NOT_EMPTY)
    ok(await client.delete(ENGINE_URL, params={"force": "true"}))
    for path in ("/sessions", "/sessions/s0", "/sessions/s0/events"):
        assert refusal(await client.get(path))[0] == 404
    await runner.run_pending()
    assert await count(database, *_TABLES, EngineRow) == (0, 0, 0)


async def test_expired_sessions_do_not_hold_an_engine_back(
    client: httpx.AsyncClient, clock: FixedClock, runner: Runner, database: Database
) -> None:
    await _fill(client)
    clock.advance(timedelta(minutes=1))
    ok(await client.delete(ENGINE_URL))
    await runner.run_pending()
    assert await count(database, *_TABLES, EngineRow) == (0, 0, 0)
