"""Changes to memories, as callers pass them to the ledger."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from app.kernel.names import EngineName, MemoryName
from app.kernel.wire.scalars import format_timestamp
from app.memory.memories.logic.provenance import named_in
from app.memory.memories.store.tables import MemoryRow
from app.memory.memories.store.vectors import Vector
from app.platform.operations.logic.states import type_url


class Action(StrEnum):
    """The kind of change that a revision records."""

    CREATED = "CREATED"
    UPDATED = "UPDATED"
    DELETED = "DELETED"
    ROLLED_BACK = "ROLLED_BACK"
    UNDELETED = "UNDELETED"
    REDACTED = "REDACTED"
    """Sensitive values were masked, also in earlier revisions."""


class Hold(StrEnum):
    """The effect of a change on `held_time`, the time at which a person last set the content."""

    KEEP = "KEEP"
    """This change does not set the content."""
    SET = "SET"
    """A person set the content: an update, a rollback, an undeletion or an undo."""
    CLEAR = "CLEAR"
    """The content rests on the `event_time` in the change's metadata."""
    SAID = "SAID"
    """The content rests on a statement with the change's `event_time`."""


@dataclass(frozen=True)
class ChangeContext:
    """Context that all changes of one request share."""

    engine: EngineName
    """Stored full name."""
    now: datetime
    operation_id: str
    caller: str | None
    """Id of the key that requested the operation; None for the service itself."""
    model_id: str
    """Model that serves the engine."""
    recovery: timedelta
    revision_expire_time: datetime
    labels: Mapping[str, str] = field(default_factory=dict)
    keeps_revisions: bool = True
    language: str | None = None
    """Text-search configuration of the facts; None detects it from each fact."""
    author: str | None = None
    """Engine or model that wrote the facts, if any."""
    prompt_version: str | None = None
    """Version of the model's prompts."""
    adopts_model: bool = False
    """True if no model serves the engine yet; then this one serves from the first vector on."""


@dataclass(frozen=True)
class Times:
    """The times of a memory in its original store."""

    create_time: datetime
    update_time: datetime


@dataclass(frozen=True)
class Creation:
    """A new memory; `content` has values of `columns.CONTENT_FIELDS`, and a missing one is empty.

    A fact without a `vector` is embedded later, as is one with a vector of a model that no longer
    serves the engine. Without `times`, the memory is as old as its revision.
    """

    memory_id: str | None
    scope: Mapping[str, str]
    memory_type: str
    content: Mapping[str, Any]
    expire_time: datetime | None
    vector: Vector | None
    extracted: Sequence[Mapping[str, Any]] = ()
    times: Times | None = None


@dataclass(frozen=True)
class Change:
    """New content for a memory as it was read: an update, or with `restores` a rollback.

    `content` has a value for each of `columns.CONTENT_FIELDS`. An undeletion uses the content of
    its row, unless an import restores the memory. `vector` may be None if the fact stays unchanged.
    Without `times`, the memory is updated now. Its times never go back, even if another process
    with a faster clock changed it before.
    """

    row: MemoryRow
    content: Mapping[str, Any]
    expire_time: datetime | None
    vector: Vector | None
    restores: int | None = None
    extracted: Sequence[Mapping[str, Any]] = ()
    is_redaction: bool = False
    is_undeletion: bool = False
    times: Times | None = None
    hold: Hold = Hold.KEEP

    @property
    def action(self) -> Action:
        """The kind of the change."""
        if self.is_redaction:
            return Action.REDACTED
        if self.is_undeletion:
            return Action.UNDELETED
        return Action.UPDATED if self.restores is None else Action.ROLLED_BACK


@dataclass(frozen=True)
class Deletion:
    """The deletion of a live memory as it was read; it can be recovered for a while.

    `said_at` is the time of the statement that ends it; None for a deletion by hand, now.
    """

    row: MemoryRow
    extracted: Sequence[Mapping[str, Any]] = ()
    said_at: datetime | None = None


@dataclass(frozen=True)
class Written:
    """A memory after a change, and the id of its revision, or None if none was kept."""

    row: MemoryRow
    revision_id: int | None


def moment_of(row: MemoryRow, now: datetime) -> datetime:
    """Return the time of a change to a memory that was read: now, but not before the last one."""
    return max(now, row.update_time)


def held_time(wanted: Change, moment: datetime) -> datetime | None:
    """Return the time at which a person last set the content, after a change at `moment`."""
    if wanted.hold is Hold.KEEP:
        return wanted.row.held_time
    if wanted.hold is Hold.CLEAR:
        return None
    if wanted.hold is Hold.SAID:
        # A time in the metadata is kept as `event_time`; a later statement is newer.
        is_named = "event_time" in named_in(wanted.content["user_metadata"])
        said: datetime = wanted.content["event_time"]
        return said if is_named else None
    return moment if wanted.times is None else wanted.times.update_time


def time_said(content: Mapping[str, Any]) -> datetime | None:
    """Return the time at which content was stated; a time in its metadata takes precedence."""
    named: datetime | None = named_in(content.get("user_metadata") or {}).get("event_time")
    return named or content.get("event_time")


def response_of(writing: ChangeContext, row: MemoryRow) -> dict[str, Any]:
    """Return the stored response of a write's operation; the memory's text is read later."""
    return {
        "@type": type_url("Memory"),
        "name": str(MemoryName(writing.engine, row.memory_id)),
        "updateTime": format_timestamp(row.update_time),
        "etag": str(row.version),
    }
