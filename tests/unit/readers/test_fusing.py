"""Rankings of pieces become one."""

from app.artifacts.readers.logic import fused
from app.language.chunking import Chunk, Piece


def piece(ordinal: int, n: int = 0) -> Piece:
    return Piece(f"a{ordinal}", ordinal, Chunk(n, 0, 3, "tea"))


def places(*rankings: list[Piece]) -> list[tuple[int, int]]:
    return [(one.ordinal, one.chunk.n) for one in fused(rankings)]


def test_one_ranking_stays_as_it_is() -> None:
    ranking = [piece(2), piece(1), piece(1, 1)]
    assert places(ranking, []) == places([], ranking) == [(2, 0), (1, 0), (1, 1)]


def test_what_is_in_two_comes_before_what_is_first_in_one() -> None:
    found = places([piece(1), piece(2)], [piece(3), piece(2)])
    assert found == [(2, 0), (1, 0), (3, 0)]


def test_sums_are_of_reciprocal_ranks_beyond_sixty() -> None:
    # 1/61 + 1/65 < 1/62 + 1/62, and 1/61 + 1/63 > 1/62 + 1/62.
    rest = [piece(n) for n in range(10, 14)]
    far = places([piece(1), piece(2)], [rest[0], piece(2), rest[1], rest[2], piece(1)])
    near = places([piece(1), piece(2)], [rest[0], piece(2), piece(1)])
    assert (far[0], near[0]) == ((2, 0), (1, 0))
