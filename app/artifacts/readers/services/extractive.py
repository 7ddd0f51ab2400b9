"""The built-in reader, which answers and summarises with sentences of the text (pure).

It is slow for long texts, so call it in a thread.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from app.artifacts.readers.logic import ShownChunk, text_page
from app.artifacts.readers.schemas import Citation
from app.artifacts.tasks.logic import EXTRACTIVE
from app.language.bm25 import Bm25
from app.language.lexicon import language
from app.language.scoring import score
from app.language.sentences import cut_off, first_fitting, short_sentences
from app.language.terms import Terms, together
from app.language.text import content
from app.language.tokens import CHARS_PER_TOKEN

MODEL_ID = EXTRACTIVE
"""Reader name in responses."""
MAX_CHUNKS = 1_000
"""Maximum number of chunks read for a summary; if there are more, evenly spaced ones are read."""
_NEAR, _LED, _QUESTION = 0.2, 0.5, 0.2
"""Weights of words in adjacent sentences, of words in a question or heading directly before,
and of a sentence that is itself a question.
"""
_FLOOR, _LEAST_SCORE = 0.3, 1e-9
"""Minimum score of a sentence, as a share of the best score and as an absolute value."""
_MAX_SENTENCES = 12
_HEADING_CHARS = 80
_SPACE = re.compile(r"\s+")
_WRAPPED = re.compile(r"(?<=[^\W\d_])\n(?=[^\W\d_A-Z])(?!\w[\w .-]{0,40}:)|(?<=,)\n(?=[^\W_])")
"""A line end inside a sentence, but not before a field name, as in records.

It is replaced with one space, which keeps offsets unchanged.
"""
_LEAST_WORDS = 4
_FIRST, _WORTH = 0.3, 0.05
"""Weights of being the first sentence of a text, and of exact facts in a sentence."""
_MAX_LOOKED_AT = 20_000
_SAMPLE_CHARS = 2_000


@dataclass(frozen=True)
class Made:
    """Result of the built-in reader: sentences of the texts, with their positions as citations."""

    text: str
    citations: Sequence[Citation]


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence; `number` is its position among all sentences, `bits` its query terms."""

    number: int
    at: ShownChunk
    start: int
    text: str
    bits: int = 0
    length: int = 0

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def asks(self) -> bool:
        return self.text.endswith(("?", "\uff1f", "\u061f"))

    @property
    def leads(self) -> bool:
        """True if the next sentence may refer to this one: it is a question or a heading."""
        return self.asks or (len(self.text) <= _HEADING_CHARS and self.text[-1].isalnum())

    @property
    def shown(self) -> str:
        return _SPACE.sub(" ", self.text)


def answer(query: str, shown: Sequence[ShownChunk], max_tokens: int) -> Made:
    """Return the sentences that share the rarest words with a query, in text order, if any."""
    terms = Terms(query)
    sentence_list = [
        _Sentence(number, at, start, text, *terms.read(text))
        for number, (at, start, text) in enumerate(_sentences(shown))
    ]
    read = [(sentence.bits, sentence.length) for sentence in sentence_list]
    bm25 = Bm25.of_texts(read, len(terms))
    scores = [_answer_score(bm25, sentence_list, sentence) for sentence in sentence_list]
    least = max(max(scores, default=0.0) * _FLOOR, _LEAST_SCORE)
    ranked = sorted(
        (sentence for sentence in sentence_list if scores[sentence.number] >= least),
        key=lambda sentence: (-scores[sentence.number], sentence.number),
    )
    return _choose_sentences(ranked[:_MAX_SENTENCES], max_tokens)


def summary(shown: Sequence[ShownChunk], max_tokens: int) -> Made:
    """Return the sentences with the most frequent content words, in text order."""
    sampled = _sample_sentences(shown)
    tongue = language(" ".join(sampled[n].text[:80] for n in spaced(len(sampled), 25)))
    stems = {
        sentence.number: content(sentence.text[:_SAMPLE_CHARS], tongue) for sentence in sampled
    }
    common = Counter(stem for words in stems.values() for stem in words)
    firsts = _firsts(sampled)
    weights = {
        sentence.number: _information_score(sentence, stems[sentence.number], common)
        + _FIRST * (sentence.number in firsts)
        for sentence in sampled
    }
    ranked = sorted(sampled, key=lambda sentence: (-weights[sentence.number], sentence.number))
    return _choose_sentences(ranked, max_tokens)


def spaced(total: int, most: int = MAX_CHUNKS) -> range | list[int]:
    """Return the indexes of the chunks to summarise: all, or evenly spaced ones."""
    return range(total) if total <= most else [n * total // most for n in range(most)]


def _sample_sentences(shown: Sequence[ShownChunk]) -> list[_Sentence]:
    """Return all sentences, or `_MAX_LOOKED_AT` evenly spaced ones if there are more.

    Sentences are counted before any are kept, since a text may have a hundred times as many.
    """
    total = sum(1 for _ in _sentences(shown))
    wanted = frozenset(spaced(total, _MAX_LOOKED_AT))
    return [
        _Sentence(number, at, start, text)
        for number, (at, start, text) in enumerate(_sentences(shown))
        if number in wanted
    ]


def _answer_score(bm25: Bm25, all_sentences: Sequence[_Sentence], sentence: _Sentence) -> float:
    around = all_sentences[max(sentence.number - 1, 0) : sentence.number + 2]
    neighbours = [other for other in around if other.at.ordinal == sentence.at.ordinal]
    led = together(
        other.bits for other in neighbours if other.number < sentence.number and other.leads
    )
    if not sentence.bits | led:
        return 0.0
    near = together(other.bits for other in neighbours)
    score = bm25.score_in_context(
        sentence.bits, led, near, sentence.length, led_share=_LED, near_share=_NEAR
    )
    return score * (_QUESTION if sentence.asks else 1)


def _information_score(sentence: _Sentence, stems: frozenset[str], common: Counter[str]) -> float:
    if len(stems) < _LEAST_WORDS:
        return 0.0
    said = sum(math.log1p(common[stem] - 1) for stem in stems)
    worth = min(max(score(sentence.text), 0.0), 4.0)
    return said / (len(stems) + _LEAST_WORDS) + _WORTH * worth


def _firsts(sampled: Iterable[_Sentence]) -> frozenset[int]:
    numbers: dict[int, int] = {}
    for sentence in sampled:
        numbers.setdefault(sentence.at.ordinal, sentence.number)
    return frozenset(numbers.values())


def _choose_sentences(ranked: Sequence[_Sentence], max_tokens: int) -> Made:
    chars = max_tokens * CHARS_PER_TOKEN
    chosen = first_fitting(ranked, chars, lambda sentence: sentence.shown)
    if not chosen and ranked:
        return Made(cut_off(ranked[0].shown, chars), _citations(ranked[:1]))
    inorder = sorted(chosen, key=lambda sentence: sentence.number)
    return Made(_joined(inorder), _citations(inorder))


def _joined(inorder: Sequence[_Sentence]) -> str:
    text = ""
    for before, sentence in zip([None, *inorder], inorder, strict=False):
        follows = before is not None and before.number + 1 == sentence.number
        text += ("" if before is None else " " if follows else "\n") + sentence.shown
    return text


def _citations(sentences: Iterable[_Sentence]) -> list[Citation]:
    return [citation_of(sentence.at, sentence.start, sentence.end) for sentence in sentences]


def citation_of(passage: ShownChunk, start: int, end: int) -> Citation:
    """Return the citation of a part of a passage; its page is right unless it is in a PDF."""
    return Citation(
        artifact=passage.artifact,
        chunk=passage.chunk,
        start=start,
        end=end,
        page=text_page(start),
    )


def _sentences(shown: Iterable[ShownChunk]) -> Iterator[tuple[ShownChunk, int, str]]:
    """Yield each sentence with its passage and start offset; split very long sentences.

    A sentence that continues on the next line or in the next chunk of its text stays whole.
    """
    for joined in _adjoining(shown):
        base = joined[0].start
        text = _WRAPPED.sub(" ", "".join(passage.text for passage in joined))
        place = 0
        for begin, sentence in short_sentences(text):
            start = base + begin
            while place + 1 < len(joined) and start >= joined[place].end:
                place += 1
            yield joined[place], start, sentence


def _adjoining(shown: Iterable[ShownChunk]) -> Iterator[list[ShownChunk]]:
    held: list[ShownChunk] = []
    for passage in shown:
        if held and (held[-1].ordinal != passage.ordinal or held[-1].end != passage.start):
            yield held
            held = []
        held.append(passage)
    if held:
        yield held
