"""Summaries without a model: the sentences of highest weight within a limit (pure)."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from app.conversation.strategies.logic.lines import line
from app.language.beginnings import cut_off
from app.language.scoring import score
from app.language.sentences import first_fitting, sentences

MODEL_ID = "builtin:extractive"
"""Model id that such summaries report."""
_MAX_SENTENCES = 4_000
_MAX_OF_TEXT = 400
_MAX_SENTENCE_CHARS = 2_000
_MAX_CHARS = 200_000
"""Length of a text's beginning that is read: an event may have millions of characters."""
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True)
class Utterance:
    """A text with its speaker's label, which a policy may leave empty.

    Attributes:
        is_summary: the text is a previous summary, whose lines are kept without a label.
    """

    label: str
    text: str
    is_summary: bool = False


@dataclass(frozen=True)
class _Sentence:
    place: int
    text: str
    weight: float


def extract(pieces: Iterable[Utterance], chars: int) -> str:
    """Return the sentences of highest weight, in their order, at most `chars` long in all.

    Each sentence is a line with its speaker's label. Of equal sentences the last one is kept. If
    nothing fits, the sentence of highest weight is cut. Only the first sentences of a very long
    text count; of very many sentences, only the last.
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
    # Last position of each sentence, so that repeated ones stand where they came last.
    places = {text: (place, weight) for place, (text, weight) in enumerate(lines)}
    return [_Sentence(place, text, weight) for text, (place, weight) in places.items()]


def _lines(piece: Utterance) -> Iterator[tuple[str, float]]:
    told = piece.text[:_MAX_CHARS]
    if piece.is_summary:
        for whole in told.splitlines():
            if text := whole.strip()[:_MAX_SENTENCE_CHARS]:
                yield text, score(text.partition(": ")[2] or text)
        return
    for sentence in islice(sentences(told), _MAX_OF_TEXT):
        text = _SPACE.sub(" ", sentence.text[:_MAX_SENTENCE_CHARS])
        yield line(piece.label, text), score(text)
