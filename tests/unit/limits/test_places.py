"""Places for costly requests."""

import asyncio

import pytest

from app.kernel.errors import Reason, ResourceExhausted
from app.platform.limits.services.limits import Concurrency


async def test_a_key_has_so_many_places_and_others_have_theirs() -> None:
    places = Concurrency(2, 10)
    with places.occupy("one"), places.occupy("one"):
        with pytest.raises(ResourceExhausted) as refused, places.occupy("one"):
            pass
        with places.occupy("two"):
            pass
    assert refused.value.reason is Reason.TOO_MANY_AT_ONCE
    assert refused.value.metadata == {"limit": "key", "requests": "2"}
    assert refused.value.retry_after_seconds == 1
    with places.occupy("one"):
        pass


async def test_all_keys_together_have_so_many_places() -> None:
    places = Concurrency(2, 3)
    with (
        places.occupy("one"),
        places.occupy("one"),
        places.occupy("two"),
        pytest.raises(ResourceExhausted) as refused,
        places.occupy("three"),
    ):
        pass
    assert refused.value.metadata == {"limit": "process", "requests": "3"}
    with places.occupy("three"):
        pass


async def test_a_place_is_free_after_a_failure() -> None:
    places = Concurrency(1, 1)
    with pytest.raises(ZeroDivisionError), places.occupy("one"):
        raise ZeroDivisionError
    with places.occupy("one"):
        pass


async def test_a_place_is_free_after_a_request_was_broken_off() -> None:
    places = Concurrency(1, 1)
    started = asyncio.Event()

    async def wait() -> None:
        with places.occupy("one"):
            started.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(wait())
    await started.wait()
    with pytest.raises(ResourceExhausted), places.occupy("one"):
        pass
    task.cancel()
    await asyncio.wait({task})
    with places.occupy("one"):
        pass


async def test_keys_that_hold_no_place_are_not_remembered() -> None:
    places = Concurrency(1, 5)
    for number in range(100):
        with places.occupy(str(number)):
            pass
    with places.occupy("last"), pytest.raises(ResourceExhausted), places.occupy("last"):
        pass
    assert not places._taken
