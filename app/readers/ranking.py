"""Puts pieces into the order of what they have to do with a question (pure)."""

from collections.abc import Sequence

from app.documents.chunking import Piece
from app.rules.bm25 import Bm25
from app.rules.terms import Terms


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
