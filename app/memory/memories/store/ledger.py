"""The single write path of memories: the row, its vector and its revision change together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select

from app.adapters.concurrency import each
from app.adapters.db.clock import database_time
from app.adapters.db.session import Database, Session, note
from app.adapters.db.spread import Key
from app.adapters.db.subjects import Counts, Erasure, RowsOf, Subject
from app.kernel.changes import IdempotencyKey
from app.kernel.errors import Aborted, AlreadyExists, Reason
from app.kernel.ids import bucket_of_hash, new_id, scope_hash
from app.kernel.names import WILDCARD, EngineName, MemoryName
from app.memory.memories.logic.provenance import named_in
from app.memory.memories.logic.search_hints import search_hints_of
from app.memory.memories.store import erasure, fast_sql, repository, restoring, vectors
from app.memory.memories.store.changes import (
    Action,
    Change,
    ChangeContext,
    Creation,
    Deletion,
    Times,
    Written,
    held_time,
    moment_of,
    response_of,
    time_said,
)
from app.memory.memories.store.columns import COPIED_FIELDS, content_of, no_content
from app.memory.memories.store.erasure import ErasedCounts, Redacted
from app.memory.memories.store.tables import (
    MemoryRow,
    MemoryVectorRow,
    RevisionLabelRow,
    RevisionRow,
    UnembeddedRow,
)
from app.memory.memories.store.vectors import Vector
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.engines.store.tables import EngineRow
from app.platform.operations.logic.states import OperationState
from app.platform.operations.store import erasure as stored
from app.platform.operations.store.idempotency import record_of
from app.platform.operations.store.repository import NewOperation

rename_callers = erasure.rename_callers
"""Replaces callers with an alias in an engine's history, at a user's request."""
restore, restore_more = restoring.insert, restoring.append
"""Insert memories of an archive with their revisions, and further revisions."""


@dataclass(frozen=True)
class _Effect:
    """A memory after a change, with its revision and the effect on its vectors.

    Its vectors are kept unless `ends_vectors` is set. In that case it gets `vector` alone, or is
    queued for embedding if it `has_new_fact`.
    """

    row: MemoryRow
    revision: dict[str, Any]
    vector: Vector | None = None
    ends_vectors: bool = False
    has_new_fact: bool = False


async def apply(
    session: Session, writing: ChangeContext, wanted: Sequence[Creation | Change | Deletion]
) -> list[Written]:
    """Apply changes to different memories; return the results in order.

    Changes of one kind are sent to the database together, so many cost little more than one.

    Raises:
        Aborted: a memory has changed since it was read.
        AlreadyExists: a chosen id is taken, perhaps by a deleted memory that can be recovered.
    """
    deleted = await _delete(session, writing, [new for new in wanted if isinstance(new, Deletion)])
    changed = await _change(session, writing, [new for new in wanted if isinstance(new, Change)])
    created = await _create(session, writing, [new for new in wanted if isinstance(new, Creation)])
    effects = {Deletion: iter(deleted), Change: iter(changed), Creation: iter(created)}
    ordered = [next(effects[type(change)]) for change in wanted]
    await _write_vectors(session, writing, ordered)
    if not writing.keeps_revisions:
        return [Written(effect.row, None) for effect in ordered]
    await repository.append_new_revisions(session, [effect.revision for effect in ordered])
    return [Written(effect.row, effect.revision["revision_id"]) for effect in ordered]


async def create(session: Session, writing: ChangeContext, new: Creation) -> Written:
    """Create a memory, as `apply` does, and note its name for the audit."""
    created = (await apply(session, writing, [new]))[0]
    note(session, resource=str(MemoryName(writing.engine, created.row.memory_id)))
    return created


async def create_at_once(
    db: Database,
    engine: EngineRow,
    writing: ChangeContext,
    new: Creation,
    operation: NewOperation,
    once: IdempotencyKey | None,
) -> MemoryRow | None:
    """Create a memory and finish its operation at once, in a separate transaction.

    Return None and change nothing if the fast path does not apply. It needs an unchanged engine, a
    new request, a free memory id and access to the scope. The write must have a vector, a revision
    and an audit event, and no labels.
    """
    vector, audit = new.vector, db.audit_within(new.scope)
    is_usual = writing.keeps_revisions and not writing.labels
    is_embedded = vector is not None and vector.model_id == engine.embedding_model
    if vector is None or audit is None or not (is_usual and is_embedded):
        return None
    values = _values(writing, new)
    row = MemoryRow(**values)
    response = response_of(writing, row)
    event = audit({"resource": response["name"], "operation": operation.name})
    rows = {
        "memory": values,
        "vector": vectors.values_of(row, writing.model_id, vector),
        "revision": _revision(writing, writing.now, row, Action.CREATED, new.extracted),
        "operation": operation.columns(OperationState.SUCCEEDED, response),
        "event": event,
    }
    if once is not None:
        rows["request"] = record_of(once, engine.engine_id, writing.now, operation)
    return row if await fast_sql.insert(db, engine, rows) else None


async def create_free(
    session: Session, writing: ChangeContext, wanted: Sequence[tuple[Creation, ChangeContext]]
) -> list[Written | None]:
    """Create memories, each with the context of its revision; return None for a taken id.

    Chosen ids must be distinct.
    """
    rows = await _insert(session, writing, [new for new, _ in wanted])
    effects = [
        None if row is None else _created(own, row, new)
        for row, (new, own) in zip(rows, wanted, strict=True)
    ]
    await _write_vectors(session, writing, [effect for effect in effects if effect is not None])
    revisions = [
        effect.revision if effect is not None and own.keeps_revisions else None
        for effect, (_, own) in zip(effects, wanted, strict=True)
    ]
    await repository.append_new_revisions(session, [row for row in revisions if row is not None])
    ids = [None if revision is None else revision["revision_id"] for revision in revisions]
    return [
        None if effect is None else Written(effect.row, revision_id)
        for effect, revision_id in zip(effects, ids, strict=True)
    ]


async def change(session: Session, writing: ChangeContext, wanted: Change) -> Written:
    """Change a live memory, or restore a deleted one, as `apply` does."""
    return (await apply(session, writing, [wanted]))[0]


async def delete(
    session: Session, writing: ChangeContext, rows: Sequence[MemoryRow]
) -> list[Written]:
    """Turn live memories that were read into tombstones, as `apply` does."""
    return await apply(session, writing, [Deletion(row) for row in rows])


async def redact(session: Session, writing: ChangeContext, redacted: Redacted) -> None:
    """Write redacted memories, which the caller has locked, and rewrite their revisions.

    A live memory gets a separate revision; a tombstone remains a tombstone.
    """
    await erasure.rewrite(session, redacted)
    await apply(session, writing, redacted.changes())


async def _create(
    session: Session, writing: ChangeContext, wanted: Sequence[Creation]
) -> list[_Effect]:
    effects = []
    for row, new in zip(await _insert(session, writing, wanted), wanted, strict=True):
        if row is None:
            name = MemoryName(writing.engine, str(new.memory_id))
            raise AlreadyExists(
                f"{name} exists, or was deleted and can still be recovered; use another memoryId.",
                Reason.ID_TAKEN,
            )
        effects.append(_created(writing, row, new))
    return effects


def _created(writing: ChangeContext, row: MemoryRow, new: Creation) -> _Effect:
    revision = _revision(writing, writing.now, row, Action.CREATED, new.extracted)
    return _Effect(row, revision, new.vector, has_new_fact=row.fact is not None)


async def _insert(
    session: Session, writing: ChangeContext, wanted: Sequence[Creation]
) -> list[MemoryRow | None]:
    chosen = [new.memory_id for new in wanted if new.memory_id is not None]
    if chosen:
        # An expired memory no longer exists for readers, so it must not block its id.
        await erase_gone(session, writing.engine.engine, chosen)
    drawn = await each(wanted, lambda new: _values(writing, new))
    return await repository.insert_memories(session, drawn, chosen)


def _values(writing: ChangeContext, new: Creation) -> dict[str, Any]:
    digest = scope_hash(new.scope)
    times = new.times or Times(writing.now, writing.now)
    # Without a time of a statement, content changed elsewhere counts as set at its last change.
    is_held = times.update_time != times.create_time and time_said(new.content) is None
    return {
        "engine_id": writing.engine.engine,
        "memory_id": new.memory_id or str(new_id(writing.now, bucket_of_hash(digest))),
        "version": 1,
        "scope": dict(new.scope),
        "scope_hash": digest,
        "memory_type": new.memory_type,
        **no_content(),
        **new.content,
        **_derived(new.content, writing.language),
        **vars(times),
        "held_time": times.update_time if is_held else None,
        "expire_time": new.expire_time,
    }


async def _change(
    session: Session, writing: ChangeContext, wanted: Sequence[Change]
) -> list[_Effect]:
    keeps_vector = [
        change.row.delete_time is None and change.row.fact == change.content["fact"]
        for change in wanted
    ]
    moved = [
        change.row.memory_id
        for change, keeps in zip(wanted, keeps_vector, strict=True)
        if keeps and change.row.expire_time != change.expire_time
    ]
    moments = [moment_of(change.row, writing.now) for change in wanted]
    values = [
        _changed_values(writing, change, moment)
        for change, moment in zip(wanted, moments, strict=True)
    ]
    if not await repository.update_memories(session, [change.row for change in wanted], values):
        raise _changed_meanwhile()
    await repository.renew_vector_expiry(session, writing.engine.engine, moved)
    return [
        _Effect(
            change.row,
            _revision(writing, moment, change.row, change.action, change.extracted)
            | {"restored_revision_id": change.restores},
            None if keeps else change.vector,
            # Vectors of other models are as outdated as the old fact.
            ends_vectors=not keeps,
            has_new_fact=not keeps and change.row.fact is not None,
        )
        for change, moment, keeps in zip(wanted, moments, keeps_vector, strict=True)
    ]


def _derived(content: Mapping[str, Any], language: str | None) -> dict[str, Any]:
    named = named_in(content.get("user_metadata") or {})
    return {**named, **search_hints_of({**content, **named}, language)}


def _changed_values(writing: ChangeContext, wanted: Change, moment: datetime) -> dict[str, Any]:
    times = wanted.times or Times(wanted.row.create_time, moment)
    return {
        **wanted.content,
        **_derived(wanted.content, writing.language),
        **vars(times),
        "held_time": held_time(wanted, moment),
        "expire_time": wanted.expire_time,
        "delete_time": None,
        "recover_until": None,
    }


async def _delete(
    session: Session, writing: ChangeContext, wanted: Sequence[Deletion]
) -> list[_Effect]:
    rows = [deletion.row for deletion in wanted]
    until = writing.now + writing.recovery
    said = {
        deletion.row.memory_id: deletion.said_at
        for deletion in wanted
        if deletion.said_at is not None
    }
    if not await repository.mark_deleted(session, rows, said, writing.now, until):
        raise _changed_meanwhile()
    return [
        _Effect(
            deletion.row,
            # The revision of a deletion has no fact. Source: wire specification, section 6.1.
            _revision(
                writing, deletion.row.update_time, deletion.row, Action.DELETED, deletion.extracted
            )
            | {"fact": None, "structured_content": None},
            ends_vectors=True,
        )
        for deletion in wanted
    ]


async def erase(
    session: Session, engine_id: int, memory_ids: Sequence[str], *, with_scope: bool = False
) -> ErasedCounts:
    """Permanently remove memories and every row derived from them now, at a user's request.

    Quotes of them are removed from other memories' revisions and from the engine's operations. With
    `with_scope`, only operations that name them are changed; the scope's own are erased anyway. The
    caller has locked the memories and the engine (`Lock.UPDATE`), so erasures do not wait for each
    other's revisions.
    """
    await erasure.blank_quotes(session, engine_id, memory_ids)
    await erasure.clear_requests(session, engine_id, memory_ids)
    erased = await erase_with_engine(session, engine_id, memory_ids)
    await stored.withdraw_texts(session, engine_id, memory_ids if with_scope else None)
    return erased


async def erase_gone(session: Session, engine_id: int, memory_ids: Sequence[str]) -> ErasedCounts:
    """Remove the memories among these that can no longer be read or recovered."""
    gone = repository.is_gone(database_time(session))
    erased = await erasure.erase(session, engine_id, memory_ids, gone)
    if erased.memories:
        await stored.withdraw_texts(session, engine_id, memory_ids)
    return erased


async def erase_with_engine(
    session: Session, engine_id: int, memory_ids: Sequence[str]
) -> ErasedCounts:
    """Remove memories of an engine that is removed as a whole."""
    return await erasure.erase(session, engine_id, memory_ids, repository.everything())


async def _write_vectors(
    session: Session, writing: ChangeContext, effects: Sequence[_Effect]
) -> None:
    engine_id = writing.engine.engine
    ended = [effect.row.memory_id for effect in effects if effect.ends_vectors]
    await repository.remove_vectors(session, engine_id, ended)
    serving = await _serving(session, writing, effects)
    ready, waiting = [], []
    for effect in effects:
        vector = effect.vector
        if vector is not None and vector.model_id in {None, serving}:
            ready.append(vectors.values_of(effect.row, serving, vector))
        elif effect.has_new_fact:
            waiting.append(effect.row.memory_id)
    await repository.put_vectors(session, ready)
    await repository.put_off(session, engine_id, waiting)


async def _serving(session: Session, writing: ChangeContext, effects: Sequence[_Effect]) -> str:
    """Return the serving model; if there is none, adopt this one with the first new vector."""
    vector = next((effect.vector for effect in effects if effect.vector is not None), None)
    if not writing.adopts_model or vector is None:
        return writing.model_id
    length = len(vector.values)
    return await engines.adopt_model(session, writing.engine.engine, writing.model_id, length)


async def backfill_search_hints(session: Session, engine_id: int, keys: Sequence[Key]) -> int:
    """Add missing search hints and grams to memories, without a new version; return the count."""
    rows = await repository.lock_without_hints(session, engine_id, keys)
    language = await engines.find_language(session, engine_id)
    traits = [
        {
            "engine_id": engine_id,
            "memory_id": row.memory_id,
            **_derived(content_of(row), language),
        }
        for row in rows
    ]
    await repository.set_search_hints(session, traits)
    return len(rows)


def _changed_meanwhile() -> Aborted:
    return Aborted("A memory was changed meanwhile; retry.", Reason.CONCURRENT_CHANGE)


def _revision(
    writing: ChangeContext,
    moment: datetime,
    row: MemoryRow,
    action: Action,
    extracted: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    return {
        **{name: getattr(row, name) for name in COPIED_FIELDS},
        "revision_id": new_id(moment, bucket_of_hash(row.scope_hash)),
        "action": action,
        "memory_expire_time": row.expire_time,
        "labels": dict(writing.labels),
        "extracted_memories": [dict(item) for item in extracted],
        "author": writing.author,
        "prompt_version": writing.prompt_version,
        "operation_id": writing.operation_id,
        "caller": writing.caller,
        "restored_revision_id": None,
        "redact_time": None,
        "create_time": moment,
        "expire_time": writing.revision_expire_time,
    }


_COUNTED = tuple(RowsOf(row) for row in (MemoryRow, MemoryVectorRow, RevisionRow, RevisionLabelRow))


async def _count(session: Session, subject: Subject) -> Counts:
    counts: dict[str, int] = {}
    for rows in _COUNTED:
        counts |= await rows.count(session, subject)
    return counts


async def _remove(session: Session, subject: Subject, limit: int) -> Counts:
    """Remove up to `limit` memories, deleted ones included, and their derived rows."""
    engine_id = subject.engine_id
    await engines.get(session, EngineName(WILDCARD, WILDCARD, engine_id), Lock.UPDATE)
    some = select(MemoryRow.memory_id).where(subject.selects(MemoryRow)).limit(limit)
    ids = (await session.execute(some)).scalars().all()
    erased = await erase(session, engine_id, ids, with_scope=True)
    numbers = (erased.memories, erased.vectors, erased.revisions, erased.labels)
    counts = zip((rows.table for rows in _COUNTED), numbers, strict=True)
    return {table: count for table, count in counts if count}


_NAMES = RowsOf(MemoryRow).named("memories", MemoryRow.memory_id)
ERASURES = (
    RowsOf(UnembeddedRow).erasure(),
    Erasure(
        tuple(rows.table for rows in _COUNTED), _count, _remove, _NAMES.collection, _NAMES.find_ids
    ),
)
"""Erasures of the rows that belong to a scope."""
