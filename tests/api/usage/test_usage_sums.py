"""`GET {E}:usage`: what the models of an engine took, by day, model and kind of work."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import event, text

from app.adapters.db.session import Database
from app.adapters.llm.ports import Meter, Usage
from app.kernel.clock import FixedClock
from app.platform.usage import store
from app.settings.settings import ModelPrice, Settings
from tests.support.bank import ok
from tests.support.cases import in_one_test
from tests.support.engines import API, FIRST, create_engine
from tests.support.errors import BAD_FIELD, NOT_FOUND, refusal, violations
from tests.support.keys import client_with, make_key
from tests.support.usage import GENERATE, LOCAL, MINI, record

_DAY = timedelta(days=1)
_NOTHING = {
    "callCount": 0,
    "inputTokenCount": 0,
    "outputTokenCount": 0,
    "modelMilliseconds": 0,
    "unpricedCallCount": 0,
}


@pytest.fixture
def settings(data_dir: Path) -> Settings:
    prices = {MINI: ModelPrice(input=1, output=2)}
    return Settings(data_dir=data_dir, model_prices=prices)


async def _usage(client: httpx.AsyncClient, **params: str) -> dict[str, Any]:
    answer = await client.get(f"{FIRST}:usage", params=params)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    # What the engine holds, and who writes it, have tests of their own.
    del found["quotas"], found["embedding"], found["generation"]
    return found


async def _days(client: httpx.AsyncClient, **params: str) -> list[str]:
    return [one["day"] for one in (await _usage(client, **params))["usage"]]


async def test_an_engine_that_called_no_model_has_no_usage(client: httpx.AsyncClient) -> None:
    assert await _usage(client) == {
        "usage": [],
        "total": _NOTHING,
        "previousTotal": _NOTHING,
        "unpricedModels": [],
    }


async def test_usage_is_summed_by_day_and_model(
    client: httpx.AsyncClient, database: Database, settings: Settings, clock: FixedClock
) -> None:
    await record(database, settings, clock.now() - _DAY, mini=Usage(2, 1_000, 100, 900))
    await record(database, settings, clock.now(), mini=Usage(1, 2_000, 200, 500))
    await record(
        database,
        settings,
        clock.now(),
        mini=Usage(2, 3_000, 300, 700),
        local=Usage(1, 40, 4, 30),
    )
    assert await _usage(client) == {
        "usage": [
            {
                "day": "2026-01-14",
                "model": MINI,
                "callCount": 2,
                "inputTokenCount": 1_000,
                "outputTokenCount": 100,
                "modelMilliseconds": 900,
                "cost": {"amount": 0.0012, "currency": "USD"},
                "knownCost": {"amount": 0.0012, "currency": "USD"},
                "unpricedCallCount": 0,
            },
            {
                "day": "2026-01-15",
                "model": LOCAL,
                "callCount": 1,
                "inputTokenCount": 40,
                "outputTokenCount": 4,
                "modelMilliseconds": 30,
                "knownCost": {"amount": 0.0, "currency": "USD"},
                "unpricedCallCount": 1,
            },
            {
                "day": "2026-01-15",
                "model": MINI,
                "callCount": 3,
                "inputTokenCount": 5_000,
                "outputTokenCount": 500,
                "modelMilliseconds": 1_200,
                "cost": {"amount": 0.006, "currency": "USD"},
                "knownCost": {"amount": 0.006, "currency": "USD"},
                "unpricedCallCount": 0,
            },
        ],
        # The sum has no cost, since one model has none, but says what it lacks.
        "total": {
            "callCount": 6,
            "inputTokenCount": 6_040,
            "outputTokenCount": 604,
            "modelMilliseconds": 2_130,
            "knownCost": {"amount": 0.0072, "currency": "USD"},
            "unpricedCallCount": 1,
        },
        "previousTotal": _NOTHING,
        "unpricedModels": [LOCAL],
    }


async def test_the_sums_of_each_grouping_agree(
    client: httpx.AsyncClient, database: Database, settings: Settings, clock: FixedClock
) -> None:
    now, mini = clock.now(), Usage(2, 1_000, 100, 900)
    await record(database, settings, now - _DAY, mini=mini)
    await record(database, settings, now, mini=Usage(1, 2_000, 200, 500), local=Usage(1, 40, 4, 30))
    await record(database, settings, now, kind="recall", mini=Usage(4, 300, 30, 70))
    await record(database, settings, now, kind="unknown", mini=Usage(1, 7, 1, 5))
    usual = await _usage(client)
    assert await _usage(client, groupBy="") == await _usage(client, groupBy="model,day") == usual
    dimensions = ("day", "model", "kind")
    found = {}
    for named in (of for size in (1, 2, 3) for of in combinations(dimensions, size)):
        told = await _usage(client, groupBy=", ".join(named))
        assert told["total"] == usual["total"]
        assert sum(one["callCount"] for one in told["usage"]) == 9
        assert sum(one["inputTokenCount"] for one in told["usage"]) == 3_347
        keys = [tuple(one.get(dimension) for dimension in dimensions) for one in told["usage"]]
        assert len(set(keys)) == len(keys)
        found[named] = [
            (*(value for value in key if value is not None), one["callCount"], "cost" in one)
            for key, one in zip(keys, told["usage"], strict=True)
        ]
    assert found["kind",] == [(GENERATE, 4, False), ("recall", 4, True), ("unknown", 1, True)]
    assert found["model",] == [(LOCAL, 1, False), (MINI, 8, True)]
    assert found["day", "kind"] == [
        ("2026-01-14", GENERATE, 2, True),
        ("2026-01-15", GENERATE, 2, False),
        ("2026-01-15", "recall", 4, True),
        ("2026-01-15", "unknown", 1, True),
    ]
    assert found[dimensions] == [
        ("2026-01-14", MINI, GENERATE, 2, True),
        ("2026-01-15", LOCAL, GENERATE, 1, False),
        ("2026-01-15", MINI, GENERATE, 1, True),
        ("2026-01-15", MINI, "recall", 4, True),
        ("2026-01-15", MINI, "unknown", 1, True),
    ]


async def test_the_total_has_a_cost_when_all_have(
    client: httpx.AsyncClient, database: Database, settings: Settings, clock: FixedClock
) -> None:
    await record(database, settings, clock.now() - _DAY, mini=Usage(1, 1_000_000, 0, 1))
    await record(database, settings, clock.now(), mini=Usage(1, 0, 1_000_000, 1))
    total = (await _usage(client))["total"]
    assert total["cost"] == {"amount": 3.0, "currency": "USD"}


async def test_a_cost_is_that_of_the_price_at_the_time(
    client: httpx.AsyncClient, database: Database, settings: Settings, clock: FixedClock
) -> None:
    dearer = Settings(
        data_dir=settings.data_dir, model_prices={MINI: ModelPrice(input=5, output=5)}
    )
    await record(database, settings, clock.now(), mini=Usage(1, 1_000_000, 0, 1))
    await record(database, dearer, clock.now(), mini=Usage(1, 1_000_000, 0, 1))
    assert (await _usage(client))["total"]["cost"]["amount"] == 6.0


async def test_one_call_without_a_price_leaves_its_day_without_a_cost(
    client: httpx.AsyncClient, database: Database, settings: Settings, clock: FixedClock
) -> None:
    unpriced = Settings(data_dir=settings.data_dir)
    for at in (settings, unpriced, settings):
        await record(database, at, clock.now(), mini=Usage(1, 10, 1, 1))
    [found] = (await _usage(client))["usage"]
    assert found["callCount"] == 3
    assert "cost" not in found
    assert (found["knownCost"]["amount"], found["unpricedCallCount"]) == (0.000024, 1)


async def test_what_an_earlier_release_recorded_without_a_price_stays_unknown(
    client: httpx.AsyncClient, database: Database, settings: Settings, clock: FixedClock
) -> None:
    await record(database, settings, clock.now() - _DAY, local=Usage(2, 10, 1, 1))
    async with database.transaction() as session:
        await session.execute(text("update model_usage set cost = null, unpriced_calls = null"))
    await record(database, settings, clock.now() - _DAY, local=Usage(1, 10, 1, 1))
    await record(database, settings, clock.now(), mini=Usage(1, 1_000_000, 0, 1))
    found = await _usage(client)
    assert "unpricedCallCount" not in found["total"]
    assert found["total"]["knownCost"]["amount"] == 1.0
    assert found["unpricedModels"] == [LOCAL]


async def test_a_range_stands_next_to_as_many_days_before_it(
    client: httpx.AsyncClient, database: Database, settings: Settings, clock: FixedClock
) -> None:
    for days in range(7):
        await record(database, settings, clock.now() - days * _DAY, mini=Usage(1, 10**days, 0, 1))
    found = await _usage(client, startDay="2026-01-14", groupBy="kind")
    assert found["total"]["inputTokenCount"] == 11
    assert found["previousTotal"]["inputTokenCount"] == 1_100
    assert found["previousTotal"]["cost"]["amount"] == 0.0011


async def test_the_service_sums_up_all_engines_for_who_sees_them_all(
    client: httpx.AsyncClient,
    app: FastAPI,
    database: Database,
    settings: Settings,
    clock: FixedClock,
) -> None:
    await record(database, settings, clock.now(), mini=Usage(1, 1_000_000, 0, 5))
    await record(database, settings, clock.now(), engine_id=2, mini=Usage(1, 0, 1_000_000, 5))
    await record(database, settings, clock.now(), engine_id=2, local=Usage(1, 7, 0, 5))
    await record(database, settings, clock.now() - 30 * _DAY, local=Usage(4, 7, 0, 5))
    found = ok(await client.get(f"{API}/server:usage", params={"groupBy": "model"}))
    assert [(one["model"], one["callCount"]) for one in found["usage"]] == [(LOCAL, 1), (MINI, 2)]
    assert found["total"]["knownCost"]["amount"] == 3.0
    assert found["previousTotal"]["callCount"] == 4
    assert found["unpricedModels"] == [LOCAL]
    assert refusal(await client.get(f"{API}/server:usage?groupBy=engine")) == BAD_FIELD
    for role, engines in (("editor", None), ("admin", ["1"])):
        key = await make_key(database, clock.now(), role, engines=engines)
        async with client_with(app, key) as other:
            assert (await other.get(f"{API}/server:usage")).status_code == 403


async def test_a_range_has_both_of_its_ends(
    client: httpx.AsyncClient, database: Database, settings: Settings, clock: FixedClock
) -> None:
    for days in range(5):
        await record(database, settings, clock.now() - days * _DAY, mini=Usage(1, 1, 1, 1))
    found = await _days(client, startDay="2026-01-12", endDay="2026-01-14")
    assert found == ["2026-01-12", "2026-01-13", "2026-01-14"]
    assert await _days(client, start_day="2026-01-15", end_day="2026-01-15") == ["2026-01-15"]
    assert await _days(client, endDay="2026-01-11") == ["2026-01-11"]
    assert await _days(client, startDay="2026-01-14") == ["2026-01-14", "2026-01-15"]


async def test_without_days_it_is_the_last_thirty(
    client: httpx.AsyncClient, database: Database, settings: Settings, clock: FixedClock
) -> None:
    for days in (0, 29, 30):
        await record(database, settings, clock.now() - days * _DAY, mini=Usage(1, 1, 1, 1))
    assert await _days(client) == ["2025-12-17", "2026-01-15"]


async def test_days_are_those_of_utc(
    client: httpx.AsyncClient, database: Database, settings: Settings, clock: FixedClock
) -> None:
    clock.advance(timedelta(hours=11, minutes=59))
    await record(database, settings, clock.now(), mini=Usage(1, 1, 1, 1))
    clock.advance(timedelta(minutes=1))
    await record(database, settings, clock.now(), mini=Usage(1, 1, 1, 1))
    assert await _days(client) == ["2026-01-15", "2026-01-16"]


@in_one_test(
    ("params", "field"),
    [
        ({"startDay": "2026-1-5"}, "startDay"),
        ({"startDay": "20260105"}, "startDay"),
        ({"startDay": "1767571200"}, "startDay"),
        ({"startDay": ""}, "startDay"),
        ({"endDay": "2026-02-30"}, "endDay"),
        ({"endDay": "2026-01-05T00:00:00Z"}, "endDay"),
        ({"startDay": "2026-01-16"}, "startDay"),
        ({"startDay": "2026-01-02", "endDay": "2026-01-01"}, "startDay"),
        ({"startDay": "2025-01-01", "endDay": "2026-01-02"}, "startDay"),
        ({"startDay": "0001-01-01"}, "startDay"),
        ({"day": "2026-01-01"}, "day"),
        ({"groupBy": "day,hour"}, "groupBy"),
        ({"groupBy": "Day"}, "groupBy"),
        ({"groupBy": "day,,kind"}, "groupBy"),
    ],
)
async def test_days_and_groups_that_cannot_be_are_refused(
    client: httpx.AsyncClient, params: dict[str, str], field: str
) -> None:
    answer = await client.get(f"{FIRST}:usage", params=params)
    assert refusal(answer) == BAD_FIELD
    assert list(violations(answer)) == [field]


@in_one_test(
    "params",
    [
        {"startDay": "2025-01-01", "endDay": "2026-01-01"},
        {"startDay": "0001-01-01", "endDay": "0001-01-01"},
        {"endDay": "0001-01-01"},
        {"endDay": "9999-12-31"},
    ],
)
async def test_the_longest_range_and_the_ends_of_the_calendar_are_taken(
    client: httpx.AsyncClient, params: dict[str, str]
) -> None:
    assert (await _usage(client, **params))["usage"] == []


async def test_an_engine_tells_of_its_own_usage_only(
    client: httpx.AsyncClient, database: Database, settings: Settings, clock: FixedClock
) -> None:
    other = await create_engine(client)
    await record(database, settings, clock.now(), mini=Usage(1, 1, 1, 1))
    found = (await client.get(f"{API}/{other['name']}:usage")).json()
    assert found["usage"] == []


async def test_an_engine_that_is_not_there_has_no_usage(client: httpx.AsyncClient) -> None:
    elsewhere = f"{API}/projects/other/locations/local/reasoningEngines/1:usage"
    for url in (f"{API}/reasoningEngines/2:usage", elsewhere):
        assert refusal(await client.get(url)) == NOT_FOUND


async def test_usage_is_read_under_every_spelling_of_the_path(client: httpx.AsyncClient) -> None:
    for url in ("http://test/v1/memoryBanks/1:usage", f"{API}/reasoningEngines/1:usage"):
        assert (await client.get(url)).status_code == 200


async def test_usage_of_several_models_is_recorded_in_one_statement(
    database: Database, settings: Settings, clock: FixedClock
) -> None:
    statements: list[str] = []

    def note(*arguments: Any) -> None:
        statements.append(arguments[2])

    engine = database.engine.sync_engine
    event.listen(engine, "before_cursor_execute", note)
    try:
        await record(database, settings, clock.now())
        spent = Usage(1, 1, 1, 1)
        await record(database, settings, clock.now(), mini=spent, local=spent)
    finally:
        event.remove(engine, "before_cursor_execute", note)
    assert len(statements) == 1


async def test_what_records_at_once_is_all_counted(
    client: httpx.AsyncClient, database: Database, settings: Settings, clock: FixedClock
) -> None:
    async def record_in(order: Sequence[str]) -> None:
        meter = Meter({model: Usage(1, 10, 1, 1) for model in order})
        async with database.transaction() as session:
            await store.record(session, 1, clock.now(), meter, settings.model_prices, GENERATE)

    await asyncio.gather(*(record_in(order) for order in [(MINI, LOCAL), (LOCAL, MINI)] * 10))
    found = (await _usage(client))["usage"]
    assert [line["callCount"] for line in found] == [20, 20]


async def test_what_is_rolled_back_was_not_recorded(
    client: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    async def fail() -> None:
        async with database.transaction() as session:
            meter = Meter({MINI: Usage(1, 1, 1, 1)})
            await store.record(session, 1, clock.now(), meter, {}, GENERATE)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await fail()
    assert (await _usage(client))["usage"] == []
