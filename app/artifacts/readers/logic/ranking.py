"""Puts pieces into the order of what they have to do with a question (pure)."""

from collections.abc import Sequence

from app.language.bm25 import Bm25
from app.language.chunking import Piece
from app.language.terms import Terms

_SMOOTHING = 60
"""How little the first places of a ranking count more than the next (Cormack et al., 2009)."""


def fused(rankings: Sequence[Sequence[Piece]]) -> list[Piece]:
    """Return the pieces of several rankings in one, by the sum of their reciprocal ranks."""
    pieces: dict[tuple[int, int], Piece] = {}
    scores: dict[tuple[int, int], float] = {}
    for ranking in rankings:
        for rank, piece in enumerate(ranking, start=1):
            place = (piece.ordinal, piece.chunk.n)
            pieces.setdefault(place, piece)
            scores[place] = scores.get(place, 0.0) + 1 / (_SMOOTHING + rank)
    # What is as good in one ranking as another in the next stays before it.
    return sorted(pieces.values(), key=lambda one: -scores[one.ordinal, one.chunk.n])


def best_first(query: str, pieces: Sequence[Piece], total: int) -> list[Piece]:
    """Return the pieces that share words with a query, those with the rarest first.

    Takes long for very many: belongs into a thread.

    Args:
        query: a question, or words.
        pieces: each once, such as all those that have any of its words.
        total: how many pieces there are, these and others: how rare a word is, that tells.
    """
    terms = Terms(query)
    read = [terms.read(piece.chunk.text) for piece in pieces]
    holding = [sum(bits >> n & 1 for bits, _ in read) for n in range(len(terms))]
    average = sum(length for _, length in read) / max(len(read), 1)
    bm25 = Bm25(max(total, len(pieces)), holding, average)
    scores = [bm25.score(bits, length) for bits, length in read]
    ranked = sorted(range(len(pieces)), key=lambda n: (-scores[n], n))
    return [pieces[n] for n in ranked if scores[n] > 0]
