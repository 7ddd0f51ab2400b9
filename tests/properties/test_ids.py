"""Made ids: their digits, their order, and the bucket that they carry."""

from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.kernel.ids import BUCKETS, IdMaker, bucket_of, draw_again, new_id

_START = 1_780_000_000_000
_IN_A_MILLISECOND = 97


_STEPS = st.lists(
    st.tuples(
        st.floats(0, 3), st.integers(0, 40), st.sampled_from([0, 1, 512, 1_023]), st.integers(1, 99)
    ),
    max_size=40,
)


@given(_STEPS)
def test_ids_grow_by_time_and_carry_their_bucket(steps: list[tuple[float, int, int, int]]) -> None:
    """Some are drawn for a time that has passed, and many for one moment."""
    maker, elapsed = IdMaker(), 0.0
    ids: list[int] = []
    for pause, age, bucket, number in steps:
        elapsed += pause
        now = _START + int(elapsed)
        for _ in range(number):
            one = maker.next(now - age, bucket)
            assert len(str(one)) == 18
            assert bucket_of(one) == bucket
            assert now - age <= one // 100_000 <= now + 1 + len(ids) // _IN_A_MILLISECOND
            ids.append(one)
    assert all(first < second for first, second in pairwise(ids))


@given(st.integers(1_000_000_000_000, 9_999_999_999_999), st.integers(0, BUCKETS - 1))
def test_an_id_is_of_its_millisecond(moment: int, bucket: int) -> None:
    one = IdMaker().next(moment, bucket)
    assert (len(str(one)), one // 100_000, bucket_of(one)) == (18, moment, bucket)


def test_a_burst_uses_numbers_of_the_next_milliseconds() -> None:
    maker, number = IdMaker(), 24_000
    ids = [maker.next(_START, 7) for _ in range(number)]
    assert len(set(ids)) == number
    assert ids[-1] // 100_000 - _START <= number // _IN_A_MILLISECOND + 1


def test_two_processes_begin_a_millisecond_at_different_numbers() -> None:
    first, second = IdMaker().next, IdMaker().next
    moments = range(_START, _START + 1_000)
    same = sum(first(moment, 0) == second(moment, 0) for moment in moments)
    assert same < 100
    begun = {first(moment, 1) % 100_000 // 1_024 for moment in moments}
    assert begun <= set(range(_IN_A_MILLISECOND))
    assert len(begun) > 90


@pytest.mark.parametrize("bucket", [0, 1_023])
def test_a_second_draw_is_of_the_same_bucket_and_later(bucket: int) -> None:
    taken = new_id(datetime.now(UTC), bucket)
    drawn = draw_again(taken, 0)
    assert drawn > taken
    assert bucket_of(drawn) == bucket


def test_a_second_draw_keeps_the_prefix_of_a_text() -> None:
    taken = f"er_{new_id(datetime.now(UTC), 5)}"
    drawn = draw_again(taken, 0)
    assert drawn.startswith("er_")
    assert bucket_of(int(drawn.removeprefix("er_"))) == 5


def test_ten_draws_leave_a_range_that_another_process_has_used() -> None:
    """The other has drawn 24,000 ids at once, a quarter of a second."""
    one = new_id(datetime.now(UTC), 5)
    end = one + 250 * 100_000
    for draws in range(10):
        one = draw_again(one, draws)
    assert one > end
