"""All SQL statements about memories and derived rows; the ledger alone calls the writing ones."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from operator import itemgetter
from typing import Any

from sqlalchemy import (
    ColumnElement,
    DateTime,
    Text,
    Update,
    and_,
    bindparam,
    case,
    delete,
    func,
    literal,
    literal_column,
    or_,
    select,
    true,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm.attributes import manager_of_class, set_committed_value

from app.adapters.db.bulk import Conflict, insert_drawn_rows, insert_rows
from app.adapters.db.clock import DatabaseTime
from app.adapters.db.conditions import check_scope, condition_on
from app.adapters.db.filter_fields import (
    EnumField,
    MemberField,
    ScopeField,
    TextField,
    TimestampField,
)
from app.adapters.db.filters import Fields, MetadataField, metadata_clause
from app.adapters.db.session import Session
from app.adapters.db.spread import Key, RowSearch, find_keys, locked
from app.kernel.errors import NotFound
from app.kernel.filters import MetadataFilter
from app.kernel.ids import scope_hash
from app.kernel.names import MemoryName
from app.language.grams import ANY_SIGN
from app.memory.memories.store.tables import (
    MemoryRow,
    MemoryVectorRow,
    RevisionLabelRow,
    RevisionRow,
    UnembeddedRow,
    filtered_columns,
)
from app.platform.engines.logic.config import MemoryType
from app.platform.engines.logic.topics import ManagedTopic
from app.platform.engines.store import repository as engines

_KEY = (MemoryRow.engine_id, MemoryRow.memory_id)


def _has_scope(scope: dict[str, str]) -> ColumnElement[bool]:
    return MemoryRow.scope_hash == scope_hash(scope)


_KINDS = {Text: TextField, DateTime: TimestampField}
_COLUMNS: Fields = {
    column.name: _KINDS[type(column.type)](getattr(MemoryRow, name))
    for name, column in filtered_columns(MemoryRow).items()
}
_TOPICS: Fields = {
    "topics.managed_memory_topic": MemberField(
        MemoryRow.topics, "managedMemoryTopic", list(ManagedTopic)
    ),
    "topics.custom_memory_topic_label": MemberField(MemoryRow.topics, "customMemoryTopicLabel"),
}
_TYPES = [kind for kind in MemoryType if kind is not MemoryType.MEMORY_TYPE_UNSPECIFIED]
FILTER_FIELDS: Fields = {
    "scope": ScopeField(MemoryRow.scope, _has_scope),
    **_COLUMNS,
    **_TOPICS,
    "memory_type": EnumField(MemoryRow.memory_type, _TYPES),
    "metadata": MetadataField(MemoryRow.user_metadata),
}
"""Fields that the filters of list, retrieve and purge accept."""


def is_live(now: datetime) -> ColumnElement[bool]:
    """Select memories that are neither deleted nor expired at `now`."""
    return and_(
        MemoryRow.delete_time.is_(None),
        or_(MemoryRow.expire_time.is_(None), MemoryRow.expire_time > now),
    )


def is_known(now: datetime) -> ColumnElement[bool]:
    """Select memories that are live, or deleted and still recoverable, at `now`."""
    return or_(is_live(now), MemoryRow.recover_until > now)


def is_gone(now: DatabaseTime) -> ColumnElement[bool]:
    """Select memories that can no longer be read or recovered at `now`."""
    is_expired = and_(MemoryRow.delete_time.is_(None), MemoryRow.expire_time <= now)
    return or_(is_expired, MemoryRow.recover_until <= now)


def everything() -> ColumnElement[bool]:
    """Select every memory."""
    return true()


async def get(
    session: Session, name: MemoryName, visible: ColumnElement[bool], *, for_update: bool = False
) -> MemoryRow:
    """Return the memory that `visible` (`is_live` or `is_known`) selects."""
    row = await find(session, name, visible, for_update=for_update)
    if row is None:
        raise NotFound.of(name)
    return row


async def find(
    session: Session, name: MemoryName, visible: ColumnElement[bool], *, for_update: bool = False
) -> MemoryRow | None:
    """Return a memory that `visible` selects, or None."""
    statement = select(MemoryRow).where(
        MemoryRow.engine_id == name.engine.engine, MemoryRow.memory_id == name.memory, visible
    )
    if for_update:
        statement = statement.with_for_update()
    return (await session.execute(statement)).scalar_one_or_none()


async def lock(
    session: Session, engine_id: int, memory_ids: Sequence[str], only: ColumnElement[bool]
) -> Sequence[MemoryRow]:
    """Lock the memories that `only` selects, with fresh values; return them ordered by id."""
    if not memory_ids:
        return []
    statement = (
        select(MemoryRow)
        .where(MemoryRow.engine_id == engine_id, MemoryRow.memory_id.in_(memory_ids), only)
        # Every caller locks rows in this order, which prevents deadlocks.
        .order_by(MemoryRow.memory_id)
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    return (await session.execute(statement)).scalars().all()


def metadata_condition(groups: Sequence[Sequence[MetadataFilter]]) -> ColumnElement[bool]:
    """Select memories whose metadata match at least one of the groups."""
    return metadata_clause(MemoryRow.user_metadata, groups)


def has_metadata(metadata: Mapping[str, Any] | None) -> ColumnElement[bool]:
    """Select memories with exactly these metadata; None selects any memory."""
    if metadata is None:
        return true()
    return MemoryRow.user_metadata == literal(dict(metadata), JSONB())


async def exists_any(session: Session, engine_id: int, now: datetime) -> bool:
    """Return True if an engine has live memories."""
    statement = select(MemoryRow.memory_id).where(MemoryRow.engine_id == engine_id, is_live(now))
    return (await session.execute(statement.limit(1))).first() is not None


async def find_revision(
    session: Session, name: MemoryName, version: int, now: datetime
) -> RevisionRow | None:
    """Return the revision of a memory's version, if one was kept and has not expired."""
    statement = select(RevisionRow).where(
        RevisionRow.engine_id == name.engine.engine,
        RevisionRow.memory_id == name.memory,
        RevisionRow.version == version,
        RevisionRow.expire_time > now,
    )
    return (await session.execute(statement)).scalar_one_or_none()


# Called by the ledger alone --------------------------------------------------------------------


async def insert_memories(
    session: Session, rows: Sequence[dict[str, Any]], chosen: Sequence[str]
) -> list[MemoryRow | None]:
    """Insert memories under drawn or chosen ids; return them in order, None for a taken chosen id.

    A taken drawn id is replaced in `rows`. Raises NotFound without access to a scope.
    """
    for row in rows:
        check_scope(session, row["scope"])
    inserted = await insert_drawn_rows(MemoryRow, session, rows, "memory_id", chosen=set(chosen))
    return [_as_stored(row) if row["memory_id"] in inserted else None for row in rows]


def _as_stored(values: Mapping[str, Any]) -> MemoryRow:
    # The constructor would record each value as a change.
    row: MemoryRow = manager_of_class(MemoryRow).new_instance()
    vars(row).update(values)
    return row


async def update_memories(
    session: Session, rows: Sequence[MemoryRow], values: Sequence[Mapping[str, Any]]
) -> bool:
    """Set new values on the memories and on the rows in memory; all have the same columns.

    Return False if a memory no longer has the version that was read; the caller must roll back.
    """
    if not rows:
        return True
    keys = ("engine_id", "memory_id", "version")
    parameters = [
        {f"read_{key}": getattr(row, key) for key in keys} | {f"new_{k}": new[k] for k in new}
        for row, new in zip(rows, values, strict=True)
    ]
    # Every caller updates rows in this order, which prevents deadlocks.
    parameters.sort(key=itemgetter("read_memory_id"))
    # The session adds no condition to a statement with a list of values, so it is added here.
    statement = _updating(*values[0]).where(condition_on(session, MemoryRow))
    changed = await (await session.connection()).execute(statement, parameters)
    for row, new in zip(rows, values, strict=True):
        _note(row, new)
    return changed.rowcount == len(rows)


@cache
def _updating(*columns: str) -> Update:
    return (
        update(MemoryRow)
        .where(
            MemoryRow.engine_id == bindparam("read_engine_id"),
            MemoryRow.memory_id == bindparam("read_memory_id"),
            MemoryRow.version == bindparam("read_version"),
        )
        .values({getattr(MemoryRow, name): bindparam(f"new_{name}") for name in columns})
        .values(version=MemoryRow.version + 1)
    )


async def mark_deleted(
    session: Session,
    rows: Sequence[MemoryRow],
    said: Mapping[str, datetime],
    now: datetime,
    recover_until: datetime,
) -> bool:
    """Turn live memories, and the rows in memory, into tombstones.

    `said` has the times of the statements that end memories, by id; others are ended by hand.
    Return False if a memory no longer has the version that was read; the caller must roll back.
    """
    if not rows:
        return True
    moment: ColumnElement[datetime] = func.greatest(MemoryRow.update_time, now)
    ended = case(said, value=MemoryRow.memory_id, else_=moment) if said else moment
    statement = (
        update(MemoryRow)
        .where(
            MemoryRow.engine_id == rows[0].engine_id,
            tuple_(MemoryRow.memory_id, MemoryRow.version).in_(
                [(row.memory_id, row.version) for row in rows]
            ),
            MemoryRow.delete_time.is_(None),
        )
        .values(
            update_time=moment,
            delete_time=moment,
            held_time=ended,
            recover_until=recover_until,
            version=MemoryRow.version + 1,
        )
        .returning(MemoryRow.memory_id)
        .execution_options(synchronize_session=False)
    )
    changed = (await session.execute(statement)).all()
    for row in rows:
        at = max(now, row.update_time)
        times = {"update_time": at, "delete_time": at, "held_time": said.get(row.memory_id, at)}
        _note(row, {**times, "recover_until": recover_until})
    return len(changed) == len(rows)


def _note(row: MemoryRow, new: Mapping[str, Any]) -> None:
    for name, value in {**new, "version": row.version + 1}.items():
        set_committed_value(row, name, value)


_NEWER_VECTOR = Conflict(("engine_id", "memory_id", "model_id"), ("vector", "expire_time"))


def _lacks_hints() -> ColumnElement[bool]:
    # The condition matches the index of these memories.
    has_grams = MemoryRow.fact.regexp_match(literal_column(f"'{ANY_SIGN}'"))
    return or_(MemoryRow.cues.is_(None), and_(MemoryRow.grams.is_(None), has_grams))


async def find_without_hints(session: Session, search: RowSearch) -> Sequence[Key]:
    """Find memories of any engine without search hints, for a sweep."""
    statement = (
        select(*_KEY).where(_lacks_hints(), engines.is_settled(MemoryRow.engine_id)).order_by(*_KEY)
    )
    return await find_keys(session, search.bounded(statement, _KEY))


async def lock_without_hints(
    session: Session, engine_id: int, keys: Sequence[Key]
) -> Sequence[MemoryRow]:
    """Lock and return memories without search hints, except ones being changed, which get them."""
    statement = locked(
        _KEY, engine_id, keys, _lacks_hints(), engines.is_engine_settled(engine_id)
    ).with_only_columns(MemoryRow)
    return (await session.execute(statement)).scalars().all()


async def set_search_hints(session: Session, rows: Sequence[Mapping[str, Any]]) -> None:
    """Set the search hints and grams of memories, given by their keys, without a new version."""
    if rows:
        await session.execute(update(MemoryRow), [dict(row) for row in rows])


async def put_vectors(session: Session, rows: Sequence[Mapping[str, Any]]) -> None:
    """Upsert vectors, by memory and model."""
    await insert_rows(MemoryVectorRow, session, rows, _NEWER_VECTOR)


async def renew_vector_expiry(session: Session, engine_id: int, memory_ids: Sequence[str]) -> None:
    """Copy the expiry of memories to their vectors."""
    if not memory_ids:
        return
    statement = update(MemoryVectorRow).where(
        MemoryVectorRow.engine_id == engine_id,
        MemoryVectorRow.memory_id.in_(memory_ids),
        MemoryRow.engine_id == engine_id,
        MemoryRow.memory_id == MemoryVectorRow.memory_id,
    )
    await session.execute(statement.values(expire_time=MemoryRow.expire_time))


async def remove_vectors(
    session: Session, engine_id: int, memory_ids: Sequence[str], kept: Sequence[str] = ()
) -> None:
    """Remove the vectors of memories, except vectors of the models in `kept`."""
    if not memory_ids:
        return
    await session.execute(
        delete(MemoryVectorRow).where(
            MemoryVectorRow.engine_id == engine_id,
            MemoryVectorRow.memory_id.in_(memory_ids),
            MemoryVectorRow.model_id.not_in(kept) if kept else true(),
        )
    )


async def put_off(session: Session, engine_id: int, memory_ids: Sequence[str]) -> None:
    """Queue memories, which the caller has locked or just inserted, for embedding."""
    if not memory_ids:
        return
    rows = [{"engine_id": engine_id, "memory_id": memory_id} for memory_id in memory_ids]
    await insert_rows(UnembeddedRow, session, rows, Conflict())


async def end_wait(session: Session, engine_id: int, memory_ids: Sequence[str]) -> None:
    """Remove memories, which the caller has locked, from the embedding queue."""
    if not memory_ids:
        return
    await session.execute(
        delete(UnembeddedRow).where(
            UnembeddedRow.engine_id == engine_id, UnembeddedRow.memory_id.in_(memory_ids)
        )
    )


async def append_new_revisions(session: Session, rows: Sequence[dict[str, Any]]) -> None:
    """Append new revisions, and their labels as rows; a taken id is replaced in `rows`."""
    await insert_drawn_rows(RevisionRow, session, rows, "revision_id")
    await _insert_labels(session, rows)


async def append_revisions(session: Session, rows: Sequence[Mapping[str, Any]]) -> None:
    """Append revisions of an archive, and their labels as rows."""
    await insert_rows(RevisionRow, session, rows)
    await _insert_labels(session, rows)


async def _insert_labels(session: Session, rows: Sequence[Mapping[str, Any]]) -> None:
    labels = [
        {
            "engine_id": row["engine_id"],
            "revision_id": row["revision_id"],
            "key": key,
            "value": value,
        }
        for row in rows
        for key, value in row["labels"].items()
    ]
    await insert_rows(RevisionLabelRow, session, labels)
