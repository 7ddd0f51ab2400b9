"""What can be done to memories, as the ledger is told of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from app.kernel.names import EngineName
from app.memory.memories.store.tables import MemoryRow
from app.memory.memories.store.vectors import Vector


class Action(StrEnum):
    """What a revision records."""

    CREATED = "CREATED"
    UPDATED = "UPDATED"
    DELETED = "DELETED"
    ROLLED_BACK = "ROLLED_BACK"


@dataclass(frozen=True)
class Writing:
    """What all changes of one request share."""

    engine: EngineName
    """The stored full name."""
    now: datetime
    operation_id: str
    model_id: str
    """Of the model that serves the engine."""
    recovery: timedelta
    revision_expire_time: datetime
    labels: Mapping[str, str] = field(default_factory=dict)
    keeps_revisions: bool = True
    language: str | None = None
    """Of the facts, as a text-search configuration; None: what each seems to be in."""
    author: str | None = None
    """The engine or model that wrote the facts, where one did."""
    prompt_version: str | None = None
    """Of the prompts that a model was given."""
    adopts_model: bool = False
    """Whether no model serves the engine yet; this one does from the first vector on."""


@dataclass(frozen=True)
class Creation:
    """A new memory. `content` has values of `columns.CONTENT_FIELDS`; what is left out is empty.

    A fact without a `vector`, or with one of a model that does not serve the engine any more, is
    embedded later.
    """

    memory_id: str | None
    scope: Mapping[str, str]
    memory_type: str
    content: Mapping[str, Any]
    expire_time: datetime | None
    vector: Vector | None
    extracted: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class Change:
    """New content for a memory as it was read: an update, or with `restores` a rollback.

    `content` has a value for each of `columns.CONTENT_FIELDS`.
    `vector` may be left out where the fact stays as it is; else that is as for a `Creation`.
    """

    row: MemoryRow
    content: Mapping[str, Any]
    expire_time: datetime | None
    vector: Vector | None
    restores: int | None = None
    extracted: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class Deletion:
    """The deletion of a live memory as it was read; it can be recovered for a while."""

    row: MemoryRow
    extracted: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class Written:
    """A memory as a change left it, and the id of its revision, where one was kept."""

    row: MemoryRow
    revision_id: int | None
