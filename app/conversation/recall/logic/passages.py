"""Search for sentences that may answer a query because they share words with it (pure).

The score of a sentence depends on its own words and on the words of the question before it.
Adjacent sentences add a little. So "It is 4711." can match a query by the words of the question
that it answers. Questions rarely answer a query, so they score less. The rarity of a word is
determined over all events that are read.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest

from app.kernel.text import fold
from app.language.bm25 import Bm25, count_holding
from app.language.lexicon import word_set
from app.language.sentences import short_sentences
from app.language.terms import OTHERS, Terms, together
from app.platform.sessions.logic.event_text import EventText, Speaker

MAX_CHARS = 200_000
"""Characters read from the beginning of a text, since an event may have millions."""
MAX_SENTENCES = 100_000
"""Maximum number of candidate sentences, since each takes some memory."""
MAX_FOUND = 500
"""Maximum number of sentences returned."""
_MAX_HELD_CHARS = 200_000
"""Maximum text held back while the question before it is unread; beyond this it is too far away."""
_ASKED, _BEFORE, _NEAR = 0.7, 0.2, 0.2
"""Weights of words in a preceding question, in other preceding text, or in adjacent sentences."""
_LATER = 0.5
_QUESTION = 0.3
_ENDS_ASKING = re.compile(r"[?\uff1f\u061f][^\w?\uff1f\u061f]*\Z")
_ENDS_STATING = re.compile(r"[.!\u3002\uff01][^\w]*\Z")
_CALL = "[call "
_HEAD_CHARS = 80
_LEANING = OTHERS | word_set(
    "this that these those there das dies diese dort esto eso ello cela ca"
)
"""Words that begin a sentence and refer to the sentence before."""
_ASKING = word_set(
    """
    what which who whom whose where when why how was welche welcher welches wer wem wen wo wann
    warum wieso wie que cual quien donde cuando como quel quelle qui quand pourquoi comment
    """
)
"""Words that begin questions; a statement may begin with one but ends like a statement."""
_REQUESTING = word_set(
    """
    please tell give show remind explain list name bitte sag sage gib zeig zeige nenne erklare dime
    dame muestrame recuerdame dis donne montre rappelle
    """
)


@dataclass(frozen=True, slots=True)
class PassageSentence:
    """A sentence or part of a long one; `matched` is a bit set of the query's terms."""

    start: int
    end: int
    matched: int
    length: int
    leans: bool
    is_question: bool


@dataclass(frozen=True)
class _Before:
    """Query terms in the preceding text that an event may answer.

    The text is a user's message or an agent's questions.

    Attributes:
        is_asked: whether it contains a question or a request.
    """

    matched: int = 0
    is_asked: bool = False


@dataclass(frozen=True)
class Event:
    """An event with candidate sentences."""

    said: EventText
    sentences: Sequence[PassageSentence]
    before: _Before


@dataclass(frozen=True, slots=True)
class RecallHit:
    """A candidate sentence; `place` is its index in the event."""

    event: Event
    place: int
    score: float


@dataclass
class PassageReader:
    """Collector of candidates from the events of sessions, each read newest page first."""

    terms: Terms
    sentences: int = 0
    _matched: list[int] = field(default_factory=list)
    _events: list[Event] = field(default_factory=list)
    _held: list[EventText] = field(default_factory=list)

    def add(self, page: Sequence[EventText]) -> None:
        """Add events of a session in ascending order, older than its events added before.

        The first event of another session ends the previous session, since events answer only
        questions of their own session. Slow for long texts.
        """
        if self._held and page and self._held[0].session_id != page[0].session_id:
            self._end_session()
        waiting = [*page, *self._held]
        # Events up to the first user message may answer something on the next older page.
        users = (n for n, event in enumerate(waiting) if event.speaker is Speaker.USER)
        known = next(users, len(waiting)) + 1
        if known > len(waiting) and sum(len(event.text) for event in waiting) > _MAX_HELD_CHARS:
            known = 0
        self._held = waiting[:known]
        if known < len(waiting):
            self._read(waiting, known)

    def best(self) -> list[RecallHit]:
        """Return the best candidates in order; of equal ones the later comes first. Call once."""
        self._end_session()
        return nsmallest(MAX_FOUND, self._scored(), key=_order)

    def _end_session(self) -> None:
        self._read(self._held, 0)
        self._held = []

    def _read(self, events: Sequence[EventText], since: int) -> None:
        """Store the events from index `since` on; earlier events only provide questions."""
        by_user = by_agent = _Before()
        for place, said in enumerate(events):
            text = said.text[:MAX_CHARS]
            matched, _ = self.terms.read(text)
            is_users = said.speaker is Speaker.USER
            before = by_agent if is_users else by_user
            cut = self._cut(text) if matched or before.matched else []
            if place >= since:
                self._keep(Event(said, cut, before), matched)
            questions = [sentence.matched for sentence in cut if sentence.is_question]
            if is_users:
                by_user, by_agent = _Before(matched, is_asked=bool(questions)), _Before()
            elif said.speaker is Speaker.AGENT:
                by_agent = _Before(together(questions), is_asked=True)

    def _keep(self, event: Event, matched: int) -> None:
        self._matched.append(matched)
        if event.sentences:
            self.sentences += len(event.sentences)
            self._events.append(event)

    def _cut(self, text: str) -> list[PassageSentence]:
        cut = []
        for start, shown in short_sentences(text):
            matched, length = self.terms.read(shown)
            first = fold(shown[:_HEAD_CHARS]).partition(" ")[0]
            is_question = _is_question(shown, first)
            end = start + len(shown)
            cut.append(PassageSentence(start, end, matched, length, first in _LEANING, is_question))
        return cut

    def _scored(self) -> Iterator[RecallHit]:
        words = sum(sentence.length for event in self._events for sentence in event.sentences)
        holding = count_holding(self._matched, len(self.terms))
        bm25 = Bm25(len(self._matched), holding, words / max(self.sentences, 1))
        for event in self._events:
            for place, sentence in enumerate(event.sentences):
                if sentence.matched or event.before.matched:
                    yield RecallHit(event, place, _score(bm25, event, place))


def _order(hit: RecallHit) -> tuple[float, float, str, int, int]:
    said = hit.event.said
    return -hit.score, -said.timestamp.timestamp(), said.session_id, -said.seq, hit.place


def _score(bm25: Bm25, event: Event, place: int) -> float:
    sentence = event.sentences[place]
    beside = event.sentences[max(place - 1, 0) : place + 2]
    # "It is 4711." refers to the preceding text even if that was not a question.
    weight = _ASKED if event.before.is_asked or (sentence.leans and not place) else _BEFORE
    score = bm25.score_in_context(
        sentence.matched,
        event.before.matched,
        together(other.matched for other in beside),
        sentence.length,
        led_share=weight * (_LATER if place else 1),
        near_share=_NEAR,
    )
    return score * (_QUESTION if sentence.is_question else 1)


def _is_question(text: str, first: str) -> bool:
    """Return True if a sentence asks for something; a tool call counts as asking."""
    if _ENDS_ASKING.search(text) or text.startswith(_CALL):
        return True
    return first in _REQUESTING or (first in _ASKING and not _ENDS_STATING.search(text))
