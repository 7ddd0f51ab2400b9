"""What a reader says its answer rests on, as places in artifacts (pure)."""

from collections.abc import Iterable, Sequence

from app.artifacts.readers.logic.packing import Shown
from app.artifacts.readers.schemas import Citation

MAX_CITATIONS = 100


def cited(numbers: Iterable[int], shown: Sequence[Shown]) -> list[Citation]:
    """Return the passages that a reader names by their numbers from 1, in the order of the texts.

    A number that no passage has was made up, and is dropped, as is one that comes again.
    """
    known = sorted({number for number in numbers if 1 <= number <= len(shown)})
    return [_citation(shown[number - 1]) for number in known[:MAX_CITATIONS]]


def _citation(one: Shown) -> Citation:
    return Citation(artifact=one.artifact, chunk=one.chunk, start=one.start, end=one.end)
