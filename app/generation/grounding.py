"""From a model's reply to candidates: each must rest on words that a user said."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from pydantic import JsonValue

from app.engines.config import MAX_FACT_CHARS
from app.generation.chunks import Line
from app.generation.profiles import FieldValue, ProfileSchema, validated
from app.generation.prompts import Guide
from app.generation.replies import ExtractedFact, ExtractedField
from app.rules.dates import resolve
from app.rules.facts import Candidate, Topic
from app.rules.lexicon import language, latin
from app.rules.requests import asked_to_forget
from app.rules.statements import is_talk
from app.rules.text import clean, content, fold, numbers
from app.rules.topics import classify
from app.wire.json_values import options_of

_MIN_QUOTE_CHARS = 2
_THE_USER_S = re.compile(r"\b(?:the|this) user(['\u2019]s)?(?!\w)", re.IGNORECASE)
_LETTER = re.compile(r"[^\W\d_]")
_LAST_DAY = 31
_YEARS = range(1900, 2101)


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
    def _all(self) -> str:
        """What was said by anyone: a user's "yes" has its meaning from the question."""
        return " ".join(line.text for line in self.lines)

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

    def tell(self, fact: str, turn: int) -> bool:
        """Tell whether the fact can come from what was said: it has its numbers, and its words.

        That of a file cannot be told.
        """
        if turn in self.files:
            return True
        figures = {_plain_number(one) for one in numbers(self._all)}
        if any(_plain_number(one) not in figures for one in numbers(fact) if not _of_date(one)):
            return False
        if not _LETTER.search(fact):
            return True
        if not latin(fact):
            return 2 * len(set(fold(fact)) & set(fold(self._all))) >= len(set(fold(fact)))
        tongue = language(fact)
        return bool(content(fact, tongue) & content(self._all, tongue))

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
        elif not sources.tell(fact, turn):
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


def grounded_values(
    fields: Iterable[ExtractedField], sources: Sources, schemas: Sequence[ProfileSchema]
) -> list[FieldValue]:
    """Return the values that a user said and that their fields take."""
    known = {one.schema_id: one for one in schemas}
    found = []
    for one in fields:
        # The prompt names a field "profile.field"; that may come back as it is.
        name = one.field.removeprefix(f"{one.profile}.")
        schema, turn = known.get(one.profile), sources.turn_of(one.quote, one.line)
        wanted = schema.field(name) if schema is not None else None
        if schema is None or turn is None or wanted is None:
            continue
        value = validated(schema, name, one.value)
        is_said = value is not None and _is_said(value, wanted.json_schema, turn, sources)
        if one.clear or is_said:
            found.append(FieldValue(one.profile, name, value, one.clear, one.quote, turn))
    return found


def _is_said(value: JsonValue, schema: JsonValue, turn: int, sources: Sources) -> bool:
    """Tell whether a value can come from what was said; options and yes or no cannot be told."""
    known = schema if isinstance(schema, dict) else {}
    match value:
        case bool() | None:
            return True
        case str() if value in options_of(known):
            return True
        case list():
            return all(_is_said(one, known.get("items"), turn, sources) for one in value)
        case dict():
            return all(_is_said(one, None, turn, sources) for one in value.values())
        case _:
            return sources.tell(str(value), turn)


def _in_first_person(thing: str) -> str:
    """Return what is to be forgotten as users call it, whom a bank may write of as "the user"."""
    return _THE_USER_S.sub(lambda mark: "my" if mark[1] else "I", thing)


def _plain_number(number: str) -> str:
    return number.replace(",", "").lstrip("0") or "0"


def _of_date(number: str) -> bool:
    """Tell whether a number may be that of a date or a time, which facts spell out."""
    is_time = ":" in number
    return is_time or (number.isdigit() and (int(number) <= _LAST_DAY or int(number) in _YEARS))


def _topics(
    labels: Sequence[str], by_label: Mapping[str, Topic], fact: str, wanted: Sequence[Topic]
) -> tuple[Topic, ...]:
    """Return the wanted topics that the model names; where it names none, those the words tell."""
    found = (by_label.get(label.casefold()) for label in labels)
    named = tuple(dict.fromkeys(topic for topic in found if topic is not None))
    return named or classify(fact, wanted, tongue=language(fact), explicit=False)


def _dated(fact: str, turn: int, sources: Sources, guide: Guide) -> str:
    """Add the dates of relative expressions that the model has left as they were."""
    said_on = (sources.times.get(turn) or guide.now).astimezone(guide.time_zone).date()
    return resolve(fact, said_on, language(fact))
