"""Finds which sentences of a session may answer a query, by the words that they share (pure).

A sentence counts by its own words, by those of what was asked before it, and a little by those of
the sentences beside it: "It is 4711." answers a question that has the words. Questions rarely
answer one, so they count less. How rare a word is, the events of the session tell.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest

from app.kernel.text import fold
from app.language.bm25 import Bm25
from app.language.lexicon import word_set
from app.language.sentences import sentences
from app.language.terms import Terms, together
from app.language.wording import OTHERS
from app.platform.sessions.logic.spoken import Said, Speaker

MAX_CHARS = 200_000
"""The beginning of a text that is looked at: an event may have some millions of characters."""
MAX_SENTENCES = 100_000
"""So many are enough to choose from; each takes some memory."""
MAX_FOUND = 500
"""The best, which are looked at."""
_MAX_HELD_CHARS = 200_000
"""Of events whose question is not read yet; with more, it is too far away to matter."""
_ASKED, _BEFORE, _NEAR = 0.7, 0.2, 0.2
"""What words count that are asked before, or said before, or beside; in later sentences less."""
_LATER = 0.5
_QUESTION = 0.3
_LONG_CHARS = 400
_PIECE = re.compile(r"\S(?:.{0,298}\S)?(?=\s|\Z)|\S{300}", re.DOTALL)
_ENDS_ASKING = re.compile(r"[?\uff1f\u061f][^\w?\uff1f\u061f]*\Z")
_ENDS_STATING = re.compile(r"[.!\u3002\uff01][^\w]*\Z")
_CALL = "[call "
_HEAD_CHARS = 80
_LEANING = OTHERS | word_set(
    "this that these those there das dies diese dort esto eso ello cela ca"
)
"""Words for what the sentence before names, which sentences begin with."""
_ASKING = word_set(
    """
    what which who whom whose where when why how was welche welcher welches wer wem wen wo wann
    warum wieso wie que cual quien donde cuando como quel quelle qui quand pourquoi comment
    """
)
"""Words that questions begin with; so do some statements, which end as such."""
_REQUESTING = word_set(
    """
    please tell give show remind explain list name bitte sag sage gib zeig zeige nenne erklare dime
    dame muestrame recuerdame dis donne montre rappelle
    """
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence or a piece of a long one; `matched` and so on are bits of the query's terms."""

    start: int
    end: int
    matched: int
    length: int
    leans: bool
    is_question: bool


@dataclass(frozen=True)
class _Before:
    """The terms of what an event may be the answer to: a user's words, or an agent's questions.

    Attributes:
        is_asked: whether there is a question or a request among these.
    """

    matched: int = 0
    is_asked: bool = False


@dataclass(frozen=True)
class Event:
    """An event of which sentences may answer."""

    said: Said
    sentences: Sequence[Sentence]
    before: _Before


@dataclass(frozen=True, slots=True)
class Found:
    """A sentence that may answer; which one of its event `place` says."""

    event: Event
    place: int
    score: float


@dataclass
class Reader:
    """Reads the events of a session, the newest page first, and keeps what may answer."""

    terms: Terms
    size: int = 0
    sentences: int = 0
    _holding: list[int] = field(default_factory=list)
    _events: list[Event] = field(default_factory=list)
    _held: list[Said] = field(default_factory=list)

    def add(self, page: Sequence[Said]) -> None:
        """Read events, ascending, that are all older than those before. Takes long."""
        waiting = [*page, *self._held]
        # Those up to the user's first may answer what is on the page before.
        users = (n for n, one in enumerate(waiting) if one.speaker is Speaker.USER)
        known = next(users, len(waiting)) + 1
        if known > len(waiting) and sum(len(one.text) for one in waiting) > _MAX_HELD_CHARS:
            known = 0
        self._held = waiting[:known]
        if known < len(waiting):
            self._read(waiting, known)

    def best(self) -> list[Found]:
        """Return the best sentences that may answer, in order; later ones before equals. Once."""
        self._read(self._held, 0)
        self._held = []
        return nsmallest(
            MAX_FOUND,
            self._scored(),
            key=lambda one: (-one.score, -one.event.said.seq, one.place),
        )

    def _read(self, events: Sequence[Said], since: int) -> None:
        """Keep those of the events from a place on; the ones before tell what was asked."""
        by_user = by_agent = _Before()
        for place, said in enumerate(events):
            text = said.text[:MAX_CHARS]
            matched, _ = self.terms.read(text)
            is_users = said.speaker is Speaker.USER
            before = by_agent if is_users else by_user
            cut = self._cut(text) if matched or before.matched else []
            if place >= since:
                self._keep(Event(said, cut, before), matched)
            questions = [one.matched for one in cut if one.is_question]
            if is_users:
                by_user, by_agent = _Before(matched, is_asked=bool(questions)), _Before()
            elif said.speaker is Speaker.AGENT:
                by_agent = _Before(together(questions), is_asked=True)

    def _keep(self, event: Event, matched: int) -> None:
        self.size += 1
        self._holding = self._holding or [0] * len(self.terms)
        for number in range(len(self.terms)):
            self._holding[number] += matched >> number & 1
        if event.sentences:
            self.sentences += len(event.sentences)
            self._events.append(event)

    def _cut(self, text: str) -> list[Sentence]:
        found = []
        for start, end in _pieces(text):
            shown = text[start:end]
            matched, length = self.terms.read(shown)
            first = fold(shown[:_HEAD_CHARS]).partition(" ")[0]
            is_question = _is_question(shown, first)
            found.append(Sentence(start, end, matched, length, first in _LEANING, is_question))
        return found

    def _scored(self) -> Iterator[Found]:
        words = sum(one.length for event in self._events for one in event.sentences)
        bm25 = Bm25(self.size, self._holding, words / max(self.sentences, 1))
        for event in self._events:
            for place, one in enumerate(event.sentences):
                if one.matched or event.before.matched:
                    yield Found(event, place, _score(bm25, event, place))


def _score(bm25: Bm25, event: Event, place: int) -> float:
    one = event.sentences[place]
    beside = event.sentences[max(place - 1, 0) : place + 2]
    asked = event.before.matched & ~one.matched
    # "It is 4711." speaks of what was said before, whether that was a question or not.
    weight = _ASKED if event.before.is_asked or (one.leans and not place) else _BEFORE
    near = together(other.matched for other in beside) & ~(one.matched | asked)
    score = (
        bm25.score(one.matched, one.length)
        + weight * (_LATER if place else 1) * bm25.score(asked, one.length)
        + _NEAR * bm25.score(near, one.length)
    )
    return score * (_QUESTION if one.is_question else 1)


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Yield where sentences begin and end; long ones in pieces."""
    for sentence in sentences(text):
        if len(sentence.text) <= _LONG_CHARS:
            yield sentence.start, sentence.start + len(sentence.text)
            continue
        for piece in _PIECE.finditer(sentence.text):
            yield sentence.start + piece.start(), sentence.start + piece.end()


def _is_question(text: str, first: str) -> bool:
    """Say whether a sentence asks for something, or is a call of a tool, which asks as well."""
    if _ENDS_ASKING.search(text) or text.startswith(_CALL):
        return True
    return first in _REQUESTING or (first in _ASKING and not _ENDS_STATING.search(text))
