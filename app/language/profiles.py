"""Profile fields filled by the built-in rules, with verbatim values.

The field's name must identify one of the kinds in `FILLED`, and a person must state the value about
themselves in plain words. A model fills the other fields, but the rules clear any field on request.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from app.kernel.text import clean, fold
from app.language.extraction import USER_ROLES
from app.language.facts import MAX_FACT, Turn
from app.language.forgetting import names_something
from app.language.lexicon import language
from app.language.phrases import any_case
from app.language.profile_readings import (
    ASKED,
    FILLED,
    PLACES,
    ProfileReading,
    kind_of,
    readings,
)
from app.language.requests import RequestedFact
from app.language.sentences import own_words, sentences
from app.language.statements import statements
from app.language.text import straight

_MINE = any_case(
    r"^(?:(?:about|of|that|everything about|von|sobre|de|sur)\s+)?"
    r"(?:my|our|mein\w*|unser\w*|mis?|mon|ma|mes)\s+(?P<thing>[^,.;!?]+)"
)
_QUOTED = re.compile(r"[\"“„«][^\"“”«»]*(?:[\"“”»]|$)")


@dataclass(frozen=True)
class WantedField:
    """A profile field, with the properties that the rules use.

    Attributes:
        type: "string", "integer" and so on; empty if several types are allowed.
        options: the allowed texts; empty if any text is allowed.
    """

    schema_id: str
    name: str
    title: str = ""
    type: str = ""
    options: tuple[str, ...] = ()

    @property
    def kinds(self) -> set[str]:
        """The kinds identified by its name and its title."""
        return {kind_of(name) for name in (self.name, self.title) if name}


@dataclass(frozen=True)
class Filled:
    """A value for a field, verbatim from a user's words.

    Attributes:
        value: a text, or the items of a list field. With `clear`, the value that no longer holds,
            or None for any value of the field.
    """

    schema_id: str
    field: str
    value: str | tuple[str, ...] | None
    source: str
    turn: int
    clear: bool = False


def fill(turns: Sequence[Turn], fields: Sequence[WantedField]) -> list[Filled]:
    """Return the values that users state for the fields, in the order of the conversation."""
    return [filled for said in filling(turns, fields) for filled in said]


def filling(turns: Sequence[Turn], fields: Sequence[WantedField]) -> Iterator[list[Filled]]:
    """Yield the values of `fill` for each statement."""
    tongue = ""
    may_fill = {(field.schema_id, field.name) for field in fields if field.kinds & FILLED}
    for position, turn in enumerate(turns):
        if turn.role.strip().lower() not in USER_ROLES:
            continue
        tongue = language(turn.text, tongue)
        for source, said in stated(turn, tongue):
            values = (_cleared if said.forget else _stated)(said, fields, source)
            yield [
                replace(value, turn=position)
                for value in values
                if value.clear or (value.schema_id, value.field) in may_fill
            ]


def stated(turn: Turn, tongue: str = "") -> Iterator[tuple[str, RequestedFact]]:
    """Yield the statements of a turn, each with its sentence."""
    for sentence in sentences(own_words(turn.text)):
        source = turn.text[sentence.start : sentence.start + len(sentence.text)]
        if sentence.quoted or len(source) > MAX_FACT:
            continue
        for said in statements(clean(sentence.text), language(sentence.text, tongue)):
            yield source, said


def _stated(said: RequestedFact, fields: Sequence[WantedField], source: str) -> Iterator[Filled]:
    for reading in readings(unquoted(said.text)):
        as_said = replace(reading, value=_verbatim(reading.value, source))
        for field in fields:
            value = _value_for(field, as_said)
            if value is not None:
                yield Filled(field.schema_id, field.name, value, source, 0, clear=reading.gone)


def unquoted(text: str) -> str:
    """Return the text without quotations, which are other people's words."""
    return _QUOTED.sub(" ", text)


def _verbatim(value: str | tuple[str, ...], source: str) -> str | tuple[str, ...]:
    if not isinstance(value, str) or value in source:
        return value
    small = value[:1].lower() + value[1:]
    return small if small in source else value


def _value_for(field: WantedField, reading: ProfileReading) -> str | tuple[str, ...] | None:
    if reading.kind not in field.kinds or field.type in {"object", "boolean"}:
        return None
    if isinstance(reading.value, tuple):
        return _list_for(field, reading.value)
    value = _option(field, reading.value) if field.options else reading.value
    if value is None:
        return None
    return (value,) if field.type == "array" else value


def _list_for(field: WantedField, items: tuple[str, ...]) -> str | tuple[str, ...] | None:
    if field.type == "array":
        return items
    return items[0] if len(items) == 1 and field.type == "string" else None


def _option(field: WantedField, value: str) -> str | None:
    """Return the only option that equals the value or is a word in it."""
    said = f" {fold(value)} "
    matching = [option for option in field.options if fold(option) and f" {fold(option)} " in said]
    return matching[0] if len(matching) == 1 else None


def _cleared(said: RequestedFact, fields: Sequence[WantedField], source: str) -> Iterator[Filled]:
    if not names_something(said.text):
        return
    for filled in _stated(said, fields, source):
        yield replace(filled, clear=True)
    asked = _requested_kinds(straight(said.text).strip())
    for field in fields:
        if asked & field.kinds:
            yield Filled(field.schema_id, field.name, None, source, 0, clear=True)


def _requested_kinds(text: str) -> set[str]:
    kind = ASKED.get(fold(text))
    mine = _MINE.fullmatch(text.rstrip(" .!"))
    if kind is None and mine is not None:
        kind = kind_of(mine["thing"])
    if kind is None:
        return set()
    return {kind, *PLACES} if kind == "residence" else {kind}
