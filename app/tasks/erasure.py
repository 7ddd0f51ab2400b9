"""Takes what task memory holds away for good: on request, when its time is over, with its engine.

With an artifact go its pages, chunks and vectors. What was derived from it stays, and says that its
source is gone. All functions take part in the caller's transaction.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, any_, cast, delete, exists, select, tuple_, update
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.orm import InstrumentedAttribute

from app.db.base import Base
from app.db.session import Session
from app.tasks.kinds import State
from app.tasks.tables import (
    ArtifactRow,
    ChunkRow,
    NamespaceRow,
    PageRow,
    ToolPolicyRow,
    VectorRow,
)

_PAGES_AT_ONCE = 64
"""16 MiB: what one transaction of a sweep frees."""
_Key = tuple[int, str, str]
"""Engine, memory and namespace."""


async def remove_artifact(session: Session, namespace: NamespaceRow, row: ArtifactRow) -> None:
    """Remove an artifact; the caller has locked its namespace, and counts what is left there."""
    await mark_derived(session, namespace, [row.name])
    await remove_content(session, row.engine_id, row.content_id)


async def remove_content(session: Session, engine_id: int, content_id: str) -> None:
    """Remove an artifact by its content, whatever its state."""
    await session.execute(delete(ArtifactRow).where(_has_content(engine_id, content_id)))


async def remove_upload(session: Session, engine_id: int, content_id: str) -> None:
    """Remove what has come of an upload, unless it was put under its name.

    It may have been, without whoever takes it back knowing that: the answer of a commit can be
    lost, and its caller be cancelled meanwhile.
    """
    await session.execute(
        delete(ArtifactRow).where(
            _has_content(engine_id, content_id), ArtifactRow.state == State.UPLOADING
        )
    )


async def remove_namespace(session: Session, namespace: NamespaceRow) -> None:
    """Remove a namespace that the caller has locked, with all that is in it."""
    await mark_derived(session, namespace, None)
    await session.execute(delete(NamespaceRow).where(_is_it(namespace)))


async def remove_if_empty(session: Session, namespace: NamespaceRow) -> bool:
    """Remove a namespace in which nothing is, and nothing is coming; say whether it went."""
    inside = select(ArtifactRow.content_id).where(
        ArtifactRow.engine_id == NamespaceRow.engine_id,
        ArtifactRow.memory == NamespaceRow.memory,
        ArtifactRow.namespace == NamespaceRow.namespace,
    )
    removed = await session.execute(
        delete(NamespaceRow)
        .where(_is_it(namespace), ~inside.exists())
        .returning(NamespaceRow.namespace)
        .execution_options(synchronize_session=False)
    )
    return removed.first() is not None


async def mark_derived(session: Session, source: NamespaceRow, names: Sequence[str] | None) -> None:
    """Note at what was derived from artifacts, or from any of the namespace, that they are gone."""
    origin = {"namespace": source.namespace}
    origins = [origin] if names is None else [origin | {"name": name} for name in names]
    # One look at all that is derived in the memory, however many artifacts go at once.
    any_of = cast([[one] for one in origins], ARRAY(JSONB, dimensions=1))
    await session.execute(
        update(ArtifactRow)
        .where(
            ArtifactRow.engine_id == source.engine_id,
            ArtifactRow.memory == source.memory,
            ArtifactRow.derived_from.is_not(None),
            ArtifactRow.derived_from.contains(any_(any_of)),
        )
        .values(source_deleted=True)
        .execution_options(synchronize_session=False)
    )


def _has_content(engine_id: int, content_id: str) -> ColumnElement[bool]:
    return and_(ArtifactRow.engine_id == engine_id, ArtifactRow.content_id == content_id)


def _is_it(row: NamespaceRow) -> ColumnElement[bool]:
    return and_(
        NamespaceRow.engine_id == row.engine_id,
        NamespaceRow.memory == row.memory,
        NamespaceRow.namespace == row.namespace,
    )


# With the engine


async def remove_of_engine(session: Session, engine_id: int, limit: int) -> int:
    """Remove up to `limit` rows of an engine, or a few pages; return how many."""
    for row, keys in _BELOW:
        most = _PAGES_AT_ONCE if row is PageRow else limit
        columns = [getattr(row, key) for key in keys]
        mine: Any = row.engine_id == engine_id  # type: ignore[attr-defined]  # each of these has it
        some = select(*columns).where(mine).limit(most).with_for_update(skip_locked=True).cte()
        removed = await session.execute(
            delete(row)
            .where(mine, tuple_(*columns).in_(select(some)))
            .returning(columns[0])
            .execution_options(synchronize_session=False)
        )
        if count := len(removed.all()):
            return count
    return 0


_BELOW: Sequence[tuple[type[Base], tuple[str, ...]]] = (
    (PageRow, ("engine_id", "content_id", "page")),
    (VectorRow, ("engine_id", "content_id", "n", "part")),
    (ChunkRow, ("engine_id", "content_id", "n")),
    (ArtifactRow, ("engine_id", "content_id")),
    (NamespaceRow, ("engine_id", "memory", "namespace")),
    (ToolPolicyRow, ("engine_id", "memory", "tool")),
)


# When its time is over


async def remove_expired(session: Session, now: datetime, limit: int) -> int:
    """Free a part of what no longer can be read, and of uploads that did not end; a sweep's.

    Returns `limit` as long as there may be more.
    """
    namespaces = await _lock_with_expired(session, now, limit)
    theirs = (ArtifactRow.engine_id, ArtifactRow.memory, ArtifactRow.namespace)
    statement = (
        select(ArtifactRow)
        .where(ArtifactRow.expire_time <= now, tuple_(*theirs).in_(namespaces))
        .limit(limit)
        .with_for_update()
    )
    rows = (await session.execute(statement)).scalars().all() if namespaces else []
    keys = [(row.engine_id, row.content_id) for row in rows]
    if not keys:
        return 0
    if await _free(session, PageRow, PageRow.page, keys, _PAGES_AT_ONCE):
        return limit
    for row in (VectorRow, ChunkRow):
        if await _free(session, row, row.n, keys, limit):
            return limit
    for key, gone in _by_namespace(rows).items():
        await _remove_of_namespace(session, key, gone)
    return limit


async def _lock_with_expired(session: Session, now: datetime, limit: int) -> list[_Key]:
    """Lock namespaces with something to remove; those that others hold are left to the next time.

    Before what is in them, as requests do.
    """
    theirs = (ArtifactRow.engine_id, ArtifactRow.memory, ArtifactRow.namespace)
    some = select(*theirs).where(ArtifactRow.expire_time <= now).limit(limit).cte("some")
    key = (NamespaceRow.engine_id, NamespaceRow.memory, NamespaceRow.namespace)
    statement = (
        select(*key)
        .where(tuple_(*key).in_(select(some)))
        .order_by(*key)
        .with_for_update(skip_locked=True)
    )
    return [(row[0], row[1], row[2]) for row in await session.execute(statement)]


async def remove_expired_namespaces(session: Session, now: datetime, limit: int) -> int:
    """Remove up to `limit` namespaces whose time is over and in which nothing is; a sweep's."""
    key = (NamespaceRow.engine_id, NamespaceRow.memory, NamespaceRow.namespace)
    inside = exists().where(
        ArtifactRow.engine_id == NamespaceRow.engine_id,
        ArtifactRow.memory == NamespaceRow.memory,
        ArtifactRow.namespace == NamespaceRow.namespace,
    )
    old = (
        select(*key)
        .where(NamespaceRow.expire_time <= now, ~inside)
        .limit(limit)
        .with_for_update(skip_locked=True)
        .cte("old")
    )
    removed = await session.execute(
        delete(NamespaceRow)
        .where(tuple_(*key).in_(select(old)))
        .returning(NamespaceRow.namespace)
        .execution_options(synchronize_session=False)
    )
    return len(removed.all())


async def _free(
    session: Session,
    row: type[PageRow | ChunkRow | VectorRow],
    last: InstrumentedAttribute[int],
    keys: Sequence[tuple[int, str]],
    limit: int,
) -> int:
    """Remove some of the pages, chunks or vectors of contents; return how many."""
    key = (row.engine_id, row.content_id, last)
    some = (
        select(*key).where(tuple_(row.engine_id, row.content_id).in_(keys)).limit(limit).cte("some")
    )
    removed = await session.execute(
        delete(row)
        .where(tuple_(*key).in_(select(some)))
        .returning(row.content_id)
        .execution_options(synchronize_session=False)
    )
    return len(removed.all())


def _by_namespace(rows: Sequence[ArtifactRow]) -> dict[_Key, list[ArtifactRow]]:
    found: dict[_Key, list[ArtifactRow]] = {}
    for row in rows:
        found.setdefault((row.engine_id, row.memory, row.namespace), []).append(row)
    return found


async def _remove_of_namespace(session: Session, key: _Key, rows: Sequence[ArtifactRow]) -> None:
    """Remove artifacts of one namespace, without pages any more, and count what is left there."""
    engine_id, memory, namespace = key
    counted = [row for row in rows if row.state != State.UPLOADING]
    statement = (
        update(NamespaceRow)
        .where(
            NamespaceRow.engine_id == engine_id,
            NamespaceRow.memory == memory,
            NamespaceRow.namespace == namespace,
        )
        .values(
            artifacts=NamespaceRow.artifacts - len(counted),
            bytes=NamespaceRow.bytes - sum(row.size_bytes for row in counted),
        )
        .returning(NamespaceRow)
        .execution_options(synchronize_session=False)
    )
    source = (await session.execute(statement)).scalar_one()
    if counted:
        await mark_derived(session, source, [row.name for row in counted])
    await session.execute(
        delete(ArtifactRow)
        .where(
            ArtifactRow.engine_id == engine_id,
            ArtifactRow.content_id.in_([row.content_id for row in rows]),
        )
        .execution_options(synchronize_session=False)
    )
    await remove_if_empty(session, source)
