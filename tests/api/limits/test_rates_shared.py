"""Rates over several processes: each has its `LimitService`, all have one database."""

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import update

from app.adapters.db.engine import open_engine
from app.adapters.db.session import Database
from app.adapters.db.spread import RowSearch
from app.kernel.clock import FixedClock, SystemClock
from app.kernel.errors import Reason, ResourceExhausted
from app.platform.limits import store
from app.platform.limits.services import rates
from app.platform.limits.store import RateBucketRow
from app.settings.settings import Settings
from tests.support.bank import count
from tests.support.limits import (
    bucket_statements,
    caller,
    held_buckets,
    limits,
    pass_seconds,
    refused,
    use_up,
)
from tests.support.locks import until_waiting

KEY = caller("one")
OTHER = caller("two")
# A hundred units saved up, ten at a time: little comes back while a test runs.
RATE = 10
SAVED = 100
BLOCK = 10
SLOW = {"key_rate_units_per_second": RATE, "engine_rate_units_per_second": 0}
SLOW |= {"rate_burst_seconds": 10, "rate_block_seconds": 1}
# As much saved up, and next to nothing that comes back.
SLOWEST = {**SLOW, "key_rate_units_per_second": 1, "rate_burst_seconds": SAVED}
ENGINES_SLOW = {**SLOW, "key_rate_units_per_second": 0, "engine_rate_units_per_second": RATE}


class Returned:
    """What has come back since the test began. In units."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()

    def __call__(self) -> float:
        return (self._loop.time() - self._began) * RATE


async def test_a_key_uses_what_it_has_saved_up_and_is_refused_then(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    returned = Returned()
    service = limits(database, clock, settings, **SLOW)
    assert SAVED <= await use_up(service, KEY) <= SAVED + returned()
    with pytest.raises(ResourceExhausted) as found:
        await service.charge(KEY, None, 1)
    assert found.value.reason is Reason.RATE_LIMIT_EXCEEDED
    assert found.value.metadata == {"limit": "key", "unitsPerSecond": "10"}


async def test_a_key_does_not_use_what_another_has(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    service = limits(database, clock, settings, **SLOW)
    await use_up(service, KEY)
    assert await use_up(service, OTHER) >= SAVED


async def test_units_come_back_with_time_and_no_more_than_can_be_saved_up(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    returned = Returned()
    service = limits(database, clock, settings, **SLOW)
    await use_up(service, KEY)
    await pass_seconds(database, clock, 3)
    assert 3 * RATE <= await use_up(service, KEY) <= 3 * RATE + returned()
    await pass_seconds(database, clock, 1_000)
    assert SAVED <= await use_up(service, KEY) <= SAVED + returned()


async def test_two_processes_share_what_is_saved_up(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    returned = Returned()
    here, there = (limits(database, clock, settings, **SLOW) for _ in range(2))
    for process in (here, there):
        await process.charge(KEY, None, 1)
    both = await asyncio.gather(use_up(here, KEY), use_up(there, KEY))
    assert SAVED <= 2 + sum(both) <= SAVED + returned()


async def test_each_process_lets_through_one_block_more_at_most(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    """What a process has taken and not used is not in the bucket, which fills up meanwhile."""
    returned = Returned()
    processes = [limits(database, clock, settings, **SLOW) for _ in range(2)]
    for process in processes:
        await process.charge(KEY, None, 1)
    await pass_seconds(database, clock, 1_000)
    together = sum([await use_up(process, KEY) for process in processes])
    assert SAVED < together <= SAVED + len(processes) * BLOCK + returned()


async def test_who_comes_back_when_told_is_let_in_and_not_before(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    returned = Returned()
    service = limits(database, clock, settings, **SLOW)
    await use_up(service, KEY)
    told = await refused(service, KEY, None, 20)
    assert 2 - returned() / RATE <= told <= 2
    await pass_seconds(database, clock, told / 2)
    again = await refused(service, KEY, None, 20)
    assert again == pytest.approx(told / 2, abs=0.002 + returned() / RATE)
    await pass_seconds(database, clock, again)
    await service.charge(KEY, None, 20)


async def test_who_comes_back_when_told_is_let_in_by_the_clocks_of_the_machine_and_the_database(
    database: Database, settings: Settings
) -> None:
    service = limits(database, SystemClock(), settings, **{**SLOW, "rate_burst_seconds": 2})
    await use_up(service, KEY)
    told = await refused(service, KEY, None, 5)
    await asyncio.sleep(told)
    await service.charge(KEY, None, 5)


async def test_who_comes_too_early_is_refused_without_a_statement(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    service = limits(database, clock, settings, **SLOW)
    await use_up(service, KEY)
    with bucket_statements(database) as sent:
        for _ in range(100):
            await refused(service, KEY, None, 20)
    assert sent == []


async def test_what_is_put_into_the_bucket_is_seen_a_second_later(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    service = limits(database, clock, settings, **{**SLOWEST, "rate_burst_seconds": 20})
    await service.charge(KEY, None, 20)
    assert await refused(service, KEY, None, 20) == 20
    async with database.transaction() as session:
        await session.execute(update(RateBucketRow).values(tokens=20))
    await pass_seconds(database, clock, 1)
    await service.charge(KEY, None, 20)


async def test_requests_that_cost_more_are_let_through_more_seldom(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    service = limits(database, clock, settings, **SLOWEST)
    for _ in range(SAVED // 20):
        await service.charge(KEY, None, 20)
    await refused(service, KEY, None, 20)


async def test_what_does_not_suffice_for_a_costly_request_is_left_to_the_others(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    here, there = (limits(database, clock, settings, **SLOWEST) for _ in range(2))
    for cost in (20, 20, 20, 20, 15):
        await here.charge(KEY, None, cost)
    await pass_seconds(database, clock, 1)
    await refused(here, KEY, None, 20)
    await there.charge(KEY, None, 4)
    await here.charge(KEY, None, 1)


async def test_a_request_that_costs_more_than_a_block_is_let_through(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    service = limits(database, clock, settings, **{**SLOWEST, "rate_block_seconds": 0.1})
    for _ in range(SAVED // 20):
        await service.charge(KEY, None, 20)


async def test_the_requests_of_a_block_need_one_statement(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    service = limits(database, clock, settings)
    with bucket_statements(database) as sent:
        for _ in range(1_000):
            await service.charge(KEY, 1, 1)
    assert len(sent) == 2, "one for the key, one for the engine"


async def test_requests_at_once_share_a_lease(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    service = limits(database, clock, settings)
    with bucket_statements(database) as sent:
        await asyncio.gather(*(service.charge(KEY, 1, 4) for _ in range(64)))
    assert len(sent) == 2, "one for the key, one for the engine"


async def test_requests_at_once_of_more_than_a_block_are_let_through(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    service = limits(database, clock, settings, **SLOW)
    with bucket_statements(database) as sent:
        await asyncio.gather(*(service.charge(KEY, None, 4) for _ in range(SAVED // 4)))
    assert len(sent) == 13, "a block has room for two of the 25"


async def test_no_bound_asks_nothing(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    none = {"key_rate_units_per_second": 0, "engine_rate_units_per_second": 0}
    service = limits(database, clock, settings, **none)
    with bucket_statements(database) as sent:
        for _ in range(100):
            await service.charge(KEY, 1, 20)
    assert sent == []
    bound_keys = limits(database, clock, settings, engine_rate_units_per_second=0)
    bound_engines = limits(database, clock, settings, key_rate_units_per_second=0)
    with bucket_statements(database) as sent:
        await bound_keys.charge(KEY, 1, 20)
        await bound_engines.charge(KEY, 1, 20)
        await bound_engines.charge(KEY, None, 20)
    assert len(sent) == 2


async def test_keys_share_the_rate_of_an_engine(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    returned = Returned()
    service = limits(database, clock, settings, **ENGINES_SLOW)
    for _ in range(SAVED // 2):
        await service.charge(KEY, 1, 1)
        await service.charge(OTHER, 1, 1)
    assert await use_up(service, KEY, 1) <= returned()
    with pytest.raises(ResourceExhausted) as found:
        await service.charge(OTHER, 1, 1)
    assert found.value.metadata == {"limit": "engine", "unitsPerSecond": "10"}
    await service.charge(OTHER, 2, 1)
    await service.charge(OTHER, None, 1)


async def test_what_the_engine_refuses_costs_the_key_nothing(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    returned = Returned()
    both = {**SLOW, "engine_rate_units_per_second": 1, "rate_burst_seconds": 20}
    service = limits(database, clock, settings, **both)
    await service.charge(KEY, 1, 20)
    for _ in range(50):
        await refused(service, KEY, 1, 20)
    left = await use_up(service, KEY)
    assert 20 * RATE - 20 <= left <= 20 * RATE - 20 + returned()


async def test_a_request_that_is_broken_off_takes_the_lease_from_nobody(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    service = limits(database, clock, settings, **SLOW)
    await service.charge(KEY, None, BLOCK)
    with bucket_statements(database) as sent:
        async with held_buckets(database):
            first = asyncio.create_task(service.charge(KEY, None, 1))
            await until_waiting(database)
            second = asyncio.create_task(service.charge(KEY, None, 1))
            first.cancel()
            await asyncio.wait({first})
        await second
    assert first.cancelled()
    assert len(sent) == 2, "the one that holds the row, and one lease"


async def test_a_request_that_is_broken_off_at_the_engine_costs_the_key_nothing(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    returned = Returned()
    service = limits(database, clock, settings, **{**SLOW, "engine_rate_units_per_second": RATE})
    await service.charge(OTHER, 1, BLOCK)
    async with held_buckets(database):
        task = asyncio.create_task(service.charge(KEY, 1, 7))
        await until_waiting(database)
        task.cancel()
        await asyncio.wait({task})
    assert SAVED <= await use_up(service, KEY) <= SAVED + returned()


async def test_it_is_not_the_rates_that_refuse_what_a_database_that_is_away_may_serve(
    clock: FixedClock, settings: Settings, data_dir: Path
) -> None:
    nowhere = f"postgresql://nobody@/nothing?host={data_dir}/nowhere"
    away = Database(open_engine(nowhere, settings))
    service = limits(away, clock, settings)
    for _ in range(2):
        await asyncio.gather(*(service.charge(KEY, 1, 1) for _ in range(3)))
    await away.close()


async def test_the_blocks_of_those_not_seen_for_long_are_dropped(
    database: Database,
    clock: FixedClock,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rates, "MAX_BLOCKS", 3)
    service = limits(database, clock, settings, **SLOW)
    returned = Returned()
    for number in range(10):
        await service.charge(caller(f"{number}"), None, 1)
    with bucket_statements(database) as sent:
        for number in (9, 8, 7):
            await service.charge(caller(f"{number}"), None, 1)
        assert sent == []
        await service.charge(caller("0"), None, 1)
        assert len(sent) == 1
    # Nobody gets more than the rate by it.
    assert await use_up(service, caller("0")) <= SAVED - 2 + returned()
    assert service._rates._keys is not None
    assert service._rates._keys._block_of.cache_info().currsize == 3
    assert service._rates._keys._leases == {}


@pytest.mark.parametrize("subject", ["x" * 100_000, "a\x00b", "\ud800", "\u202e"])
async def test_the_subject_of_a_token_may_be_any_text(
    database: Database, clock: FixedClock, settings: Settings, subject: str
) -> None:
    here, elsewhere = (limits(database, clock, settings, **SLOWEST) for _ in range(2))
    named = caller(f"jwt:{subject}")
    for _ in range(SAVED // 20):
        await here.charge(named, None, 20)
    await refused(elsewhere, named, None, 20)
    await elsewhere.charge(caller(f"jwt:{subject}2"), None, 20)


async def test_buckets_that_are_full_again_are_removed(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    service = limits(database, clock, settings, **SLOW)
    for number in range(3):
        await service.charge(caller(f"{number}"), None, 1)
    await pass_seconds(database, clock, store.FULL_AFTER.total_seconds())
    await service.charge(KEY, None, 1)
    for removed, left in ((2, 2), (1, 1), (0, 1)):
        async with database.transaction() as session:
            full = store.select_full(session, RowSearch(2))
            assert await store.remove_full(session, full) == removed
        assert await count(database, RateBucketRow) == (left,)
