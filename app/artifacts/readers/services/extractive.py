"""The reader that needs no model: it answers and summarises with sentences of the text (pure).

Takes long for much text: belongs into a thread.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from app.artifacts.readers.logic.packing import Shown
from app.artifacts.readers.schemas import Citation
from app.artifacts.tasks.logic.allowing import EXTRACTIVE
from app.language.beginnings import cut_off
from app.language.bm25 import Bm25
from app.language.chunking import CHARS_PER_TOKEN
from app.language.lexicon import language
from app.language.scoring import score
from app.language.sentences import sentences
from app.language.terms import Terms, together
from app.language.text import content

MODEL_ID = EXTRACTIVE
"""What answers name as what has made them."""
MAX_CHUNKS = 1_000
"""Pieces that a summary is made of: of more, those that are evenly spaced."""
_NEAR, _LED, _QUESTION = 0.2, 0.5, 0.2
"""What counts of the words beside a sentence, of those of a question or heading right before it,
and of a sentence that asks."""
_FLOOR, _LEAST_SCORE = 0.3, 1e-9
"""Sentences with less of the best score than this are hardly answers."""
_MAX_SENTENCES = 12
_LONG_CHARS, _HEADING_CHARS = 400, 80
_PIECE = re.compile(r"\S(?:.{0,298}\S)?(?=\s|\Z)|\S{300}", re.DOTALL)
_SPACE = re.compile(r"\s+")
_WRAPPED = re.compile(r"(?<=[^\W\d_])\n(?=[^\W\d_A-Z])(?!\w[\w .-]{0,40}:)|(?<=,)\n(?=[^\W_])")
"""The end of a line in the middle of a sentence: after a word or comma, before a small letter,
unless that names what follows, as in records. As one blank, so that nothing is elsewhere."""
_LEAST_WORDS = 4
_FIRST, _WORTH = 0.3, 0.05
"""What it counts that a sentence is the first of its text, and that it says something exact."""
_MAX_LOOKED_AT = 20_000
_SAMPLE_CHARS = 2_000


@dataclass(frozen=True)
class Made:
    """What the built-in reader has made: sentences of the texts, and where they are."""

    text: str
    citations: Sequence[Citation]


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence; `number` is its place among all, `bits` the terms of the query it has."""

    number: int
    at: Shown
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
        """Whether what follows may be about this: it is a question, or a heading."""
        return self.asks or (len(self.text) <= _HEADING_CHARS and self.text[-1].isalnum())

    @property
    def shown(self) -> str:
        return _SPACE.sub(" ", self.text)


def answer(query: str, shown: Sequence[Shown], max_tokens: int) -> Made:
    """Return the sentences that share the rarest words with a query, in the order of the texts.

    There are none if no sentence has any of its words.
    """
    terms = Terms(query)
    found = [
        _Sentence(number, at, start, text, *terms.read(text))
        for number, (at, start, text) in enumerate(_sentences(shown))
    ]
    holding = [sum(one.bits >> n & 1 for one in found) for n in range(len(terms))]
    average = sum(one.length for one in found) / max(len(found), 1)
    bm25 = Bm25(len(found), holding, average)
    scores = [_answers(bm25, found, one) for one in found]
    least = max(max(scores, default=0.0) * _FLOOR, _LEAST_SCORE)
    ranked = sorted(
        (one for one in found if scores[one.number] >= least),
        key=lambda one: (-scores[one.number], one.number),
    )
    return _made(ranked[:_MAX_SENTENCES], max_tokens)


def summary(shown: Sequence[Shown], max_tokens: int) -> Made:
    """Return the sentences that say most of what the texts say, in their order."""
    found = _spread(shown, _MAX_LOOKED_AT)
    tongue = language(" ".join(found[n].text[:80] for n in spaced(len(found), 25)))
    stems = {one.number: content(one.text[:_SAMPLE_CHARS], tongue) for one in found}
    common = Counter(stem for words in stems.values() for stem in words)
    firsts = _firsts(found)
    weights = {
        one.number: _tells(one, stems[one.number], common) + _FIRST * (one.number in firsts)
        for one in found
    }
    ranked = sorted(found, key=lambda one: (-weights[one.number], one.number))
    return _made(ranked, max_tokens)


def spaced(total: int, most: int = MAX_CHUNKS) -> range | list[int]:
    """Return which of so many pieces a summary is made of: all, or evenly spaced ones."""
    return range(total) if total <= most else [n * total // most for n in range(most)]


def _spread(shown: Sequence[Shown], most: int) -> list[_Sentence]:
    """Return all sentences, or evenly spaced ones; no more are held than that.

    They are counted first: a text may have a hundred times as many.
    """
    total = sum(1 for _ in _sentences(shown))
    wanted = frozenset(spaced(total, most))
    return [
        _Sentence(number, at, start, text)
        for number, (at, start, text) in enumerate(_sentences(shown))
        if number in wanted
    ]


def _answers(bm25: Bm25, found: Sequence[_Sentence], one: _Sentence) -> float:
    around = found[max(one.number - 1, 0) : one.number + 2]
    beside = [other for other in around if other.at.ordinal == one.at.ordinal]
    led = together(other.bits for other in beside if other.number < one.number and other.leads)
    if not one.bits | led:
        return 0.0
    led &= ~one.bits
    near = together(other.bits for other in beside) & ~(one.bits | led)
    score = (
        bm25.score(one.bits, one.length)
        + _LED * bm25.score(led, one.length)
        + _NEAR * bm25.score(near, one.length)
    )
    return score * (_QUESTION if one.asks else 1)


def _tells(one: _Sentence, stems: frozenset[str], common: Counter[str]) -> float:
    """Return how much of what is said often a sentence says, for its length."""
    if len(stems) < _LEAST_WORDS:
        return 0.0
    said = sum(math.log1p(common[stem] - 1) for stem in stems)
    worth = min(max(score(one.text), 0.0), 4.0)
    return said / (len(stems) + _LEAST_WORDS) + _WORTH * worth


def _firsts(found: Iterable[_Sentence]) -> frozenset[int]:
    """Return the numbers of the first sentences of texts."""
    numbers: dict[int, int] = {}
    for one in found:
        numbers.setdefault(one.at.ordinal, one.number)
    return frozenset(numbers.values())


def _made(ranked: Sequence[_Sentence], max_tokens: int) -> Made:
    """Choose the best that fit, each text once; if none does, the best is cut off."""
    left = max_tokens * CHARS_PER_TOKEN + 1
    chosen: dict[str, _Sentence] = {}
    for one in ranked:
        # With what stands before it.
        cost = len(one.shown) + 1
        if cost <= left and one.shown not in chosen:
            chosen[one.shown] = one
            left -= cost
    if not chosen and ranked:
        text = cut_off(ranked[0].shown, max_tokens * CHARS_PER_TOKEN)
        return Made(text, [_citation(ranked[0])])
    inorder = sorted(chosen.values(), key=lambda one: one.number)
    return Made(_joined(inorder), [_citation(one) for one in inorder])


def _joined(inorder: Sequence[_Sentence]) -> str:
    text = ""
    for before, one in zip([None, *inorder], inorder, strict=False):
        follows = before is not None and before.number + 1 == one.number
        text += ("" if before is None else " " if follows else "\n") + one.shown
    return text


def _citation(one: _Sentence) -> Citation:
    return Citation(artifact=one.at.artifact, chunk=one.at.chunk, start=one.start, end=one.end)


def _sentences(shown: Iterable[Shown]) -> Iterator[tuple[Shown, int, str]]:
    """Yield each sentence, where it begins, and what it is shown in; long ones in pieces.

    One that goes on in the next line, or in the next piece of its text, is read as a whole.
    """
    for joined in _adjoining(shown):
        base = joined[0].start
        text = _WRAPPED.sub(" ", "".join(one.text for one in joined))
        place = 0
        for begin, found in _cut(text):
            start = base + begin
            while place + 1 < len(joined) and start >= joined[place].end:
                place += 1
            yield joined[place], start, found


def _adjoining(shown: Iterable[Shown]) -> Iterator[list[Shown]]:
    """Yield what is shown, together what follows right on."""
    held: list[Shown] = []
    for one in shown:
        if held and (held[-1].ordinal != one.ordinal or held[-1].end != one.start):
            yield held
            held = []
        held.append(one)
    if held:
        yield held


def _cut(text: str) -> Iterator[tuple[int, str]]:
    for one in sentences(text):
        if len(one.text) <= _LONG_CHARS:
            yield one.start, one.text
            continue
        for piece in _PIECE.finditer(one.text):
            yield one.start + piece.start(), piece.group()
