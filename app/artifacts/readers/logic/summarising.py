"""Plan for summarising a long text in parts, each with the summary of earlier parts (pure)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from app.artifacts.readers.logic.prompts import INDENT, SummaryOptions, lined, summary
from app.language.chunking import Piece
from app.language.sentences import longest_fitting
from app.language.tokens import CHARS_PER_TOKEN, estimate_tokens

LEAST_PART_TOKENS = 100
"""Minimum room for text in a call; a reader with a smaller window cannot summarise."""
_SLACK = 16
"""Divisor of a part's limit: a part may end early by up to this fraction, at a good place.

The number of parts grows only slightly.
"""
_ENDS = ("\n\n", "\n", ". ", " ")
"""Places where a part may end, best first."""


@dataclass(frozen=True)
class SummaryRoom:
    """Room for text in one call.

    Attributes:
        tokens: maximum tokens of text.
        shown_tokens: maximum tokens of the same text with indentation, as shown in the prompt.
    """

    tokens: int
    shown_tokens: int

    @property
    def is_enough(self) -> bool:
        """True if the room is large enough for a call."""
        return self.tokens >= LEAST_PART_TOKENS


def room_for(max_input_tokens: int, wish: SummaryOptions) -> SummaryRoom:
    """Return the room in a call: half of the reader's window, or less if that does not fit."""
    longest = summary("", "x" * (wish.so_far_chars - len(INDENT)), wish).tokens
    left = max_input_tokens - longest - wish.max_tokens
    return SummaryRoom(min(max_input_tokens // 2, left), left)


class SummaryParts:
    """Joiner of artifact chunks into parts that fit, one for each call.

    Chunks arrive in batches, ordered by artifact and position; overlaps are left out. Each artifact
    after the first begins with its name. No text line can imitate that, since all text lines are
    indented.
    """

    def __init__(self, room: SummaryRoom) -> None:
        self._most = room.tokens * CHARS_PER_TOKEN
        self._most_shown = room.shown_tokens * CHARS_PER_TOKEN
        self._held: list[str] = []
        self._size = self._shown = 0
        self._ordinal: int | None = None
        self._end = 0
        self._is_in_line = False

    def feed(self, pieces: Iterable[Piece]) -> Iterator[str]:
        """Yield the parts that are full."""
        for piece in pieces:
            if piece.ordinal != self._ordinal:
                yield from self._begin_artifact(piece)
            text = piece.chunk.after(self._end)
            self._end = piece.chunk.end
            while text:
                place = self._place(text)
                self._hold(text[:place], self._lined(text[:place]))
                text = text[place:]
                if text:
                    yield from self.end()

    def end(self) -> Iterator[str]:
        """Yield the last part, unless it is empty."""
        if self._held:
            yield "".join(self._held)
        self._held, self._size, self._shown, self._is_in_line = [], 0, 0, False

    def _begin_artifact(self, piece: Piece) -> Iterator[str]:
        if self._ordinal is not None:
            mark = _mark(piece.artifact)
            if self._over(mark, mark):
                yield from self.end()
            self._hold(mark, mark)
        self._ordinal, self._end = piece.ordinal, 0

    def _hold(self, text: str, shown: str) -> None:
        if not text:
            return
        self._held.append(shown)
        self._size += len(text)
        self._shown += len(shown)
        self._is_in_line = not shown.endswith("\n")

    def _place(self, text: str) -> int:
        """Return the length of text that fits into this part: all, or up to a good place."""
        if not self._over(text, self._lined(text)):
            return len(text)
        low = longest_fitting(len(text), lambda n: not self._over(text[:n], self._lined(text[:n])))
        # The start of a chunk is also a good place to end a part.
        least = max(low - self._most // _SLACK, 0)
        ends = (text.rfind(end, least, low) + len(end) for end in _ENDS if end in text[least:low])
        return next(ends, low if least or not self._held else 0)

    def _over(self, text: str, shown: str) -> bool:
        is_over = self._size + len(text) > self._most
        return is_over or self._shown + len(shown) > self._most_shown

    def _lined(self, text: str) -> str:
        return lined(text).removeprefix(INDENT) if self._is_in_line else lined(text)


def calls_of(tokens: int, names: Sequence[str], room: SummaryRoom) -> int:
    """Return the maximum number of calls for texts of `tokens` tokens and these artifact names.

    Texts with very many lines for their length may need more.
    """
    # A part that ends before a name leaves at most the room of the name unused.
    marks = sum(2 * estimate_tokens(_mark(name)) for name in names[1:])
    full = room.tokens - room.tokens // _SLACK
    return max(-(-(tokens + marks) // full), 1)


def _mark(artifact: str) -> str:
    return f"\n\n[{artifact}]\n"
