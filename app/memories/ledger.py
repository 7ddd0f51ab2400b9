"""The single write path of memories: the row, its vector and its revision change together.

All functions take part in the caller's transaction; either everything of a change is there, or
nothing is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.core.errors import Aborted, AlreadyExists, Reason
from app.core.ids import new_id
from app.core.names import EngineName, MemoryName
from app.db.session import Session
from app.memories import repository
from app.memories.repository import Erased
from app.memories.schemas import scope_hash
from app.memories.tables import MemoryRow

CONTENT_FIELDS = (
    "fact",
    "display_name",
    "description",
    "topics",
    "user_metadata",
    "structured_content",
    "context",
)
"""The columns that every revision keeps and a rollback restores."""


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
    """Of the vectors."""
    recovery: timedelta
    revision_expire_time: datetime
    labels: Mapping[str, str] = field(default_factory=dict)
    keeps_revisions: bool = True
    author: str | None = None
    """The engine or model that wrote the facts, where one did."""
    prompt_version: str | None = None
    """Of the prompts that a model was given."""


@dataclass(frozen=True)
class Vector:
    """The embedding of a fact, of unit length."""

    values: NDArray[np.float32]


@dataclass(frozen=True)
class Creation:
    """A new memory. `content` has a value for each of `CONTENT_FIELDS`."""

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

    `vector` may be left out where the fact stays as it is.
    """

    row: MemoryRow
    content: Mapping[str, Any]
    expire_time: datetime | None
    vector: Vector | None
    restores: int | None = None
    extracted: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class Written:
    """A memory as a change left it, and the id of its revision, where one was kept."""

    row: MemoryRow
    revision_id: int | None


async def create(session: Session, writing: Writing, new: Creation) -> Written:
    """Create a memory.

    Raises:
        AlreadyExists: the chosen id is taken, maybe by a deleted memory that can be recovered.
    """
    values = {
        "engine_id": writing.engine.engine,
        "version": 1,
        "scope": dict(new.scope),
        "scope_hash": scope_hash(new.scope),
        "memory_type": new.memory_type,
        **new.content,
        "create_time": writing.now,
        "update_time": writing.now,
        "expire_time": new.expire_time,
    }
    row = await _insert(session, writing, new.memory_id, values)
    await _put_vector(session, writing, row, new.vector)
    revision = _revision(writing, row, Action.CREATED, extracted=new.extracted)
    return Written(row, await _append(session, writing, revision))


async def _insert(
    session: Session, writing: Writing, chosen_id: str | None, values: Mapping[str, Any]
) -> MemoryRow:
    if chosen_id is None:
        while True:
            made = {**values, "memory_id": str(new_id(writing.now))}
            if (row := await repository.insert_memory(session, made)) is not None:
                return row
    # An expired memory is gone for every reader, so it must not hold its id.
    gone = repository.is_gone(writing.now)
    await repository.erase(session, writing.engine.engine, [chosen_id], gone)
    row = await repository.insert_memory(session, {**values, "memory_id": chosen_id})
    if row is None:
        raise AlreadyExists(
            f"{MemoryName(writing.engine, chosen_id)} exists, or was deleted and can still be"
            " recovered; use another memoryId.",
            Reason.ID_TAKEN,
        )
    return row


async def change(session: Session, writing: Writing, wanted: Change) -> Written:
    """Change a live memory, or bring a deleted one back.

    Raises:
        Aborted: the memory was changed since it was read.
    """
    fact_before, was_deleted = wanted.row.fact, wanted.row.delete_time is not None
    values = {
        **wanted.content,
        "update_time": writing.now,
        "expire_time": wanted.expire_time,
        "delete_time": None,
        "recover_until": None,
    }
    row = await repository.update_memory(session, wanted.row, values)
    if row is None:
        raise _changed_meanwhile()
    if row.fact is None:
        await repository.remove_vectors(session, row.engine_id, [row.memory_id])
    elif was_deleted or row.fact != fact_before:
        await _put_vector(session, writing, row, wanted.vector)
    else:
        await repository.set_vector_expiry(session, row.engine_id, row.memory_id, row.expire_time)
    action = Action.UPDATED if wanted.restores is None else Action.ROLLED_BACK
    revision = _revision(writing, row, action, extracted=wanted.extracted, restores=wanted.restores)
    return Written(row, await _append(session, writing, revision))


async def delete(
    session: Session,
    writing: Writing,
    rows: Sequence[MemoryRow],
    extracted: Sequence[Mapping[str, Any]] = (),
) -> list[int | None]:
    """Make tombstones of live memories as they were read; return the ids of their revisions.

    The revision of a deletion has no fact. Source: wire specification, section 6.1.

    Raises:
        Aborted: one of them was changed since it was read.
    """
    if not rows:
        return []
    until = writing.now + writing.recovery
    if await repository.mark_deleted(session, rows, writing.now, until) != len(rows):
        raise _changed_meanwhile()
    ids = [row.memory_id for row in rows]
    await repository.remove_vectors(session, writing.engine.engine, ids)
    revisions = [
        {
            **_revision(writing, row, Action.DELETED, extracted=extracted),
            "version": row.version + 1,
            "fact": None,
            "structured_content": None,
        }
        for row in rows
    ]
    if not writing.keeps_revisions:
        return [None] * len(rows)
    await repository.append_revisions(session, revisions)
    return [revision["revision_id"] for revision in revisions]


async def erase(session: Session, engine_id: int, memory_ids: Sequence[str]) -> Erased:
    """Remove memories and every row derived from them, at once and for good."""
    return await repository.erase(session, engine_id, memory_ids, repository.everything())


async def erase_gone(
    session: Session, engine_id: int, memory_ids: Sequence[str], now: datetime
) -> Erased:
    """Remove those of the memories that nothing can read or recover any more."""
    return await repository.erase(session, engine_id, memory_ids, repository.is_gone(now))


async def _put_vector(
    session: Session, writing: Writing, row: MemoryRow, vector: Vector | None
) -> None:
    if vector is None:
        return
    values = {
        "engine_id": row.engine_id,
        "memory_id": row.memory_id,
        "model_id": writing.model_id,
        "scope_hash": row.scope_hash,
        "expire_time": row.expire_time,
        "vector": vector.values,
    }
    await repository.put_vectors(session, [values])


def _revision(
    writing: Writing,
    row: MemoryRow,
    action: Action,
    *,
    extracted: Sequence[Mapping[str, Any]] = (),
    restores: int | None = None,
) -> dict[str, Any]:
    return {
        "engine_id": row.engine_id,
        "revision_id": new_id(writing.now),
        "memory_id": row.memory_id,
        "version": row.version,
        "action": action,
        **{name: getattr(row, name) for name in CONTENT_FIELDS},
        "memory_type": row.memory_type,
        "memory_expire_time": row.expire_time,
        "labels": dict(writing.labels),
        "extracted_memories": [dict(item) for item in extracted],
        "author": writing.author,
        "prompt_version": writing.prompt_version,
        "operation_id": writing.operation_id,
        "restored_revision_id": restores,
        "create_time": writing.now,
        "expire_time": writing.revision_expire_time,
    }


async def _append(session: Session, writing: Writing, revision: Mapping[str, Any]) -> int | None:
    if not writing.keeps_revisions:
        return None
    await repository.append_revisions(session, [revision])
    revision_id: int = revision["revision_id"]
    return revision_id


def _changed_meanwhile() -> Aborted:
    return Aborted("A memory was changed meanwhile; retry.", Reason.CONCURRENT_CHANGE)
