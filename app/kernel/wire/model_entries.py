"""Lists of entries in a model's reply, read one by one: an unreadable entry affects no other."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, Self, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PrivateAttr,
    StringConstraints,
    ValidationError,
)
from typing_extensions import override

from app.kernel.errors import BadGateway, Reason
from app.kernel.text import UNSTORABLE

_MAX_ENTRIES = 2_000
"""Maximum number of entries read from one list; further entries are lost, and counted."""
_MAX_DEPTH = 5
"""Maximum depth of wrappers searched for a structure."""
_MAX_DIGITS = 9
_TRUE, _FALSE = frozenset({"true", "yes", "y", "1"}), frozenset({"false", "no", "n", "0", ""})


def _text(said: object) -> object:
    """Convert a number to text, and remove characters that the database cannot store."""
    if isinstance(said, int | float) and not isinstance(said, bool):
        said = str(said)
    return UNSTORABLE.sub("", said) if isinstance(said, str) else said


def _joined(said: object) -> object:
    if isinstance(said, list) and all(isinstance(one, str) for one in said):
        return " ... ".join(said)
    return said


def _written(said: object) -> object:
    return json.dumps(said, ensure_ascii=False) if isinstance(said, dict | list | bool) else said


def _number(said: object) -> object:
    """Return the number in a text or in a list of one text: "4", "line 4", "4 U"."""
    if isinstance(said, list) and said:
        said = said[0]
    if isinstance(said, str):
        digits = "".join(sign if sign.isdecimal() else " " for sign in said).split()
        return int(digits[0]) if digits and len(digits[0]) <= _MAX_DIGITS else None
    return said


def _texts(said: object) -> object:
    """Return a list of texts for a comma-separated text, or for objects with a name."""
    if isinstance(said, str):
        said = said.strip("[] ").replace(";", ",").replace("\n", ",").split(",")
    if isinstance(said, list):
        named = [next(iter(item.values()), "") if isinstance(item, dict) else item for item in said]
        plain = [UNSTORABLE.sub("", item).strip(" \"'") for item in named if isinstance(item, str)]
        return [name for name in plain if name]
    return said


def said_flag(said: object) -> object:
    """Convert a word such as "yes" to a truth value."""
    word = said.strip().casefold() if isinstance(said, str) else ""
    return word in _TRUE if isinstance(said, str) and word in _TRUE | _FALSE else said


MendedText = Annotated[str, BeforeValidator(_text)]
MendedQuote = Annotated[MendedText, BeforeValidator(_joined)]
MendedJson = Annotated[MendedText, BeforeValidator(_written)]
MendedNumber = Annotated[int, BeforeValidator(_number)]
MendedTexts = Annotated[list[str], BeforeValidator(_texts)]
MendedFlag = Annotated[bool, BeforeValidator(said_flag)]


class ModelEntry(BaseModel):
    """One entry of a list."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @property
    def subject(self) -> object:
        """The identity of the entry; of several objects with the same identity, the last counts."""
        return self.model_dump_json()


_Types = Mapping[str, type[ModelEntry]]
"""The types of entries, by the names of their lists."""


@dataclass(frozen=True)
class EntryTally:
    """Numbers of entries of one list, by the result of reading.

    `unreadable` includes the incomplete entry at the end of a truncated reply.
    """

    sound: int = 0
    mended: int = 0
    unreadable: int = 0

    def __add__(self, other: "EntryTally") -> "EntryTally":
        return EntryTally(
            self.sound + other.sound,
            self.mended + other.mended,
            self.unreadable + other.unreadable,
        )


@dataclass(frozen=True)
class FoundValue:
    """A JSON value in a reply; `number` is the position of the enclosing object.

    `is_cut` is True if the reply ends inside the value.
    """

    value: Any
    is_mended: bool = False
    is_cut: bool = False
    number: int = 0


class EntriesReply(BaseModel):
    """A structure of lists of entries, whatever wraps it, in one object or in several."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    _tallies: dict[str, EntryTally] = PrivateAttr(default_factory=dict)
    _lost: list[Mapping[str, Any]] = PrivateAttr(default_factory=list)
    _cut: str = PrivateAttr("")

    @property
    def tallies(self) -> Mapping[str, EntryTally]:
        """The numbers of entries read and lost, by the name of their list."""
        return self._tallies

    @property
    def lost(self) -> Sequence[Mapping[str, Any]]:
        """The unreadable entries; an empty mapping for an entry that is not an object."""
        return self._lost

    @property
    def cut(self) -> str:
        """The error message for a truncated reply; "" if the reply was complete."""
        return self._cut

    @property
    def is_usable(self) -> bool:
        """True if an entry was read, or the reply has no entries at all and no fault."""
        read = sum(tally.sound + tally.mended for tally in self._tallies.values())
        return read > 0 or not (self._lost or self._cut)

    def require_usable(self) -> None:
        """Refuse a reply that was truncated before its first entry ended.

        Raises:
            BadGateway: no entry was readable; the message quotes nothing of the reply.
        """
        if not self.is_usable:
            raise BadGateway(self._cut, Reason.MODEL_OUTPUT_INVALID)

    def mark_cut(self, words: str) -> None:
        """Record that the reply was truncated; its last, incomplete entry is lost."""
        if not self._cut:
            self.count(next(iter(type(self).model_fields)), EntryTally(unreadable=1), [{}])
        self._cut = words

    def count(self, name: str, tally: EntryTally, lost: Sequence[Mapping[str, Any]]) -> None:
        """Add the numbers of a list, and its unreadable entries."""
        self._tallies[name] = self._tallies.get(name, EntryTally()) + tally
        self._lost.extend(lost)

    @classmethod
    def of_values(cls, found: Sequence[FoundValue]) -> Self | None:
        """Return the structure of all values together; None if no value is a part of it."""
        types = _entry_types(cls)
        raw: dict[str, list[FoundValue]] = {}
        for number, item in enumerate(found):
            for name, entries in _lists_in(item.value, types):
                raw.setdefault(name, []).extend(
                    FoundValue(entry, item.is_mended, number=number) for entry in entries
                )
        if not raw:
            return None
        reading = {
            name: _ListReading(kind, raw.get(name, ())).read() for name, kind in types.items()
        }
        lists = {name: done.entries for name, done in reading.items()}
        reply = cls.model_validate(lists)
        for name, done in reading.items():
            reply.count(name, done.tally, done.lost)
        return reply


def _entry_types(reply: type[EntriesReply]) -> _Types:
    return {name: get_args(field.annotation)[0] for name, field in reply.model_fields.items()}


class _ListReading:
    def __init__(self, kind: type[ModelEntry], raw: Sequence[FoundValue]) -> None:
        self._kind, self._raw = kind, raw
        self.entries: list[ModelEntry] = []
        self.lost: list[Mapping[str, Any]] = []
        self.tally = EntryTally()

    def read(self) -> Self:
        kept: dict[int, ModelEntry] = {}
        about: dict[object, tuple[int, list[int]]] = {}
        for at, item in enumerate(self._raw[:_MAX_ENTRIES]):
            said = decoded(item.value)
            value = with_plain_names(said) if isinstance(said, dict) else {}
            entry = _entry(self._kind, value)
            if entry is None:
                self.lost.append(value)
                continue
            number, places = about.get(entry.subject, (item.number, []))
            if number != item.number:
                # Repeated in a later object: a repetition or a correction.
                for place in places:
                    del kept[place]
                places = []
            about[entry.subject] = (item.number, places)
            places.append(at)
            kept[at] = entry
            mended = item.is_mended or _is_mended(entry, value)
            self.tally += EntryTally(mended=1) if mended else EntryTally(sound=1)
        self.lost += [{}] * len(self._raw[_MAX_ENTRIES:])
        self.tally += EntryTally(unreadable=len(self.lost))
        self.entries = list(kept.values())
        return self


def _entry(kind: type[ModelEntry], value: Mapping[str, Any]) -> ModelEntry | None:
    with suppress(ValidationError):
        # Null stands for an omitted field; unknown fields are ignored.
        filled = {name: part for name, part in value.items() if part is not None}
        return kind.model_validate(filled, extra="ignore")
    return None


def _is_mended(entry: ModelEntry, value: Mapping[str, Any]) -> bool:
    read = entry.model_dump()
    return any(name in read and said != read[name] for name, said in value.items())


def decoded(value: object) -> object:
    """Decode a text that holds a JSON object or list; return any other value unchanged."""
    if isinstance(value, str) and value.lstrip()[:1] in {"{", "["}:
        with suppress(ValueError, RecursionError):
            return json.loads(value, strict=False)
    return value


def with_plain_names(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object with lower-case field names, as in the schemas."""
    return {name.strip().lower(): part for name, part in value.items()}


def _lists_in(
    value: object, types: _Types, depth: int = 0
) -> Iterator[tuple[str, Sequence[object]]]:
    value = decoded(value)
    if value == [] and not depth:
        yield next(iter(types)), []
    if isinstance(value, dict):
        value = with_plain_names(value)
    own = _lists_of(value, types)
    yield from own
    parts = list(value.values()) if isinstance(value, dict) else value
    if not own and isinstance(parts, list) and depth < _MAX_DEPTH:
        for part in parts:
            if isinstance(part, dict | list | str):
                yield from _lists_in(part, types, depth + 1)


def _lists_of(value: object, types: _Types) -> list[tuple[str, Sequence[object]]]:
    if isinstance(value, list):
        kinds = {name for one in value for name in _kinds_of(one, types)}
        return [(name, value) for name in kinds] if len(kinds) == 1 else []
    if not isinstance(value, dict):
        return []
    own = [(name, _entries(value[name], kind)) for name, kind in types.items() if name in value]
    lists = [(name, entries) for name, entries in own if entries is not None]
    return lists or [(name, [value]) for name in _kinds_of(value, types)]


def _entries(value: object, kind: type[ModelEntry]) -> Sequence[object] | None:
    # Null stands for an empty list.
    value = [] if value is None else decoded(value)
    if isinstance(value, list):
        return value
    return [value] if isinstance(value, dict) and _kinds_of(value, {"": kind}) else None


def _kinds_of(value: object, types: _Types) -> list[str]:
    # An entry has its first field, with a value.
    if not isinstance(value, dict):
        return []
    value = with_plain_names(value)
    if not types.keys().isdisjoint(value):
        return []
    names = [name for name, kind in types.items() if _has_first(value, kind)]
    return names[:1]


def _has_first(value: Mapping[str, Any], kind: type[ModelEntry]) -> bool:
    # In a schema, the field has an object instead of a value.
    return isinstance(value.get(next(iter(kind.model_fields))), str | int)


def _storable(said: object) -> object:
    """Remove unstorable characters; pydantic then refuses an empty text."""
    return UNSTORABLE.sub("", said) if isinstance(said, str) else said


ModelText = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1),
    BeforeValidator(_storable),
]
"""A text from a model: not blank, without characters that the database cannot store."""


class TextReply(BaseModel):
    """A structure around one text; a model may also answer with the text alone."""

    @classmethod
    def of_prose(cls, text: str) -> Self:
        """Return the structure around a text."""
        raise NotImplementedError


class SummaryReply(TextReply):
    """A structure around one summary."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    summary: ModelText

    @classmethod
    @override
    def of_prose(cls, text: str) -> Self:
        return cls(summary=text)
