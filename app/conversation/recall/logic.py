"""Search in the events of a user's sessions for sentences that share words with a query (pure).

The score of a sentence depends on its own words and on the words of the question before it.
Adjacent sentences add a little. So "It is 4711." can match a query by the words of the question
that it answers. Questions rarely answer a query, so they score less.

Sessions are read by creation time, newest first, and so are the events of each session. Every event
from before the search is read exactly once, even if the iteration is interrupted and resumed.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from heapq import nsmallest

from app.kernel.text import fold
from app.language.bm25 import Bm25, count_holding
from app.language.lexicon import word_set
from app.language.sentences import longest_fitting, short_sentences
from app.language.terms import OTHERS, Terms, together
from app.platform.sessions.logic.event_text import EventRange, EventText, Speaker

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
    """Query terms in the preceding text that an event may answer; `is_asked`: it is a question."""

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

    def span(self) -> "SentenceSpan":
        """Return the sentence alone."""
        return self._from_to(self.place, self.place)

    def span_with_leaning(self) -> "SentenceSpan":
        """Return the sentence with the adjacent sentences that it depends on."""
        sentences, text = self.event.sentences, self.event.said.text
        first = last = self.place
        while first > 0 and sentences[first].leans and self.place - first < _MAX_LEANING:
            first -= 1
        while last + 1 < len(sentences) and last - self.place < _MAX_LEANING:
            announces = text[: sentences[last].end].endswith(":")
            if not announces and not sentences[last + 1].leans:
                break
            last += 1
        return self._from_to(first, last)

    def _from_to(self, first: int, last: int) -> "SentenceSpan":
        said, sentences = self.event.said, self.event.sentences
        start, end = sentences[first].start, sentences[last].end
        return SentenceSpan(said, start, end, said.text[start:end], self.score)


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

        Events answer only questions of their own session. Slow for long texts.
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


FLOOR = 0.25
"""Minimum score of a passage as a share of the best score; lower ones are unlikely answers."""
_MAX_LEANING = 2

Count = Callable[[str], int]
_MEMORY = "memory"
"""Origin of a fact; the origin of an event is its speaker."""


@dataclass(frozen=True)
class SentenceSpan:
    """A passage of an event; with `is_cut`, the end of its sentence is missing."""

    said: EventText
    start: int
    end: int
    text: str
    score: float
    is_cut: bool = False


@dataclass(frozen=True)
class RecallFact:
    """A memory that matches a query; `name` is its full name, `changed` the time of last change."""

    name: str
    text: str
    changed: datetime
    distance: float | None = None


Source = EventText | RecallFact
"""The event or memory that supports an answer."""


@dataclass(frozen=True)
class NumberedPassage:
    """A line for a model: its number, the origin that precedes the text, and the text."""

    number: int
    origin: str
    text: str
    source: Source


@dataclass(frozen=True)
class Findings:
    """Facts and sentences that match a query, each best first.

    `is_one_session`: all sentences belong to one session, where event numbers are unique.
    """

    hits: Sequence[RecallHit] = ()
    facts: Sequence[RecallFact] = ()
    is_one_session: bool = False

    def __bool__(self) -> bool:
        return bool(self.hits or self.facts)

    def chosen(
        self, top_k: int, max_tokens: int, count: Count, floor: float = FLOOR
    ) -> tuple[list[RecallFact], list[SentenceSpan]]:
        """Return up to `top_k` facts and as many passages, with at most `max_tokens` in total.

        Facts and passages may each take half of the tokens, plus any tokens left by the others.
        Facts are never cut. `choose` explains `floor` and when a passage is cut.
        """
        if not self.facts:
            return [], choose(self.hits, top_k, max_tokens, count, floor)
        in_half = choose(self.hits, top_k, max_tokens // 2, count, floor)
        left = max_tokens - sum(count(span.text) for span in in_half)
        facts = _fitting(self.facts[:top_k], left, count)
        left = max_tokens - sum(count(fact.text) for fact in facts)
        return facts, choose(self.hits, top_k, left, count, floor)

    def in_order(self, spans: Iterable[SentenceSpan]) -> list[SentenceSpan]:
        """Return passages in chronological order; within one session, by event number."""
        return sorted(spans, key=_place if self.is_one_session else _moment)

    def numbered(
        self, facts: Iterable[RecallFact], spans: Iterable[SentenceSpan]
    ) -> list[NumberedPassage]:
        """Return facts and passages in chronological order, since later ones correct earlier ones.

        Within one session each line has the number of its event; otherwise its number from 1 and
        date.
        """
        ordered = self.in_order(spans)
        if self.is_one_session:
            return [
                NumberedPassage(span.said.seq, span.said.speaker.value, span.text, span.said)
                for span in ordered
            ]
        dated: list[tuple[datetime, str, str, Source]] = [
            (fact.changed, _MEMORY, fact.text, fact) for fact in facts
        ]
        dated += [
            (span.said.timestamp, span.said.speaker.value, span.text, span.said) for span in ordered
        ]
        dated.sort(key=lambda line: line[0])
        return [
            NumberedPassage(number, f"{_day(moment)} {who}", text, source)
            for number, (moment, who, text, source) in enumerate(dated, start=1)
        ]


def _fitting(facts: Iterable[RecallFact], most: int, count: Count) -> list[RecallFact]:
    kept = []
    for fact in facts:
        tokens = count(fact.text)
        if tokens <= most:
            most -= tokens
            kept.append(fact)
    return kept


def _place(span: SentenceSpan) -> tuple[int, int]:
    return span.said.seq, span.start


def _moment(span: SentenceSpan) -> tuple[datetime, str, int, int]:
    return span.said.timestamp, span.said.session_id, *_place(span)


def _day(moment: datetime) -> str:
    return moment.astimezone(UTC).date().isoformat()


def choose(
    ranked: Sequence[RecallHit], top_k: int, max_tokens: int, count: Count, floor: float = FLOOR
) -> list[SentenceSpan]:
    """Return up to `top_k` passages, best first, with at most `max_tokens` tokens in total.

    Passages that score below `floor` times the best score are left out. A passage includes the
    adjacent sentences that its sentence depends on, if they fit. If not even the best sentence
    fits, its beginning is the only passage.
    """
    chosen: list[SentenceSpan] = []
    texts: set[str] = set()
    left = max_tokens
    for candidate in ranked:
        if len(chosen) == top_k or left <= 0 or candidate.score < ranked[0].score * floor:
            break
        span = _span_within(candidate, left, count, is_first=not chosen)
        if span is None or fold(span.text) in texts or any(_overlap(span, of) for of in chosen):
            continue
        chosen.append(span)
        texts.add(fold(span.text))
        left -= count(span.text)
        if span.is_cut:
            break
    return chosen


def _span_within(
    candidate: RecallHit, most: int, count: Count, *, is_first: bool
) -> SentenceSpan | None:
    spans = [candidate.span_with_leaning(), candidate.span()]
    for span in spans:
        if count(span.text) <= most:
            return span
    if not is_first:
        return None
    whole = spans[-1]
    text = beginning(whole.text, lambda kept: count(kept) <= most)
    end = whole.start + len(text)
    return replace(whole, end=end, text=text, is_cut=True) if text else None


def beginning(text: str, fits: Callable[[str], bool]) -> str:
    """Return the longest prefix that fits, in whole words if possible; it may be empty."""
    low = longest_fitting(len(text), lambda n: fits(text[:n]))
    kept = text[:low]
    if low < len(text) and not text[low].isspace():
        whole, space, _ = kept.rpartition(" ")
        kept = whole if space else kept
    return kept.rstrip()


def _overlap(span: SentenceSpan, other: SentenceSpan) -> bool:
    is_same = (span.said.session_id, span.said.seq) == (other.said.session_id, other.said.seq)
    return is_same and span.start < other.end and other.start < span.end


@dataclass(frozen=True)
class SessionPlace:
    """A position: the session's events up to `seq` are next, followed by all older sessions."""

    create_time: datetime
    session_id: str
    seq: int


@dataclass(frozen=True)
class SessionStretch(EventRange):
    """Events of a session to read, with the time when the session was created."""

    create_time: datetime

    @property
    def place(self) -> SessionPlace:
        """Position of the first event to read, which is the newest."""
        return SessionPlace(self.create_time, self.session_id, self.last_seq)


@dataclass
class SessionWalk:
    """Queue of event ranges to read, in order, up to the last session listed so far (`end`)."""

    end: SessionPlace | None = None
    is_all: bool = False
    _waiting: list[SessionStretch] = field(default_factory=list)

    @property
    def place(self) -> SessionPlace | None:
        """Position at which to resume; None at the start and at the end."""
        if self._waiting:
            return self._waiting[0].place
        return None if self.is_all else self.end

    @property
    def is_over(self) -> bool:
        """True if all events have been taken."""
        return self.is_all and not self._waiting

    @property
    def needs_more(self) -> bool:
        """True if more sessions must be listed before events can be taken."""
        return not self.is_all and not self._waiting

    def extend(self, stretches: Sequence[SessionStretch], *, is_all: bool) -> None:
        """Add the sessions from `end` on; of the session of `end` only the events up to it."""
        for stretch in stretches:
            last_seq = stretch.last_seq
            if self.end is not None and stretch.session_id == self.end.session_id:
                last_seq = min(last_seq, self.end.seq)
            if last_seq >= stretch.first_seq:
                self._waiting.append(replace(stretch, last_seq=last_seq))
        if stretches:
            last = stretches[-1]
            self.end = SessionPlace(last.create_time, last.session_id, 0)
        self.is_all = is_all

    def take(self, most: int) -> list[SessionStretch]:
        """Remove and return the next ranges, with at most `most` events; a long range is split."""
        taken: list[SessionStretch] = []
        while self._waiting and most > 0:
            next_one = self._waiting.pop(0)
            first = max(next_one.first_seq, next_one.last_seq - most + 1)
            taken.append(replace(next_one, first_seq=first))
            most -= next_one.last_seq - first + 1
            if first > next_one.first_seq:
                self._waiting.insert(0, replace(next_one, last_seq=first - 1))
        return taken

    def put_back(self, taken: Iterable[SessionStretch], session_id: str, last_read: int) -> None:
        """Put back the ranges taken but not read: all that follow event `last_read`."""
        rest: list[SessionStretch] = []
        is_after = False
        for stretch in taken:
            if is_after:
                rest.append(stretch)
            elif stretch.session_id == session_id:
                is_after = True
                if last_read > stretch.first_seq:
                    rest.append(replace(stretch, last_seq=last_read - 1))
        self._waiting[:0] = rest
