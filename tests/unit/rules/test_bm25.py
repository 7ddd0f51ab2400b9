"""How much the words of a text say of what is asked."""

import pytest

from app.language.bm25 import Bm25

RARE, COMMON, BOTH = 0b01, 0b10, 0b11


@pytest.fixture
def bm25() -> Bm25:
    return Bm25(100, [2, 60], 10.0)


def test_a_rare_term_says_more_than_a_common_one_and_both_say_most(bm25: Bm25) -> None:
    scores = [bm25.score(matched, 10) for matched in (0, COMMON, RARE, BOTH)]
    assert scores == sorted(scores)
    assert scores[0] == 0
    assert scores[3] == pytest.approx(scores[1] + scores[2])


def test_a_term_says_less_in_a_long_text(bm25: Bm25) -> None:
    assert bm25.score(RARE, 5) > bm25.score(RARE, 10) > bm25.score(RARE, 40) > 0


def test_a_term_of_average_length_is_as_rare_as_the_formula_says(bm25: Bm25) -> None:
    assert bm25.score(RARE, 10) == pytest.approx(3.699, abs=0.001)  # ln(1 + 98.5 / 2.5)


def test_a_term_that_all_have_says_hardly_anything_but_never_less_than_nothing() -> None:
    assert 0 < Bm25(100, [100], 10.0).score(1, 10) < 0.01
    assert Bm25(1, [5], 10.0).score(1, 10) > 0


def test_the_share_is_of_all_that_the_terms_weigh(bm25: Bm25) -> None:
    assert bm25.share(0) == 0
    assert bm25.share(BOTH) == 1
    assert bm25.share(RARE) == pytest.approx(0.879, abs=0.001)


def test_without_terms_there_is_no_share() -> None:
    empty = Bm25(0, [], 0.0)
    assert empty.share(0) is None
    assert empty.score(0, 0) == 0
