"""Insertion of memories from an archive, with their revisions. Called by the ledger alone."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from app.adapters.concurrency import each
from app.adapters.db.clock import database_now
from app.adapters.db.session import Session
from app.kernel.errors import InvalidArgument, Reason
from app.kernel.ids import scope_hash
from app.memory.memories.logic.restored import RestoredMemory, check_restored
from app.memory.memories.logic.search_hints import search_hints_of
from app.memory.memories.store import repository
from app.memory.memories.store.columns import CONTENT_FIELDS


async def insert(
    session: Session, engine_id: int, language: str | None, restored: Sequence[RestoredMemory]
) -> None:
    """Insert memories with ids that are free in the engine; their facts are queued for embedding.

    `language` is the engine's text-search configuration; None detects it from each fact.

    Raises:
        InvalidArgument: a memory and its revisions are inconsistent, or an id is taken.
    """
    now = await database_now(session)
    await each(restored, lambda history: check_restored(history, CONTENT_FIELDS, now))
    rows = await each((history.memory for history in restored), partial(_row, engine_id, language))
    chosen = [row["memory_id"] for row in rows]
    inserted = await repository.insert_memories(session, rows, chosen)
    for row, values in zip(inserted, rows, strict=True):
        if row is None:
            message = f"memories/{values['memory_id']} is in the engine already."
            raise InvalidArgument(message, Reason.ARCHIVE_INVALID)
    revisions = [
        {**revision, "engine_id": engine_id, "memory_id": history.memory["memory_id"]}
        for history in restored
        for revision in history.revisions
    ]
    await repository.append_revisions(session, revisions)
    waiting = [
        row["memory_id"] for row in rows if row["fact"] is not None and row["delete_time"] is None
    ]
    await repository.put_off(session, engine_id, waiting)


def _row(engine_id: int, language: str | None, memory: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **memory,
        "engine_id": engine_id,
        "scope_hash": scope_hash(memory["scope"]),
        **search_hints_of(memory, language),
    }


async def append(session: Session, engine_id: int, revisions: Sequence[Mapping[str, Any]]) -> None:
    """Append further revisions of memories that were restored from the same archive.

    Raises:
        InvalidArgument: a memory does not exist, or is inconsistent with its revisions.
    """
    ids = list(dict.fromkeys(revision["memory_id"] for revision in revisions))
    rows = await repository.lock(session, engine_id, ids, repository.everything())
    if len(rows) != len(ids):
        raise InvalidArgument("A revision belongs to no memory.", Reason.ARCHIVE_INVALID)
    now = await database_now(session)
    for row in rows:
        own = [revision for revision in revisions if revision["memory_id"] == row.memory_id]
        check_restored(RestoredMemory(vars(row), own), CONTENT_FIELDS, now)
    await repository.append_revisions(
        session, [{**revision, "engine_id": engine_id} for revision in revisions]
    )
