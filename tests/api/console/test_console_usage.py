"""Usage: charts, sums, spans, budget and quotas, and the same as a file."""

import csv
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from sqlalchemy import text

from app.adapters.db.session import Database
from app.adapters.llm.ports import Usage
from app.kernel.clock import FixedClock
from app.settings.settings import ModelPrice, Settings
from tests.api.console.conftest import SignedIn
from tests.support.console import MEMORIES, page
from tests.support.usage import LOCAL, MINI, record

USAGE = "/console/e/1/usage"
_DAY = timedelta(days=1)


@pytest.fixture
def settings(data_dir: Path) -> Settings:
    prices = {MINI: ModelPrice(input=1, output=2)}
    return Settings(data_dir=data_dir, model_prices=prices, daily_max_tokens=50_000)


@pytest.fixture
async def spent(
    database: Database, settings: Settings, clock: FixedClock, signed_in: SignedIn
) -> httpx.AsyncClient:
    """A viewer of an engine whose models worked on two days."""
    now = clock.now()
    await record(database, settings, now - 40 * _DAY, mini=Usage(1, 77_777, 0, 900))
    await record(database, settings, now - _DAY, mini=Usage(2, 1_000, 100, 900))
    await record(database, settings, now, mini=Usage(1, 2_000, 200, 500))
    await record(database, settings, now, kind="recall", local=Usage(1, 300, 30, 500))
    return await signed_in("viewer")


async def test_usage_is_drawn_and_told_by_day_and_model(spent: httpx.AsyncClient) -> None:
    answer = await spent.get(USAGE)
    assert answer.text.count('<div class="chart">') == 2
    shown = await page(spent, USAGE)
    for told in (
        "2026-01-15",
        MINI,
        LOCAL,
        "2,200",
        "1,100",
        "Cost in USD by day",
        "2,530 of 50 k",
    ):
        assert told in shown.text, told
    assert "77,777" not in shown.text
    assert "≥ $0.0036" in shown.text
    assert f"1 call without a price ({LOCAL}); \N{MINUS SIGN}95 % tokens" in shown.text
    assert "0 of 10 M" in shown.text


async def test_the_span_and_the_grouping_are_in_the_url(spent: httpx.AsyncClient) -> None:
    shown = await page(spent, USAGE)
    wide = next(link for link in shown.links if "start=2025-10-18" in link)
    assert "77,777" in (await page(spent, wide)).text
    by_kind = await page(spent, f"{USAGE}?by=kind")
    assert "generation.generate" in by_kind.text
    assert "recall" in by_kind.text
    assert MINI not in by_kind.text
    every = await page(spent, f"{USAGE}?by=kind&by=day&by=model")
    assert f"{USAGE}.csv?by=day&by=model&by=kind&start=2025-12-17&end=2026-01-15" in every.links


async def test_what_the_api_says_of_a_span_stands_beside_it(spent: httpx.AsyncClient) -> None:
    for query in ("start=2026-02-01", "start=soon", "start=2000-01-01"):
        shown = await page(spent, f"{USAGE}?{query}", 400)
        assert "must" in shown.text
        assert shown.forms[USAGE]["start"] == query.removeprefix("start=")


async def test_the_file_has_what_the_page_has(spent: httpx.AsyncClient) -> None:
    answer = await spent.get(f"{USAGE}.csv?by=day&by=kind")
    assert answer.headers["content-type"].startswith("text/csv")
    assert answer.headers["content-disposition"] == 'attachment; filename="usage.csv"'
    rows = list(csv.DictReader(answer.text.splitlines()))
    assert [(one["day"], one["kind"], one["inputTokenCount"]) for one in rows] == [
        ("2026-01-14", "generation.generate", "1000"),
        ("2026-01-15", "generation.generate", "2000"),
        ("2026-01-15", "recall", "300"),
    ]
    assert [one["currency"] for one in rows] == ["USD", "USD", "USD"]
    assert [(one["cost"], one["knownCost"], one["unpricedCallCount"]) for one in rows] == [
        ("0.0012", "0.0012", "0"),
        ("0.0024", "0.0024", "0"),
        ("", "0.0", "1"),
    ]


async def test_the_cost_of_each_engine_is_on_the_first_page(spent: httpx.AsyncClient) -> None:
    shown = await page(spent, "/console")
    change = "\N{MINUS SIGN}95 % tokens"
    assert f"≥ $0.0036 {change}1 call without a price ({LOCAL})" in shown.text
    assert USAGE in shown.links
    assert "≥ $0.0036" in (await page(spent, "/console/e/1")).text


async def test_a_sum_with_all_prices_is_compared_in_money(
    database: Database, settings: Settings, clock: FixedClock, signed_in: SignedIn
) -> None:
    await record(database, settings, clock.now(), mini=Usage(2, 3_000_000, 0, 900))
    await record(database, settings, clock.now() - 30 * _DAY, mini=Usage(2, 2_000_000, 0, 900))
    admin = await signed_in("admin")
    for url in ("/console", "/console/e/1", USAGE, "/console/server"):
        answer = await admin.get(url)
        assert "$3.00" in answer.text
        assert "+50 % against the 30 days before" in answer.text
        assert "without a price" not in answer.text


async def test_what_was_not_counted_is_called_unknown(
    database: Database, spent: httpx.AsyncClient
) -> None:
    async with database.transaction() as session:
        unknown = (
            "update model_usage set cost = null, unpriced_calls = null where model_id = :model"
        )
        await session.execute(text(unknown), {"model": LOCAL})
    assert f"some calls had no price ({LOCAL})" in (await page(spent, USAGE)).text


async def test_an_engine_without_calls_says_so_and_a_bound_key_sees_nothing(
    signed_in: SignedIn,
) -> None:
    assert "No model was called" in (await page(await signed_in("viewer"), USAGE)).text
    bound = await signed_in("admin", scope_conditions={"user_id": ["42"]})
    for url in (USAGE, f"{USAGE}.csv"):
        assert "No permission" in (await page(bound, url, 403)).text
    assert USAGE not in (await page(bound, MEMORIES)).links
