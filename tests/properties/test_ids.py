"""Made ids: their digits, their order, and the bucket that they carry."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.kernel.ids import BUCKETS, IdMaker, another_id, bucket_of, new_id

_START = 1_780_000_000_000
_AHEAD = 50
_IN_A_MILLISECOND = 97


@dataclass
class _Time:
    """A clock that only goes on while somebody waits, or as it is told."""

    milliseconds: float = 0
    waits: list[float] = field(default_factory=list)

    def elapsed(self) -> int:
        return int(self.milliseconds * 1_000_000)

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.milliseconds += seconds * 1_000


def _made() -> tuple[_Time, Callable[[int, int], int]]:
    time = _Time()
    return time, IdMaker(time.elapsed, time.sleep).next


_STEPS = st.lists(
    st.tuples(
        st.floats(0, 3), st.integers(0, 40), st.sampled_from([0, 1, 512, 1_023]), st.integers(1, 99)
    ),
    max_size=40,
)


@given(_STEPS)
def test_ids_grow_by_time_and_carry_their_bucket(steps: list[tuple[float, int, int, int]]) -> None:
    """Some are made for a time that has passed, and many for one moment."""
    time, made = _made()
    ids: list[int] = []
    for pause, age, bucket, number in steps:
        time.milliseconds += pause
        now = _START + int(time.milliseconds)
        for _ in range(number):
            one = made(now - age, bucket)
            assert len(str(one)) == 18
            assert bucket_of(one) == bucket
            assert now - age <= one // 100_000 <= _START + time.milliseconds + _AHEAD
            ids.append(one)
    assert all(first < second for first, second in pairwise(ids))


@given(st.integers(1_000_000_000_000, 9_999_999_999_999), st.integers(0, BUCKETS - 1))
def test_an_id_is_of_its_millisecond(moment: int, bucket: int) -> None:
    _, made = _made()
    one = made(moment, bucket)
    assert (len(str(one)), one // 100_000, bucket_of(one)) == (18, moment, bucket)


def test_a_burst_is_never_far_ahead_of_the_clock_and_waits_a_hundredth_of_a_millisecond_an_id() -> (
    None
):
    time, made = _made()
    number = 24_000
    ids = [made(_START, 7) for _ in range(number)]
    assert len(set(ids)) == number
    assert ids[-1] // 100_000 - _START <= time.milliseconds + _AHEAD
    most = number / _IN_A_MILLISECOND - _AHEAD + 1
    assert sum(time.waits) * 1_000 <= most
    assert max(time.waits) <= 0.001
    # What is made for later need not wait.
    before = len(time.waits)
    made(_START + 10_000, 7)
    assert len(time.waits) == before


def test_two_processes_begin_a_millisecond_at_different_numbers() -> None:
    first, second = _made()[1], _made()[1]
    moments = range(_START, _START + 1_000)
    same = sum(first(moment, 0) == second(moment, 0) for moment in moments)
    assert same < 100
    begun = {first(moment, 1) % 100_000 // 1_024 for moment in moments}
    assert begun <= set(range(_IN_A_MILLISECOND))
    assert len(begun) > 90


@pytest.mark.parametrize("bucket", [0, 1_023])
def test_another_id_is_of_the_same_bucket_and_later(bucket: int) -> None:
    taken = new_id(datetime.now(UTC), bucket)
    another = another_id(taken)
    assert another > taken
    assert bucket_of(another) == bucket
