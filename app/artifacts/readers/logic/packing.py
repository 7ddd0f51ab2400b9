"""Ranking of chunks, and selection of those that fit into a reader's window (pure)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.language.bm25 import Bm25
from app.language.chunking import Chunk, Piece
from app.language.sentences import longest_fitting
from app.language.terms import Terms
from app.language.tokens import CHARS_PER_TOKEN, estimate_tokens

_LEAST_CUT_TOKENS = 20
"""Minimum tokens of a chunk that is cut; a shorter part would be useless."""

_SMOOTHING = 60
"""Constant of reciprocal rank fusion (Cormack et al., 2009); higher values flatten the ranking."""

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


def fused(rankings: Sequence[Sequence[Piece]]) -> list[Piece]:
    """Merge several rankings of chunks into one, by the sum of their reciprocal ranks."""
    pieces: dict[tuple[int, int], Piece] = {}
    scores: dict[tuple[int, int], float] = {}
    for ranking in rankings:
        for rank, piece in enumerate(ranking, start=1):
            place = (piece.ordinal, piece.chunk.n)
            pieces.setdefault(place, piece)
            scores[place] = scores.get(place, 0.0) + 1 / (_SMOOTHING + rank)
    # Ties keep the order of the rankings.
    return sorted(pieces.values(), key=lambda chunk: -scores[chunk.ordinal, chunk.chunk.n])


def best_first(query: str, pieces: Sequence[Piece], total: int) -> list[Piece]:
    """Return the chunks that share words with a query, ranked by BM25.

    Slow for very many chunks, so call it in a thread.

    Args:
        query: a question, or words.
        pieces: chunks without duplicates, such as all that contain any of the query's words.
        total: number of all chunks, including others; it determines how rare a word is.
    """
    terms = Terms(query)
    read = [terms.read(piece.chunk.text) for piece in pieces]
    bm25 = Bm25.of_texts(read, len(terms), total)
    scores = [bm25.score(bits, length) for bits, length in read]
    ranked = sorted(range(len(pieces)), key=lambda n: (-scores[n], n))
    return [pieces[n] for n in ranked if scores[n] > 0]


def room_of(max_input_tokens: int, answer_tokens: int, prompt_tokens: int) -> int:
    """Return the tokens available for chunks, at least 0."""
    return max(max_input_tokens - answer_tokens - prompt_tokens, 0)


def pack(ranked: Sequence[Piece], room: int, count: Count = counted) -> Packed:
    """Select chunks, best first, until the room is used up.

    A chunk that does not fit is skipped in favour of others that do. If no chunk fits, the
    beginning of the best one is selected.
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
    low = longest_fitting(
        min(len(text), room * CHARS_PER_TOKEN), lambda n: count(piece.artifact, text[:n]) <= room
    )
    chunk = piece.chunk
    cut = Chunk(chunk.n, chunk.start, chunk.start + low, text[:low])
    return [_to_shown(Piece(piece.artifact, piece.ordinal, cut), 0)] if low else []
