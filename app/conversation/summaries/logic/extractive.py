"""Summaries without a model: the sentences of highest weight within a limit (pure)."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from app.conversation.strategies.logic.lines import line
from app.language.scoring import score
from app.language.sentences import cut_off, first_fitting, sentences

MODEL_ID = "builtin:extractive"
"""Model id reported for such summaries."""
_MAX_SENTENCES = 4_000
_MAX_OF_TEXT = 400
_MAX_SENTENCE_CHARS = 2_000
_MAX_CHARS = 200_000
"""Characters read from the beginning of a text, since an event may have millions."""
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True)
class Utterance:
    """A text with its speaker's label, which a policy may leave empty.

    Attributes:
        is_summary: whether the text is a previous summary; its lines are kept without a label.
    """

    label: str
    text: str
    is_summary: bool = False


class _Sentence(NamedTuple):
    place: int
    text: str
    weight: float


def extract(pieces: Iterable[Utterance], chars: int) -> str:
    """Return the sentences of highest weight, in their order, with at most `chars` characters.

    Each sentence is a line with its speaker's label. Of equal sentences the last one is kept. If no
    sentence fits, the one of highest weight is cut. Only the first sentences of a very long text
    are considered, and only the last sentences if there are very many in total.
    """
    weighed = _weigh_sentences(pieces)
    ranked = sorted(weighed, key=lambda sentence: (-sentence.weight, sentence.place))
    chosen = first_fitting(ranked, chars, lambda sentence: sentence.text)
    if not chosen:
        return cut_off(ranked[0].text, chars) if ranked else ""
    return "\n".join(
        sentence.text for sentence in sorted(chosen, key=lambda sentence: sentence.place)
    )


def _weigh_sentences(pieces: Iterable[Utterance]) -> list[_Sentence]:
    lines = [weighed_line for piece in pieces for weighed_line in _lines(piece)][-_MAX_SENTENCES:]
    # A repeated sentence keeps its last position.
    places = {text: (place, weight) for place, (text, weight) in enumerate(lines)}
    return [_Sentence(place, text, weight) for text, (place, weight) in places.items()]


def _lines(piece: Utterance) -> Iterator[tuple[str, float]]:
    beginning = piece.text[:_MAX_CHARS]
    if piece.is_summary:
        for whole in beginning.splitlines():
            if text := whole.strip()[:_MAX_SENTENCE_CHARS]:
                yield text, score(text.partition(": ")[2] or text)
        return
    for sentence in islice(sentences(beginning), _MAX_OF_TEXT):
        text = _SPACE.sub(" ", sentence.text[:_MAX_SENTENCE_CHARS])
        yield line(piece.label, text), score(text)
