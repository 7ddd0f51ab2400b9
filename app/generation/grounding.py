"""From a model's reply to candidates: each must rest on words that a user said."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cached_property

from app.engines.config import MAX_FACT_CHARS
from app.generation.chunks import Line
from app.generation.prompts import Guide
from app.generation.replies import ExtractedFact
from app.generation.support import Support
from app.rules.dates import day_in, resolve
from app.rules.facts import Candidate, Topic
from app.rules.lexicon import language, latin
from app.rules.requests import asked_to_forget
from app.rules.statements import is_talk
from app.rules.text import clean, fold
from app.rules.topics import classify

_MIN_QUOTE_CHARS = 2
_THE_USER_S = re.compile(r"\b(?:the|this) user(['\u2019]s)?(?!\w)", re.IGNORECASE)


@dataclass(frozen=True)
class Sources:
    """What users said, by turn; a quote is looked up without case, accents and punctuation."""

    lines: tuple[Line, ...]
    files: frozenset[int] = frozenset()
    """Turns with a file that the model was shown; what it says cannot be quoted."""

    @cached_property
    def _said(self) -> dict[int, str]:
        found: dict[int, str] = {}
        for line in self.lines:
            if line.is_users:
                found[line.turn] = f"{found.get(line.turn, '')} {line.text}"
        return found

    @cached_property
    def _folded(self) -> dict[int, str]:
        return {turn: f" {fold(text)} " for turn, text in self._said.items()}

    @cached_property
    def times(self) -> dict[int, datetime | None]:
        """When each turn was said, where that is known."""
        return {line.turn: line.time for line in self.lines}

    def turn_of(self, quote: str, claimed: int) -> int | None:
        """Return the turn in which a user said the words; the claimed one before others."""
        wanted = fold(quote)
        if len(wanted) < _MIN_QUOTE_CHARS:
            return claimed if claimed in self.files and not wanted else None
        if latin(wanted):  # not a part of a word; other scripts may not part them
            wanted = f" {wanted} "
        turns = sorted(self._folded, key=lambda turn: turn != claimed)
        return next((turn for turn in turns if wanted in self._folded[turn]), None)

    def tell(self, fact: str, quote: str, turn: int, said_on: date) -> bool:
        """Tell whether the fact can come from what was said around the quote.

        That of a file cannot be told.
        """
        return turn in self.files or Support(self.lines, turn, quote, said_on).bears(fact)

    def to_forget(self, thing: str, quote: str, turn: int) -> str | None:
        """Return what the words that a user said in a turn ask to forget, if they do."""
        return asked_to_forget(_in_first_person(thing), quote, self._said.get(turn, ""))


@dataclass
class Grounded:
    """The candidates that rest on something, and how many facts did not."""

    candidates: list[Candidate] = field(default_factory=list)
    unsupported: int = 0
    off_topic: int = 0
    """Also what is talk rather than a fact: questions, greetings, orders to the service."""


def grounded(
    facts: Iterable[ExtractedFact], sources: Sources, guide: Guide, most_chars: int = MAX_FACT_CHARS
) -> Grounded:
    """Return the facts that a user said, under the topics that were asked for."""
    found = Grounded()
    by_label = {topic.label.casefold(): topic for topic in guide.topics}
    for one in facts:
        turn = sources.turn_of(one.quote, one.line)
        fact = clean(one.fact).strip()
        if turn is None or not 0 < len(fact) <= most_chars:
            found.unsupported += 1
        elif one.forget:
            # "Forget everything" names nothing, and "delete all memories" is no one's fact.
            if thing := sources.to_forget(fact, one.quote, turn):
                found.candidates.append(Candidate(thing, (), one.quote, turn, forget=True))
            else:
                found.unsupported += 1
        elif not sources.tell(fact, one.quote, turn, _day(turn, sources, guide)):
            found.unsupported += 1
        elif is_talk(fact, language(fact, "en")):
            found.off_topic += 1
        elif topics := _topics(one.topics, by_label, fact, guide.topics):
            found.candidates.append(
                Candidate(_dated(fact, turn, sources, guide), topics, one.quote, turn)
            )
        else:
            found.off_topic += 1
    return found


def _in_first_person(thing: str) -> str:
    """Return what is to be forgotten as users call it, whom a bank may write of as "the user"."""
    return _THE_USER_S.sub(lambda mark: "my" if mark[1] else "I", thing)


def _topics(
    labels: Sequence[str], by_label: Mapping[str, Topic], fact: str, wanted: Sequence[Topic]
) -> tuple[Topic, ...]:
    """Return the wanted topics that the model names; where it names none, those the words tell."""
    found = (by_label.get(label.casefold()) for label in labels)
    named = tuple(dict.fromkeys(topic for topic in found if topic is not None))
    return named or classify(fact, wanted, tongue=language(fact), explicit=False)


def _dated(fact: str, turn: int, sources: Sources, guide: Guide) -> str:
    """Add the dates of relative expressions that the model has left as they were."""
    return resolve(fact, _day(turn, sources, guide), language(fact))


def _day(turn: int, sources: Sources, guide: Guide) -> date:
    return day_in(guide.time_zone, sources.times.get(turn) or guide.now)
