"""Choice among the results of a search, and their form for a model (pure)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from app.conversation.recall.logic.passages import RecallHit
from app.kernel.text import fold
from app.language.sentences import longest_fitting
from app.platform.sessions.logic.event_text import EventText

FLOOR = 0.25
"""Minimum score of a passage as a share of the best score; lower ones are unlikely answers."""
_MAX_LEANING = 2

Count = Callable[[str], int]
_MEMORY = "memory"
"""Origin of a fact; the origin of an event is its speaker."""


@dataclass(frozen=True)
class SentenceSpan:
    """A passage of an event; `text` is the event's text from `start` to `end`.

    Attributes:
        is_cut: whether the end of its sentence is missing.
    """

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

    Attributes:
        is_one_session: whether all sentences belong to one session, where event numbers are unique.
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

        Within one session each line has the number of its event. Otherwise lines are numbered from
        1, and each line has its date.
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
    """Return the facts that fit; a fact that is too long does not exclude later ones."""
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
    adjacent sentences that its sentence depends on, if they fit. Overlapping and repeated passages
    are skipped. If not even the best sentence fits, its beginning is the only passage.
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
    spans = [
        _span(candidate, *_with_leaning(candidate)),
        _span(candidate, candidate.place, candidate.place),
    ]
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


def _with_leaning(candidate: RecallHit) -> tuple[int, int]:
    """Return the indexes of the first and last sentence of a passage."""
    sentences, text = candidate.event.sentences, candidate.event.said.text
    first = last = candidate.place
    while first > 0 and sentences[first].leans and candidate.place - first < _MAX_LEANING:
        first -= 1
    while last + 1 < len(sentences) and last - candidate.place < _MAX_LEANING:
        announces = text[: sentences[last].end].endswith(":")
        if not announces and not sentences[last + 1].leans:
            break
        last += 1
    return first, last


def _span(candidate: RecallHit, first: int, last: int) -> SentenceSpan:
    said, sentences = candidate.event.said, candidate.event.sentences
    start, end = sentences[first].start, sentences[last].end
    return SentenceSpan(said, start, end, said.text[start:end], candidate.score)


def _overlap(span: SentenceSpan, other: SentenceSpan) -> bool:
    is_same = (span.said.session_id, span.said.seq) == (other.said.session_id, other.said.seq)
    return is_same and span.start < other.end and other.start < span.end
