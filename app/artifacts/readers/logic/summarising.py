"""Plans how a long text is summarised: in parts, each with the summary of those before (pure)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from app.artifacts.readers.logic.prompts import INDENT, Summarising, lined, summary
from app.language.chunking import CHARS_PER_TOKEN, Piece, tokens_of

LEAST_PART_TOKENS = 100
"""A reader whose window has less room than this beside its instructions cannot summarise."""
_SLACK = 16
"""A part is full once it lacks less than this part of what it may have: it ends where that hurts
least, and there are still hardly more than the text needs."""
_ENDS = ("\n\n", "\n", ". ", " ")
"""Where a part may end, best first."""


@dataclass(frozen=True)
class Room:
    """What one call of a reader has room for.

    Attributes:
        tokens: of text.
        shown_tokens: of the same as the prompt shows it: more, by what its lines begin with.
    """

    tokens: int
    shown_tokens: int

    @property
    def is_enough(self) -> bool:
        """Whether that is worth a call."""
        return self.tokens >= LEAST_PART_TOKENS


def room_for(max_input_tokens: int, wish: Summarising) -> Room:
    """Return what a call has room for: texts of half the reader's window, if they fit."""
    longest = summary("", "x" * (wish.so_far_chars - len(INDENT)), wish).tokens
    left = max_input_tokens - longest - wish.max_tokens
    return Room(min(max_input_tokens // 2, left), left)


class Parts:
    """Joins the pieces of artifacts to parts for which there is room: one for each call.

    The pieces come in the order of the artifacts and of their texts, a few at a time; what one
    repeats of the one before it is left out. Where another artifact begins, its name says so, which
    nothing in a text can pass for: all lines of texts are indented.
    """

    def __init__(self, room: Room) -> None:
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
                yield from self._begun(piece)
            text = piece.chunk.after(self._end)
            self._end = piece.chunk.end
            while text:
                place = self._place(text)
                self._hold(text[:place], self._lined(text[:place]))
                text = text[place:]
                if text:
                    yield from self.end()

    def end(self) -> Iterator[str]:
        """Yield the last part, unless there is nothing."""
        if self._held:
            yield "".join(self._held)
        self._held, self._size, self._shown, self._is_in_line = [], 0, 0, False

    def _begun(self, piece: Piece) -> Iterator[str]:
        """Begin another artifact."""
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
        """Return how much of a text still goes into this part: all, or up to a good place."""
        if not self._over(text, self._lined(text)):
            return len(text)
        low, high = 0, len(text)
        while low < high:
            middle = (low + high + 1) // 2
            if self._over(text[:middle], self._lined(text[:middle])):
                high = middle - 1
            else:
                low = middle
        # Where a piece begins is a good place, too.
        least = max(low - self._most // _SLACK, 0)
        ends = (text.rfind(end, least, low) + len(end) for end in _ENDS if end in text[least:low])
        return next(ends, low if least or not self._held else 0)

    def _over(self, text: str, shown: str) -> bool:
        is_over = self._size + len(text) > self._most
        return is_over or self._shown + len(shown) > self._most_shown

    def _lined(self, text: str) -> str:
        """Return a text as it is shown after what is held."""
        return lined(text).removeprefix(INDENT) if self._is_in_line else lined(text)


def calls_of(tokens: int, names: Sequence[str], room: Room) -> int:
    """Return the most calls that texts of so many tokens take, and those of their artifacts' names.

    Only if a text has very many lines for its length, it may be more.
    """
    # A part that ends before a name lacks no more than that has.
    marks = sum(2 * tokens_of(_mark(name)) for name in names[1:])
    full = room.tokens - room.tokens // _SLACK
    return max(-(-(tokens + marks) // full), 1)


def _mark(artifact: str) -> str:
    return f"\n\n[{artifact}]\n"
