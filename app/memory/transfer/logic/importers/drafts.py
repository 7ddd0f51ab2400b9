"""Results of converters for a source's items (pure)."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Options:
    """Options of an import command that apply to each memory.

    Attributes:
        source: name of the source, such as `mem0`.
        now: start of the import.
        pairs: key-value pairs to add to each scope.
        keys: scope keys to keep; for `langgraph`, the names of the namespace's levels.
        labels: labels of each memory's first revision.
        metadata: metadata to add to each memory.
        sessions: True converts messages as well.
    """

    source: str
    now: datetime
    pairs: Mapping[str, str] = field(default_factory=dict)
    keys: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)
    sessions: bool = False


@dataclass(frozen=True)
class Record:
    """A record in a file.

    Attributes:
        number: line number, or position in a document, from 1.
        value: the JSON value; the raw line if `error` is set.
        heading: the document's other fields that precede the record.
        error: the reason why the line could not be parsed.
    """

    number: int
    value: Any
    heading: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None


@dataclass(frozen=True)
class Draft:
    """An unchecked memory from a source; `rules` checks it and converts it to a line.

    Attributes:
        source_id: id at the source; None: scope and fact identify the memory.
        memory_id: id to keep if it is valid.
        metadata: values of any type, by name.
        moments: additional metadata with times as text.
        ended: True if the source considers the fact outdated.
        fields: additional fields of the line, in the form of the API.
        item: the item to show if the draft is rejected; None: the whole record.
    """

    fact: Any
    scope: Mapping[str, Any]
    source_id: str | None = None
    memory_id: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    moments: Mapping[str, Any] = field(default_factory=dict)
    create_time: Any = None
    update_time: Any = None
    expire_time: Any = None
    ended: bool = False
    fields: Mapping[str, Any] = field(default_factory=dict)
    item: Any = None


@dataclass(frozen=True)
class Lost:
    """Kind and number of values that an import leaves out."""

    kind: str
    count: int = 1


@dataclass(frozen=True)
class Conversation:
    """A session, or a part of it, with its events in order.

    Attributes:
        session_id: id derived from the source's id; all parts of a session have the same id.
        events: the events in the form that `events:batch` accepts.
    """

    session_id: str
    user_id: str
    events: tuple[Json, ...]
    fields: Mapping[str, Any] = field(default_factory=dict)


Made = Draft | Lost | Conversation
Convert = Callable[[Record, Options], Iterator[Made]]


class ItemError(Exception):
    """An item that cannot be imported.

    Attributes:
        reason: a constant such as `FACT_EMPTY`.
        detail: a sentence for the user, without texts from the item.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


def fields_of(value: Any, *needed: str) -> Json:  # noqa: ANN401 - any JSON value
    """Return an item after a check for the fields that its source requires.

    Raises:
        ItemError: the item is not an object, or lacks a field. The detail names its fields.
    """
    if not isinstance(value, dict):
        raise ItemError("ITEM_UNKNOWN", "The item must be a JSON object.")
    missing = [name for name in needed if name not in value]
    if missing:
        has = ", ".join(sorted(value)[:30]) or "none"
        raise ItemError("ITEM_UNKNOWN", f"The item lacks {', '.join(missing)}; it has: {has}.")
    return value


def id_of(value: Any) -> str | None:  # noqa: ANN401 - any JSON value
    """Return an id as text, or None for an empty value, so that no two items share an empty id."""
    return None if value in (None, "", [], {}) else str(value)


def left_out(item: Json, *known: str) -> Iterator[Lost]:
    """Yield a loss for each field with a value that a converter does not know."""
    for name in sorted(item.keys() - set(known)):
        if item[name] not in (None, "", [], {}):
            yield Lost(f"field {name}")
