"""Selection of chunks that fit into a reader's window, without repeated text (pure)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.language.chunking import Chunk, Piece
from app.language.tokens import CHARS_PER_TOKEN, estimate_tokens

_LEAST_CUT_TOKENS = 20
"""Minimum tokens of a chunk that is cut; a shorter part would be useless."""

Count = Callable[[str, str], int]
"""Counter of a text's tokens in a prompt; its arguments are the artifact's name and the text."""


def counted(artifact: str, text: str) -> int:
    """Return the tokens of a text that is shown unchanged in a prompt."""
    del artifact
    return estimate_tokens(text)


@dataclass(frozen=True)
class ShownChunk:
    """A chunk as shown to a reader; `text` is the artifact's text from `start` to `end`.

    `chunk` is the chunk's number. Its overlap with the previous chunk is left out if that chunk is
    shown.
    """

    artifact: str
    ordinal: int
    chunk: int
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Packed:
    """The selection for a reader, in text order.

    Attributes:
        truncated: whether some wanted chunks did not fit.
    """

    shown: Sequence[ShownChunk]
    truncated: bool

    @property
    def chunks_used(self) -> int:
        """Number of selected chunks."""
        return len(self.shown)


def room_of(max_input_tokens: int, answer_tokens: int, prompt_tokens: int) -> int:
    """Return the tokens available for chunks, at least 0."""
    return max(max_input_tokens - answer_tokens - prompt_tokens, 0)


def pack(ranked: Sequence[Piece], room: int, count: Count = counted) -> Packed:
    """Select chunks, best first, until the room is used up.

    A chunk that does not fit is skipped in favour of others that do. If no chunk fits, the
    beginning of the best one is selected.

    Args:
        ranked: chunks without duplicates, best first.
        room: available tokens.
        count: counter of the tokens of a shown text.
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
    """Chunks selected so far, by artifact and number."""

    def __init__(self, count: Count) -> None:
        self._count = count
        self._chosen: dict[tuple[int, int], Piece] = {}

    def cost(self, piece: Piece) -> int:
        """Return the tokens that a chunk adds; text shared with an adjacent chunk counts once."""
        ordinal, n = piece.ordinal, piece.chunk.n
        after = self._chosen.get((ordinal, n + 1))
        cost = self._tokens(piece, self._end_before(piece))
        if after is not None:
            cost += self._tokens(after, piece.chunk.end) - self._tokens(after, 0)
        return cost

    def add(self, piece: Piece) -> None:
        """Select a chunk."""
        self._chosen[piece.ordinal, piece.chunk.n] = piece

    def shown(self) -> list[ShownChunk]:
        """Return the selection, in text order."""
        pieces = [self._chosen[place] for place in sorted(self._chosen)]
        return [_to_shown(piece, self._end_before(piece)) for piece in pieces]

    def _end_before(self, piece: Piece) -> int:
        before = self._chosen.get((piece.ordinal, piece.chunk.n - 1))
        return before.chunk.end if before is not None else 0

    def _tokens(self, piece: Piece, since: int) -> int:
        return self._count(piece.artifact, piece.chunk.after(since))


def _to_shown(piece: Piece, since: int) -> ShownChunk:
    chunk = piece.chunk
    start = max(since, chunk.start)
    return ShownChunk(piece.artifact, piece.ordinal, chunk.n, start, chunk.end, chunk.after(since))


def _beginning(piece: Piece, room: int, count: Count) -> list[ShownChunk]:
    """Return as much of a chunk as fits, found by bisection, since indentation adds tokens."""
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
    return [_to_shown(Piece(piece.artifact, piece.ordinal, cut), 0)] if low else []
