"""Ranking of chunks by relevance to a question (pure)."""

from collections.abc import Sequence

from app.language.bm25 import Bm25
from app.language.chunking import Piece
from app.language.terms import Terms

_SMOOTHING = 60
"""Constant of reciprocal rank fusion (Cormack et al., 2009); higher values flatten the ranking."""


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
