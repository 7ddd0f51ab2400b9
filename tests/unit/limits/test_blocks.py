"""What a process holds of a rate, and when it asks for more."""

from datetime import UTC, datetime, timedelta
from typing import get_type_hints

import pytest
from pydantic.fields import FieldInfo

from app.kernel.limits import MAX_COST
from app.kernel.tuning import Tuning
from app.platform.limits.logic import BucketPace, RateBlock, Wait
from app.platform.limits.store import FULL_AFTER
from app.process.features import demands
from app.settings.described import bounds

NOW = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)
PACE = BucketPace.of(100, burst_seconds=10, block_seconds=0.1)


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def looked(*, granted: int = 0, left: float = 0) -> RateBlock:
    """Return a block as it is after a look at the bucket at `NOW`."""
    block = RateBlock()
    block.receive(granted, left, NOW)
    return block


def test_a_pace_is_made_of_a_rate() -> None:
    assert BucketPace.of(10_000, 10, 0.1) == BucketPace(10_000, 100_000, 1_000, 0.1)


def test_the_slowest_rate_has_room_for_the_costliest_request() -> None:
    assert BucketPace.of(1, 0.5, 0.1) == BucketPace(1, MAX_COST, 1, 0.1)
    assert max(demand.cost for demand in demands().values()) == MAX_COST


def test_a_block_is_no_more_than_the_bucket_holds() -> None:
    assert BucketPace.of(1_000, 0.1, 1).block == 100


def test_the_settings_let_every_bucket_fill_before_it_is_removed() -> None:
    annotated = get_type_hints(Tuning, include_extras=True)["rate_burst_seconds"]
    [longest] = [
        bound for name, bound in bounds(FieldInfo.from_annotation(annotated)) if name == "le"
    ]
    assert timedelta(seconds=longest) <= FULL_AFTER
    assert timedelta(seconds=MAX_COST) <= FULL_AFTER


def test_units_are_used_while_there_are_enough() -> None:
    block = looked(granted=5)
    assert block.take(3)
    assert not block.take(3)
    assert block.take(2)
    assert not block.take(1)


def test_units_that_are_given_back_are_no_more_than_a_block() -> None:
    block = looked(granted=3)
    block.give_back(4, PACE)
    assert block.units == 7
    block.give_back(4, PACE)
    assert block.units == PACE.block
    block.give_back(20, PACE)
    assert block.units == 20


def test_a_bucket_is_looked_at_that_was_not_looked_at_before() -> None:
    assert RateBlock().wait(20, PACE, NOW).for_look == 0


def test_a_bucket_is_looked_at_again_at_once_if_there_was_enough() -> None:
    assert looked(left=20).wait(20, PACE, NOW).for_look == 0
    assert looked(granted=15, left=5).wait(20, PACE, NOW).for_look == 0


def test_a_bucket_that_has_run_short_is_left_alone_for_a_while() -> None:
    block = looked(left=0.5)
    wait = block.wait(1, PACE, NOW)
    # Half a unit is there after five milliseconds.
    assert wait.for_look == wait.for_units == pytest.approx(0.1)
    assert block.wait(1, PACE, after(0.08)).for_look == pytest.approx(0.02)
    assert block.wait(1, PACE, after(0.1)).for_look == 0


def test_a_request_waits_until_there_will_be_enough() -> None:
    block = looked(granted=2, left=3)
    wait = block.wait(20, PACE, after(0.05))
    assert wait.for_look == wait.for_units == pytest.approx(0.1)
    assert block.wait(20, PACE, after(0.15)).for_look == 0


def test_a_bucket_is_looked_at_again_after_a_second_at_the_latest() -> None:
    slow = BucketPace.of(1, 10, 0.1)
    block = looked()
    wait = block.wait(20, slow, after(0.25))
    assert wait == Wait(for_look=0.75, for_units=19.75)
    assert block.wait(20, slow, after(1)).for_look == 0


def test_a_clock_that_is_set_back_refuses_nobody() -> None:
    assert looked().wait(20, PACE, after(-3_600)).for_look == 0
