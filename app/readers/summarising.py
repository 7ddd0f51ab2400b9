"""Plans how a long text is summarised: in parts, each with the summary of those before (pure)."""

from collections.abc import Iterable, Iterator

from app.documents.chunking import CHARS_PER_TOKEN, Piece
from app.readers.prompts import Summarising, summary

LEAST_PART_TOKENS = 100
"""A reader whose window has less room than this beside its instructions cannot summarise."""
_BETWEEN = "\n\n"


def part_tokens(max_input_tokens: int, wish: Summarising) -> int:
    """Return the most tokens of text in one call of a reader: half its window, if they fit.

    What does not come to `LEAST_PART_TOKENS` is no room.
    """
    longest = summary("", "x" * wish.chars, wish).tokens
    return min(max_input_tokens // 2, max_input_tokens - longest - wish.max_tokens)


class Parts:
    """Joins the pieces of artifacts to parts of at most so many tokens: one for each call.

    The pieces come in the order of the artifacts and of their texts, a few at a time; what one
    repeats of the one before it is left out. Where another artifact begins, its name says so.
    """

    def __init__(self, most_tokens: int) -> None:
        self._most = most_tokens * CHARS_PER_TOKEN
        self._held: list[str] = []
        self._size = 0
        self._ordinal: int | None = None
        self._end = 0

    def feed(self, pieces: Iterable[Piece]) -> Iterator[str]:
        """Yield the parts that are full."""
        for piece in pieces:
            for text in self._texts(piece):
                if self._size + len(text) > self._most:
                    yield from self.end()
                self._held.append(text)
                self._size += len(text)

    def end(self) -> Iterator[str]:
        """Yield the last part, unless there is nothing."""
        if self._held:
            yield "".join(self._held)
        self._held, self._size = [], 0

    def _texts(self, piece: Piece) -> Iterator[str]:
        """Yield what a piece brings, in texts that are not longer than a part."""
        if piece.ordinal != self._ordinal:
            if self._ordinal is not None:
                yield f"{_BETWEEN}[{piece.artifact}]\n"[: self._most]
            self._ordinal, self._end = piece.ordinal, 0
        text = piece.chunk.after(self._end)
        self._end = piece.chunk.end
        for start in range(0, len(text), self._most):
            yield text[start : start + self._most]


def calls_of(tokens: int, most_tokens: int) -> int:
    """Return the least calls that a text of so many tokens takes, in parts of so many."""
    return max(-(-tokens // most_tokens), 1)
