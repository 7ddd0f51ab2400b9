"""The values that converters make of a source's items (pure)."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Options:
    """The options of a command that concern each memory.

    Attributes:
        source: name of the source, such as `mem0`.
        now: time at which the import began.
        pairs: pairs that each scope gets.
        keys: scope keys to keep, or for `langgraph` the names of a namespace's places.
        labels: labels of each memory's first revision.
        metadata: values that each memory gets.
        sessions: true to convert messages as well.
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
    """A value of a file.

    Attributes:
        number: its line, or its place in a document, from 1.
        value: the JSON value; None if `error` has the reason that there is none.
        heading: other fields of the document, so far as they stood before it.
    """

    number: int
    value: Any
    heading: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None


@dataclass(frozen=True)
class Draft:
    """A memory in a source's words; `rules` checks it and makes a line of it.

    Attributes:
        source_id: id at its source; None: its scope and fact identify it.
        memory_id: id to keep where it is a legal one.
        metadata: values of any type, by name.
        moments: further metadata whose texts are times.
        ended: true if the source holds the fact for outdated.
        fields: further fields of the line, as the API takes them.
        item: what a list of rejected items shows; None: the whole record.
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
    """Something that an import leaves out, by its kind."""

    kind: str
    count: int = 1


@dataclass(frozen=True)
class Conversation:
    """A session, and its events in order.

    Attributes:
        session_id: its id, made from the source's.
        events: as `events:batch` takes them; a further part of a session has the same id.
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
        reason: such as `FACT_EMPTY`.
        detail: a sentence for a person, without the item's texts.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


def fields_of(value: Any, *needed: str) -> Json:  # noqa: ANN401 - any JSON value
    """Return an item that has the fields that its source's items have.

    Raises:
        ItemError: it is no object, or lacks a field; the detail names the fields that it has.
    """
    if not isinstance(value, dict):
        raise ItemError("ITEM_UNKNOWN", "The item must be a JSON object.")
    missing = [name for name in needed if name not in value]
    if missing:
        has = ", ".join(sorted(value)[:30]) or "none"
        raise ItemError("ITEM_UNKNOWN", f"The item lacks {', '.join(missing)}; it has: {has}.")
    return value


def id_of(value: Any) -> str | None:  # noqa: ANN401 - any JSON value
    """Return an id as a text; None for none, so that items without ids are not taken for one."""
    return None if value in (None, "", [], {}) else str(value)


def left_out(item: Json, *known: str) -> Iterator[Lost]:
    """Yield a loss for each field with a value that a converter does not know."""
    for name in sorted(item.keys() - set(known)):
        if item[name] not in (None, "", [], {}):
            yield Lost(f"field {name}")
