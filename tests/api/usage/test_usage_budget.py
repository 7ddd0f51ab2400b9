"""The budget of tokens of an engine and day."""

from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from app.adapters.db.session import Database
from app.adapters.llm.ports import Usage
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason, ResourceExhausted
from app.platform.usage.service import UsageService
from app.settings.settings import Settings
from app.web.errors import render
from tests.support.engines import FIRST
from tests.support.usage import record

_LIMIT = 1_000


@pytest.fixture
def settings(data_dir: Path) -> Settings:
    return Settings(data_dir=data_dir, daily_max_tokens=_LIMIT)


async def _check(resources: Resources, engine_id: int = 1) -> None:
    async with resources.db.snapshot() as session:
        service = UsageService.of(resources)
        await service.check_budget(session, engine_id)


async def _refused(resources: Resources) -> ResourceExhausted:
    with pytest.raises(ResourceExhausted) as caught:
        await _check(resources)
    return caught.value


async def test_tokens_in_and_out_of_all_models_count(
    resources: Resources, clock: FixedClock
) -> None:
    database, settings = resources.db, resources.settings
    await _check(resources)
    await record(database, settings, clock.now(), mini=Usage(1, 600, 200, 1))
    await record(database, settings, clock.now(), local=Usage(1, 100, 99, 1))
    await _check(resources)
    await record(database, settings, clock.now(), mini=Usage(1, 1, 0, 1))
    assert (await _refused(resources)).reason is Reason.TOKEN_BUDGET_EXHAUSTED


async def test_a_refusal_names_the_budget_and_when_it_is_renewed(
    resources: Resources, clock: FixedClock
) -> None:
    clock.advance(timedelta(hours=2, milliseconds=300))
    await record(resources.db, resources.settings, clock.now(), mini=Usage(1, 1_000, 200, 1))
    error = await _refused(resources)
    assert error.message == (
        "reasoningEngines/1 has used 1200 of its 1000 tokens of 2026-01-15 (UTC); the budget is"
        " renewed at midnight."
    )
    assert error.metadata == {
        "engine": "1",
        "day": "2026-01-15",
        "usedTokenCount": "1200",
        "dailyTokenLimit": "1000",
    }
    answer = render(error)
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "36000")
    assert error.details()[-1]["retryDelay"] == "36000s"


async def test_each_day_has_a_budget_of_its_own(resources: Resources, clock: FixedClock) -> None:
    await record(resources.db, resources.settings, clock.now(), mini=Usage(1, 1_000, 0, 1))
    error = await _refused(resources)
    assert error.retry_after_seconds == 12 * 3_600
    clock.advance(timedelta(seconds=error.retry_after_seconds))
    await _check(resources)


async def test_each_engine_has_a_budget_of_its_own(resources: Resources, clock: FixedClock) -> None:
    await record(resources.db, resources.settings, clock.now(), mini=Usage(1, 1_000, 0, 1))
    await _refused(resources)
    await _check(resources, engine_id=2)


async def test_without_a_budget_nothing_is_refused(
    database: Database, clock: FixedClock, data_dir: Path
) -> None:
    unbounded = Settings(data_dir=data_dir)
    await record(database, unbounded, clock.now(), mini=Usage(1, 10**12, 10**12, 1))
    service = UsageService(database, clock, unbounded)
    async with database.snapshot() as session:
        await service.check_budget(session, 1)


async def test_usage_tells_of_the_budget_of_today(
    client: httpx.AsyncClient, resources: Resources, clock: FixedClock
) -> None:
    yesterday = clock.now() - timedelta(days=1)
    await record(resources.db, resources.settings, yesterday, mini=Usage(1, 500, 0, 1))
    await record(resources.db, resources.settings, clock.now(), mini=Usage(1, 300, 21, 1))
    answer = await client.get(f"{FIRST}:usage", params={"endDay": "2026-01-14"})
    assert answer.json()["budget"] == {
        "dailyTokenLimit": _LIMIT,
        "usedTokenCount": 321,
        "resetTime": "2026-01-16T00:00:00Z",
    }
