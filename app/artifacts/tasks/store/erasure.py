"""Permanent deletion in task memory: on request, after expiry, with the engine or with a scope.

Artifacts derived from a deleted one stay, marked as having lost their source.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Text,
    and_,
    any_,
    column,
    delete,
    exists,
    func,
    literal,
    select,
    true,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import InstrumentedAttribute

from app.adapters.db.base import Base
from app.adapters.db.bulk import any_of, rows_of
from app.adapters.db.clock import database_time
from app.adapters.db.session import Session
from app.adapters.db.spread import Key, RowSearch, find_keys, remove_found
from app.adapters.db.subjects import Counts, Erasure, RowsOf, Subject
from app.artifacts.tasks.logic import ArtifactState
from app.artifacts.tasks.store.tables import (
    ArtifactRow,
    ChunkRow,
    NamespaceKey,
    NamespaceRow,
    PageRow,
    ToolPolicyRow,
    VectorRow,
    is_in,
)
from app.kernel.checks import Batches, CheckName, CountedRows, Examination, overdue
from app.kernel.limits import Counted
from app.platform.engines.store import repository as engines

PAGES_AT_ONCE = 64
"""Maximum pages that one transaction of a sweep deletes, which is 16 MiB."""
_PIECES_AT_ONCE = 500
"""Maximum chunks or vectors that one transaction of a sweep deletes."""
_SLASH = "/"
"""Separator between names; no name contains it."""
_Named = tuple[str, str]
"""Namespace and name of an artifact."""
_IN_NAMESPACE = (ArtifactRow.engine_id, ArtifactRow.memory, ArtifactRow.namespace)
_NAMESPACE_KEY = (NamespaceRow.engine_id, NamespaceRow.memory, NamespaceRow.namespace)
_EXAMINED_NAME = """
    'taskMemories/' || a.memory || '/namespaces/' || a.namespace || '/artifacts/' || a.name as name
"""
# Expired artifacts and engines with an erasure under way are excluded: pages are deleted first.
_OF_BATCH = """
    a.engine_id = :engine and a.content_id > :after and a.content_id <= :last
    and a.state <> 'uploading' and a.expire_time > statement_timestamp()
    and not exists (select from erasures where engine_id = :engine and scope is not null)
"""
_PAGES = f"""
select 'FAILED' as level, 'its pages have another length than the artifact' as problem,
    a.engine_id, {_EXAMINED_NAME}
from task_artifacts a
where {_OF_BATCH} and a.size_bytes <> (
    select coalesce(sum(octet_length(data)), 0) from task_pages p
    where p.engine_id = :engine and p.content_id = a.content_id
)
union all
select 'FAILED' as level, 'its digest is not that of its pages' as problem, a.engine_id,
    {_EXAMINED_NAME}
from (
    select * from task_artifacts a
    where {_OF_BATCH} and a.sha256 is not null and random() < :share
    offset 0
) a
where a.sha256 <> (
    select sha256(coalesce(string_agg(data, ''::bytea order by page), ''::bytea))
    from task_pages p
    where p.engine_id = :engine and p.content_id = a.content_id
)
"""  # noqa: S608 - of constants
EXAMINATIONS = (
    Examination(CheckName.ARTIFACTS, _PAGES, Batches("task_artifacts", "content_id")),
    overdue("expired artifacts", "task_artifacts", "expire_time"),
)
COUNTED = (CountedRows("task_artifacts", {Counted.ARTIFACT_BYTES: "size_bytes"}),)


async def remove_artifact(session: Session, namespace: NamespaceRow, row: ArtifactRow) -> None:
    """Delete an artifact; the caller has locked its namespace and updates its counts."""
    await remove_content(session, row.engine_id, row.content_id)
    await mark_derived(session, namespace, [row.name])


async def remove_content(session: Session, engine_id: int, content_id: str) -> None:
    """Delete an artifact in any state by its content id."""
    await session.execute(delete(ArtifactRow).where(_has_content(engine_id, content_id)))


async def remove_upload(session: Session, engine_id: int, content_id: str) -> None:
    """Delete an upload, unless it was already committed under its name.

    The reply to the commit may have been lost, or the caller cancelled during the commit.
    """
    await session.execute(
        delete(ArtifactRow).where(
            _has_content(engine_id, content_id), ArtifactRow.state == ArtifactState.UPLOADING
        )
    )


async def remove_namespace(session: Session, namespace: NamespaceRow) -> None:
    """Delete a namespace that the caller has locked, with everything in it."""
    await session.execute(delete(NamespaceRow).where(is_in(NamespaceRow, namespace)))
    await mark_derived(session, namespace, None)


async def remove_if_empty(session: Session, namespace: NamespaceRow) -> bool:
    """Delete a namespace without artifacts or uploads; return True if it was deleted."""
    inside = select(ArtifactRow.content_id).where(
        is_in(ArtifactRow, NamespaceRow),
    )
    removed = await session.execute(
        delete(NamespaceRow)
        .where(is_in(NamespaceRow, namespace), ~inside.exists())
        .returning(NamespaceRow.namespace)
        .execution_options(synchronize_session=False)
    )
    return removed.first() is not None


async def mark_derived(session: Session, source: NamespaceRow, names: Sequence[str] | None) -> None:
    """Mark artifacts derived from deleted ones, directly or indirectly, as having lost a source.

    `names` None means every artifact of the namespace. The caller has locked or deleted the
    sources. All callers lock sources before derived artifacts.
    """
    if names is None:
        gone = await _mark(session, source, [source.namespace])
    else:
        gone = await _mark_from(session, source, [(source.namespace, name) for name in names])
    while gone:
        # Artifacts already marked are skipped, so the loop ends.
        gone = await _mark_from(session, source, gone)


async def _mark_from(
    session: Session, source: NamespaceRow, gone: Sequence[_Named]
) -> Sequence[_Named]:
    """Mark artifacts derived from the artifacts in `gone`; return the newly marked ones.

    Sources are looked up as keys of a JSON object, since both lists can be very long.
    """
    lost = literal({_SLASH.join(source): None for source in gone}, JSONB)
    elements = func.jsonb_array_elements(ArtifactRow.derived_from)
    each = elements.table_valued(column("value", JSONB)).render_derived(name="each")
    key = ArtifactRow.origin + _SLASH + each.c.value["name"].astext
    is_lost = select(1).select_from(each).where(lost.has_key(key)).exists()
    origins = {namespace for namespace, _ in gone}
    return await _mark(session, source, sorted(origins), is_lost)


async def _mark(
    session: Session, source: NamespaceRow, origins: Sequence[str], *which: ColumnElement[bool]
) -> Sequence[_Named]:
    marked = await session.execute(
        update(ArtifactRow)
        .where(
            ArtifactRow.engine_id == source.engine_id,
            ArtifactRow.memory == source.memory,
            ArtifactRow.origin == any_(literal(origins, ARRAY(Text))),
            ~ArtifactRow.source_deleted,
            *which,
        )
        .values(source_deleted=True)
        .returning(ArtifactRow.namespace, ArtifactRow.name)
        .execution_options(synchronize_session=False)
    )
    return [(row[0], row[1]) for row in marked]


def _has_content(engine_id: int, content_id: str) -> ColumnElement[bool]:
    return and_(ArtifactRow.engine_id == engine_id, ArtifactRow.content_id == content_id)


# Deletion with the engine


async def remove_of_engine(session: Session, engine_id: int, limit: int) -> int:
    """Delete up to `limit` rows of an engine, or up to `PAGES_AT_ONCE` pages; return the count."""
    for row, keys in _BELOW:
        most = PAGES_AT_ONCE if row is PageRow else limit
        columns = [getattr(row, key) for key in keys]
        mine: Any = row.engine_id == engine_id  # type: ignore[attr-defined]  # every table here has the column
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


# Deletion after expiry


async def find_expired(grace: timedelta, session: Session, search: RowSearch) -> Sequence[Key]:
    """Find artifacts of all engines that expired at least `grace` ago, and abandoned uploads."""
    key = (*_IN_NAMESPACE, ArtifactRow.content_id)
    statement = (
        select(*key)
        .where(_has_expired(session, ArtifactRow, grace), engines.is_settled(ArtifactRow.engine_id))
        .order_by(ArtifactRow.expire_time)
    )
    return await find_keys(session, search.bounded(statement, key))


async def remove_expired(
    grace: timedelta, session: Session, engine_id: int, keys: Sequence[Key]
) -> int:
    """Delete a batch of rows of expired artifacts of one namespace; return the row count.

    Returns 0 if another transaction holds the namespace, or the artifacts are gone.
    """
    _, memory, name, _ = keys[0]
    key = NamespaceKey(engine_id, memory, name)
    namespace = await _lock(session, key)
    if namespace is None:
        return 0
    wanted = any_of([content_id for *_, content_id in keys])
    statement = (
        select(ArtifactRow)
        .where(
            is_in(ArtifactRow, key),
            ArtifactRow.content_id == wanted,
            _has_expired(session, ArtifactRow, grace),
        )
        .with_for_update()
    )
    rows = (await session.execute(statement)).scalars().all()
    contents = [row.content_id for row in rows]
    for row, last, most in (
        (PageRow, PageRow.page, PAGES_AT_ONCE),
        (VectorRow, VectorRow.n, _PIECES_AT_ONCE),
        (ChunkRow, ChunkRow.n, _PIECES_AT_ONCE),
    ):
        if contents and (freed := await _free(session, row, last, engine_id, contents, most)):
            return freed
    if rows:
        await _remove_of_namespace(session, namespace, rows)
    return len(rows)


def _has_expired(
    session: Session, row: type[ArtifactRow | NamespaceRow], grace: timedelta
) -> ColumnElement[bool]:
    """Select rows that expired at least `grace` ago and that no request can still revive."""
    return row.expire_time <= database_time(session) - grace


async def _lock(session: Session, key: NamespaceKey) -> NamespaceRow | None:
    """Lock a namespace before its artifacts, as requests do; None if it is locked or gone."""
    statement = (
        select(NamespaceRow).where(is_in(NamespaceRow, key)).with_for_update(skip_locked=True)
    )
    return (await session.execute(statement)).scalar_one_or_none()


async def find_expired_namespaces(
    grace: timedelta, session: Session, search: RowSearch
) -> Sequence[Key]:
    """Find empty, expired namespaces of all engines, for a sweep."""
    statement = (
        select(*_NAMESPACE_KEY)
        .where(_is_over(session, grace), engines.is_settled(NamespaceRow.engine_id))
        .order_by(NamespaceRow.expire_time)
    )
    return await find_keys(session, search.bounded(statement, _NAMESPACE_KEY))


async def remove_expired_namespaces(
    grace: timedelta, session: Session, engine_id: int, keys: Sequence[Key]
) -> int:
    """Delete empty, expired namespaces of an engine; return the count."""
    return await remove_found(
        NamespaceRow,
        _NAMESPACE_KEY,
        session,
        engine_id,
        keys,
        _is_over(session, grace),
        engines.is_engine_settled(engine_id),
    )


def _is_over(session: Session, grace: timedelta) -> ColumnElement[bool]:
    inside = exists().where(
        is_in(ArtifactRow, NamespaceRow),
    )
    return and_(_has_expired(session, NamespaceRow, grace), ~inside)


async def _free(
    session: Session,
    row: type[PageRow | ChunkRow | VectorRow],
    last: InstrumentedAttribute[int],
    engine_id: int,
    content_ids: Sequence[str],
    limit: int,
) -> int:
    key = (row.content_id, last)
    mine = row.engine_id == engine_id
    some = select(*key).where(mine, row.content_id.in_(content_ids)).limit(limit).cte("some")
    removed = await session.execute(
        delete(row)
        .where(mine, tuple_(*key).in_(select(some)))
        .returning(row.content_id)
        .execution_options(synchronize_session=False)
    )
    return len(removed.all())


async def _remove_of_namespace(
    session: Session, namespace: NamespaceRow, rows: Sequence[ArtifactRow]
) -> None:
    counted = [row for row in rows if row.state != ArtifactState.UPLOADING]
    await session.execute(
        update(NamespaceRow)
        .where(is_in(NamespaceRow, namespace))
        .values(
            artifacts=NamespaceRow.artifacts - len(counted),
            bytes=NamespaceRow.bytes - sum(row.size_bytes for row in counted),
        )
        .execution_options(synchronize_session=False)
    )
    if counted:
        await mark_derived(session, namespace, [row.name for row in counted])
    await session.execute(
        delete(ArtifactRow)
        .where(
            ArtifactRow.engine_id == namespace.engine_id,
            ArtifactRow.content_id.in_([row.content_id for row in rows]),
        )
        .execution_options(synchronize_session=False)
    )
    await remove_if_empty(session, namespace)


# Erasure of a scope


_TABLE: Any = NamespaceRow.__table__
_KEY = (_TABLE.c.memory, _TABLE.c.namespace)
_NAME = NamespaceRow.memory + literal("/namespaces/") + NamespaceRow.namespace


async def _count_of_subject(session: Session, subject: Subject) -> Counts:
    policies = select(func.count()).select_from(ToolPolicyRow).where(_is_left(subject))
    namespaces = await RowsOf(NamespaceRow).count(session, subject)
    return {**namespaces, "tool_policies": (await session.execute(policies)).scalar_one()}


def _is_left(subject: Subject) -> ColumnElement[bool]:
    same = and_(
        NamespaceRow.engine_id == subject.engine_id, NamespaceRow.memory == ToolPolicyRow.memory
    )
    return and_(
        ToolPolicyRow.engine_id == subject.engine_id,
        select(NamespaceRow.namespace).where(same, subject.selects(NamespaceRow)).exists(),
        ~select(NamespaceRow.namespace).where(same, _is_of_others(subject)).exists(),
    )


def _is_of_others(subject: Subject) -> ColumnElement[bool]:
    return func.coalesce(~subject.selects(NamespaceRow), true())


async def _find_ids(session: Session, subject: Subject, ids: Collection[str]) -> Collection[str]:
    mine = subject.selects(NamespaceRow)
    namespaces = select(_NAME).where(mine, any_of(ids) == _NAME)
    memories = (
        select(NamespaceRow.memory)
        .where(NamespaceRow.engine_id == subject.engine_id, NamespaceRow.memory == any_of(ids))
        .group_by(NamespaceRow.memory)
        .having(~func.bool_or(_is_of_others(subject)))
    )
    found = set((await session.execute(namespaces)).scalars())
    return found.union((await session.execute(memories)).scalars())


async def _remove_of_subject(session: Session, subject: Subject, limit: int) -> Counts:
    """Remove empty namespaces of the user, and policies of task memories that become empty."""
    # Policies must go first, since they are found through the namespaces of their task memory.
    policies = await session.execute(
        delete(ToolPolicyRow)
        .where(ToolPolicyRow.engine_id == subject.engine_id, _is_left(subject))
        .returning(ToolPolicyRow.tool)
        .execution_options(synchronize_session=False)
    )
    some = select(NamespaceRow).where(subject.selects(NamespaceRow)).limit(limit).with_for_update()
    rows = (await session.execute(some)).scalars().all()
    if not rows:
        return {}
    columns = {column.name: column for column in _KEY}
    keys = rows_of("keys", columns, [[getattr(row, name) for name in columns] for row in rows])
    await session.execute(
        delete(NamespaceRow)
        .where(
            NamespaceRow.engine_id == subject.engine_id,
            *(column == keys.c[column.name] for column in _KEY),
        )
        .execution_options(synchronize_session=False)
    )
    for row in rows:
        await mark_derived(session, row, None)
    removed = {NamespaceRow.__tablename__: len(rows), "tool_policies": len(policies.all())}
    return {table: count for table, count in removed.items() if count}


_NAMESPACES: Erasure = replace(
    RowsOf(NamespaceRow).erasure(),
    collection="taskMemories",
    find_ids=_find_ids,
    tables=("task_namespaces", "tool_policies"),
    count=_count_of_subject,
    remove=_remove_of_subject,
)
ERASURES = (
    RowsOf(PageRow, most=PAGES_AT_ONCE).erasure(),
    RowsOf(VectorRow).erasure(),
    RowsOf(ChunkRow).erasure(),
    RowsOf(ArtifactRow).erasure(),
    _NAMESPACES,
)
"""Erasure of the rows of a scope."""
