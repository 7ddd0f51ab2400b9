"""Choice among the results of a search, and their form for a model (pure)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from app.conversation.recall.logic.passages import RecallHit
from app.conversation.recall.logic.spans import FLOOR, Count, SentenceSpan, choose
from app.platform.sessions.logic.event_text import EventText

_MEMORY = "memory"
"""Origin of a fact; the origin of an event is its speaker."""


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
