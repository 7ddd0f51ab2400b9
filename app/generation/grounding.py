"""From a model's reply to candidates: each must rest on words that a user said."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from app.engines.config import MAX_FACT_CHARS
from app.generation.chunks import Line
from app.generation.profiles import FieldValue, ProfileSchema, validated
from app.generation.prompts import Guide
from app.generation.replies import ExtractedFact, ExtractedField
from app.rules.dates import resolve
from app.rules.facts import Candidate, Topic
from app.rules.forgetting import names_something
from app.rules.lexicon import language
from app.rules.text import clean, content, fold
from app.rules.topics import classify

_MIN_QUOTE_CHARS = 2


@dataclass(frozen=True)
class Sources:
    """What users said, by turn; a quote is looked up without case, accents and punctuation."""

    lines: tuple[Line, ...]
    files: frozenset[int] = frozenset()
    """Turns with a file that the model was shown; what it says cannot be quoted."""

    @cached_property
    def _folded(self) -> dict[int, str]:
        found: dict[int, str] = {}
        for line in self.lines:
            if line.is_users:
                found[line.turn] = f"{found.get(line.turn, '')} {fold(line.text)}"
        return found

    @cached_property
    def times(self) -> dict[int, datetime | None]:
        """When each turn was said, where that is known."""
        return {line.turn: line.time for line in self.lines}

    def turn_of(self, quote: str, claimed: int) -> int | None:
        """Return the turn in which a user said the words; the claimed one before others."""
        wanted = fold(quote)
        if len(wanted) < _MIN_QUOTE_CHARS:
            return claimed if claimed in self.files and not wanted else None
        turns = sorted(self._folded, key=lambda turn: turn != claimed)
        return next((turn for turn in turns if wanted in self._folded[turn]), None)

    def name(self, thing: str) -> bool:
        """Tell whether users have said every word with content of `thing`."""
        return content(thing) <= content(" ".join(self._folded.values()), language(thing))


@dataclass
class Grounded:
    """The candidates that rest on something, and how many facts did not."""

    candidates: list[Candidate] = field(default_factory=list)
    unsupported: int = 0
    off_topic: int = 0


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
            if names_something(fact) and (names_something(one.quote) or sources.name(fact)):
                found.candidates.append(Candidate(fact, (), one.quote, turn, forget=True))
            else:
                found.unsupported += 1
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
        if schema is None or turn is None or schema.field(name) is None:
            continue
        value = validated(schema, name, one.value)
        if one.clear or value is not None:
            found.append(FieldValue(one.profile, name, value, one.clear, one.quote, turn))
    return found


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
