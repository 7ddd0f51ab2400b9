"""Summaries without a model: the weightiest sentences within a limit (pure)."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from app.conversation.strategies.logic.lines import line
from app.language.beginnings import cut_off
from app.language.scoring import score
from app.language.sentences import sentences

MODEL_ID = "builtin:extractive"
"""What summaries name as what has made them."""
_MAX_SENTENCES = 4_000
_MAX_OF_TEXT = 400
_MAX_SENTENCE_CHARS = 2_000
_MAX_CHARS = 200_000
"""The beginning of a text that is looked at: an event may have some millions of characters."""
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True)
class Piece:
    """What somebody says; `label` is who, which a policy may leave empty.

    Attributes:
        is_summary: what a summary before says: its lines stand as they are, without a label.
    """

    label: str
    text: str
    is_summary: bool = False


@dataclass(frozen=True)
class _Sentence:
    place: int
    text: str
    weight: float


def extract(pieces: Iterable[Piece], chars: int) -> str:
    """Return the weightiest sentences in the order in which they come, at most `chars` long.

    Each is a line that says whose it is. Of two that are equal, the later stays; where nothing
    fits, it is the weightiest of all, cut off. Of a very long text only its first sentences count,
    and of very many sentences the last.
    """
    found = _weighed(pieces)
    ranked = sorted(found, key=lambda one: (-one.weight, one.place))
    chosen: list[_Sentence] = []
    left = chars + 1
    for one in ranked:
        # With the line break before it.
        if len(one.text) + 1 <= left:
            chosen.append(one)
            left -= len(one.text) + 1
    if not chosen:
        return cut_off(ranked[0].text, chars) if ranked else ""
    return "\n".join(one.text for one in sorted(chosen, key=lambda one: one.place))


def _weighed(pieces: Iterable[Piece]) -> list[_Sentence]:
    lines = [one for piece in pieces for one in _lines(piece)][-_MAX_SENTENCES:]
    # The last place of each, so that what is said twice stands where it was said last.
    places = {text: (place, weight) for place, (text, weight) in enumerate(lines)}
    return [_Sentence(place, text, weight) for text, (place, weight) in places.items()]


def _lines(piece: Piece) -> Iterator[tuple[str, float]]:
    told = piece.text[:_MAX_CHARS]
    if piece.is_summary:
        for whole in told.splitlines():
            if text := whole.strip()[:_MAX_SENTENCE_CHARS]:
                yield text, score(text.partition(": ")[2] or text)
        return
    for one in islice(sentences(told), _MAX_OF_TEXT):
        text = _SPACE.sub(" ", one.text[:_MAX_SENTENCE_CHARS])
        yield line(piece.label, text), score(text)
