"""Chooses which pieces a reader is given, so that they fit and nothing is said twice (pure)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.language.chunking import CHARS_PER_TOKEN, Chunk, Piece, tokens_of

_LEAST_CUT_TOKENS = 20
"""Less than this of a piece tells nothing."""

Count = Callable[[str, str], int]
"""The tokens that a text of an artifact, which comes first, takes of a prompt."""


def counted(artifact: str, text: str) -> int:
    """Count the tokens of a text that stands in a prompt as it is."""
    del artifact
    return tokens_of(text)


@dataclass(frozen=True)
class Shown:
    """What a reader is given of one piece: characters `start` to `end`, which are `text`.

    `chunk` is the number of the piece; of its beginning, what the one before has, if that is
    shown, is left out.
    """

    artifact: str
    ordinal: int
    chunk: int
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Packed:
    """What a reader is given, in the order of the texts.

    Attributes:
        truncated: whether it was to be given more, which did not fit.
    """

    shown: Sequence[Shown]
    truncated: bool

    @property
    def chunks_used(self) -> int:
        """How many pieces that are."""
        return len(self.shown)


def room_of(max_input_tokens: int, answer_tokens: int, prompt_tokens: int) -> int:
    """Return the tokens that are left for pieces; none, if that is below zero."""
    return max(max_input_tokens - answer_tokens - prompt_tokens, 0)


def pack(ranked: Sequence[Piece], room: int, count: Count = counted) -> Packed:
    """Choose of pieces, best first, as many as there is room for.

    One that does not fit is passed over for others that do. If not even the best fits, it is its
    beginning that does.

    Args:
        ranked: each once.
        room: in tokens.
        count: counts the tokens of what is shown.
    """
    packing = _Packing(count)
    missed = False
    for piece in ranked:
        cost = packing.cost(piece)
        if cost <= room:
            packing.add(piece)
            room -= cost
        else:
            missed = True
    shown = packing.shown()
    if not shown and ranked and room >= _LEAST_CUT_TOKENS:
        shown = _beginning(ranked[0], room, count)
    return Packed(shown, truncated=missed)


class _Packing:
    """The pieces chosen so far, by artifact and number."""

    def __init__(self, count: Count) -> None:
        self._count = count
        self._chosen: dict[tuple[int, int], Piece] = {}

    def cost(self, piece: Piece) -> int:
        """Return the tokens that a piece adds; less, where what it repeats is there already."""
        ordinal, n = piece.ordinal, piece.chunk.n
        after = self._chosen.get((ordinal, n + 1))
        cost = self._tokens(piece, self._end_before(piece))
        if after is not None:
            cost += self._tokens(after, piece.chunk.end) - self._tokens(after, 0)
        return cost

    def add(self, piece: Piece) -> None:
        """Choose a piece."""
        self._chosen[piece.ordinal, piece.chunk.n] = piece

    def shown(self) -> list[Shown]:
        """Return what is shown, in the order of the texts."""
        pieces = [self._chosen[place] for place in sorted(self._chosen)]
        return [_shown(piece, self._end_before(piece)) for piece in pieces]

    def _end_before(self, piece: Piece) -> int:
        before = self._chosen.get((piece.ordinal, piece.chunk.n - 1))
        return before.chunk.end if before is not None else 0

    def _tokens(self, piece: Piece, since: int) -> int:
        return self._count(piece.artifact, piece.chunk.after(since))


def _shown(piece: Piece, since: int) -> Shown:
    chunk = piece.chunk
    start = max(since, chunk.start)
    return Shown(piece.artifact, piece.ordinal, chunk.n, start, chunk.end, chunk.after(since))


def _beginning(piece: Piece, room: int, count: Count) -> list[Shown]:
    """Return as much of a piece as fits, by halves: what it takes may be more than its length."""
    text = piece.chunk.text
    low, high = 0, min(len(text), room * CHARS_PER_TOKEN)
    while low < high:
        middle = (low + high + 1) // 2
        if count(piece.artifact, text[:middle]) <= room:
            low = middle
        else:
            high = middle - 1
    chunk = piece.chunk
    cut = Chunk(chunk.n, chunk.start, chunk.start + low, text[:low])
    return [_shown(Piece(piece.artifact, piece.ordinal, cut), 0)] if low else []
