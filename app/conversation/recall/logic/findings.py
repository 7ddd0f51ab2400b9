"""Choice among all that a search found, and its form for a model (pure)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from app.conversation.recall.logic.passages import RecallHit
from app.conversation.recall.logic.spans import FLOOR, Count, SentenceSpan, choose
from app.platform.sessions.logic.event_text import EventText

_MEMORY = "memory"
"""Origin of a fact, where an event has its speaker."""


@dataclass(frozen=True)
class RecallFact:
    """A memory that matches a query; `name` is its full name, `changed` its last change."""

    name: str
    text: str
    changed: datetime
    distance: float | None = None


Source = EventText | RecallFact
"""The event or memory that an answer rests on."""


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
        is_one_session: whether all sentences are of one session; their events have its numbers.
    """

    hits: Sequence[RecallHit] = ()
    facts: Sequence[RecallFact] = ()
    is_one_session: bool = False

    def __bool__(self) -> bool:
        return bool(self.hits or self.facts)

    def chosen(
        self, top_k: int, max_tokens: int, count: Count, floor: float = FLOOR
    ) -> tuple[list[RecallFact], list[SentenceSpan]]:
        """Return up to `top_k` facts and as many passages, with at most `max_tokens` in all.

        Facts and passages each take up to half of the tokens, and what the others leave. Facts are
        not cut; for `floor` and the beginning of a passage see `choose`.
        """
        if not self.facts:
            return [], choose(self.hits, top_k, max_tokens, count, floor)
        in_half = choose(self.hits, top_k, max_tokens // 2, count, floor)
        left = max_tokens - sum(count(span.text) for span in in_half)
        facts = _fitting(self.facts[:top_k], left, count)
        left = max_tokens - sum(count(fact.text) for fact in facts)
        return facts, choose(self.hits, top_k, left, count, floor)

    def in_order(self, spans: Iterable[SentenceSpan]) -> list[SentenceSpan]:
        """Return passages in the order of time; those of one session in its own order."""
        return sorted(spans, key=_place if self.is_one_session else _moment)

    def numbered(
        self, facts: Iterable[RecallFact], spans: Iterable[SentenceSpan]
    ) -> list[NumberedPassage]:
        """Return facts and passages in the order of time, in which later ones correct earlier ones.

        In one session the numbers are those of its events; else they count the lines, and each line
        has its day.
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
    """Return the facts that still fit; one that is too long does not exclude the others."""
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
