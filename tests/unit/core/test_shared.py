"""Work that is shared is handed out while it is under way, and never after its end."""

import asyncio

import pytest

from app.adapters.concurrency import Shared, SingleFlight


class _Work:
    """Work that ends when it is told to."""

    def __init__(self) -> None:
        self.begun = 0
        self.fails = False
        self.end = asyncio.Event()

    async def __call__(self) -> int:
        self.begun += 1
        number = self.begun
        await self.end.wait()
        if self.fails:
            raise ValueError("no")
        return number


async def test_who_asks_meanwhile_shares_it() -> None:
    work = _Work()
    shared = Shared(work)
    asking = [asyncio.create_task(shared.result()) for _ in range(3)]
    await asyncio.sleep(0)
    work.end.set()
    assert await asyncio.gather(*asking) == [1, 1, 1]
    assert await shared.result() == 2


async def test_who_asks_in_any_turn_leaves_the_next_to_others() -> None:
    """Who asks until an answer is new enough would turn for ever with one that came at once."""
    work = _Work()
    shared = Shared(work)
    turns = 0

    async def turn() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def ask() -> None:
        for _ in range(3):
            before = turns
            await shared.result()
            assert turns > before

    turning = asyncio.create_task(turn())
    work.end.set()
    asking = []
    for _ in range(20):
        asking.append(asyncio.create_task(ask()))
        await asyncio.sleep(0)
    await asyncio.gather(*asking)
    turning.cancel()


async def test_a_caller_that_is_broken_off_takes_it_from_nobody() -> None:
    work = _Work()
    shared = Shared(work)
    first, second = (asyncio.create_task(shared.result()) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    work.end.set()
    assert await second == 1
    assert first.cancelled()


async def test_a_failure_is_told_to_all_and_the_next_begins_anew() -> None:
    work = _Work()
    work.fails = True
    shared = Shared(work)
    asking = [asyncio.create_task(shared.result()) for _ in range(2)]
    await asyncio.sleep(0)
    work.end.set()
    for one in asking:
        with pytest.raises(ValueError, match="no"):
            await one
    work.fails = False
    assert await shared.result() == 2


async def _asked(flights: SingleFlight[int], work: _Work, times: int) -> list[asyncio.Task[int]]:
    tasks = [asyncio.create_task(flights.result(b"key", work)) for _ in range(times)]
    await asyncio.sleep(0)
    return tasks


async def test_equal_keys_share_work_and_others_do_not() -> None:
    work, flights = _Work(), SingleFlight[int]()
    asking = await _asked(flights, work, 3)
    other = asyncio.create_task(flights.result(b"other", work))
    await asyncio.sleep(0)
    work.end.set()
    assert await asyncio.gather(*asking, other) == [1, 1, 1, 2]
    assert await flights.result(b"key", work) == 3


@pytest.mark.parametrize("is_cancelled", [True, False])
async def test_after_the_first_the_next_does_the_work(*, is_cancelled: bool) -> None:
    begun = 0

    async def work() -> int:
        nonlocal begun
        begun += 1
        number = begun
        await asyncio.sleep(0.01)
        if number == 1:
            raise ValueError("no")
        return number

    flights = SingleFlight[int]()
    first, *others = [asyncio.create_task(flights.result(b"key", work)) for _ in range(3)]
    await asyncio.sleep(0)
    if is_cancelled:
        first.cancel()
    with pytest.raises(asyncio.CancelledError if is_cancelled else ValueError):
        await first
    assert [await one for one in others] == [2, 2]


async def test_who_waits_and_is_cancelled_stops_nobody() -> None:
    work, flights = _Work(), SingleFlight[int]()
    first, second, third = await _asked(flights, work, 3)
    second.cancel()
    await asyncio.sleep(0)
    work.end.set()
    assert [await first, await third] == [1, 1]
