"""Citations of a reader's answer, as positions in artifacts (pure)."""

from collections.abc import Iterable, Sequence

from app.artifacts.readers.logic.packing import ShownChunk
from app.artifacts.readers.schemas import Citation

MAX_CITATIONS = 100


def cited(numbers: Iterable[int], shown: Sequence[ShownChunk]) -> list[Citation]:
    """Return citations for the passage numbers, from 1, that a reader names, in text order.

    Numbers without a passage, which the model made up, are dropped, as are duplicates.
    """
    known = sorted({number for number in numbers if 1 <= number <= len(shown)})
    return [_citation(shown[number - 1]) for number in known[:MAX_CITATIONS]]


def _citation(passage: ShownChunk) -> Citation:
    return Citation(
        artifact=passage.artifact, chunk=passage.chunk, start=passage.start, end=passage.end
    )
