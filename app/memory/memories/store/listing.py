"""SQL statements that list memories, deleted ones included on request, and their scopes."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import (
    CTE,
    BigInteger,
    ColumnElement,
    DateTime,
    Integer,
    Label,
    LargeBinary,
    Select,
    Text,
    bindparam,
    cast,
    exists,
    func,
    literal_column,
    or_,
    select,
    true,
)
from sqlalchemy.sql.elements import True_

from app.adapters.db.bulk import any_of, rows_of
from app.adapters.db.filter_fields import OptionalTimestampField, TimestampField
from app.adapters.db.filters import Fields
from app.adapters.db.hot_sql import prepared
from app.adapters.db.lists import READ_BYTES, ROW_BYTES, List, ReadRows, Slice
from app.adapters.db.resource_fields import WithheldField
from app.adapters.db.server import Row
from app.adapters.db.session import Database, Session
from app.kernel.errors import DeadlineExceeded
from app.kernel.reads import hold
from app.memory.memories.store import repository
from app.memory.memories.store.repository import FILTER_FIELDS
from app.memory.memories.store.tables import MemoryRow, RevisionRow
from app.platform.engines.store.tables import EngineRow

_REVISIONS: Any = RevisionRow.__table__
_OF_DELETED: Fields = {
    "delete_time": OptionalTimestampField(MemoryRow.delete_time),
    "recover_until": TimestampField(MemoryRow.recover_until),
}
KNOWN = List(
    "memories",
    (MemoryRow.create_time, MemoryRow.memory_id),
    is_descending=True,
    fields={**FILTER_FIELDS, **_OF_DELETED},
    orders=(MemoryRow.create_time, MemoryRow.update_time, MemoryRow.delete_time),
)
"""The list with deleted memories."""
LIVE = replace(
    KNOWN,
    fields={**FILTER_FIELDS, **dict.fromkeys(_OF_DELETED, WithheldField("showDeleted=true"))},
)
"""The list of live memories."""


MAX_COUNT = 1_000
"""Maximum number of memories of a scope that are counted."""
NEAR_MEMORIES = 4_096
"""Memories that one pass counts, enough for a page of scopes with 40 memories each."""
NEAR_PAGES = range(26, 102)
"""Scopes of pages that are read by such a pass. Smaller pages need few probes; larger ones would
have too many bytes, which the pass does not bound (21 KB each)."""
SCOPES = List(
    "scopes",
    # An arbitrary order that the index supports.
    (MemoryRow.scope_hash,),
    fields={"scope": repository.FILTER_FIELDS["scope"]},
)


_Scope = Select[bytes, dict[str, Any], bool, int]
Visible = Callable[[datetime], ColumnElement[bool]]
"""`is_live` or `is_known`."""
_ENGINE_ID = bindparam("engine_id", type_=BigInteger)
_NOW: Any = bindparam("now", type_=DateTime(timezone=True))
_AFTER: Any = bindparam("after", type_=LargeBinary)
_ROWS: Any = bindparam("rows", type_=Integer)
_SIZE: Any = (func.octet_length(cast(MemoryRow.scope, Text())) + ROW_BYTES).label("size")


class ScopeCount(NamedTuple):
    """A scope, the number of its live memories, and its size in bytes."""

    scope_hash: bytes
    scope: dict[str, str]
    memories: int
    size: int


class DeletedBy(NamedTuple):
    """The operation that deleted a memory, and its caller; None for the service itself."""

    operation_id: str | None
    caller: str | None


def select_memories(engine_id: int, visible: ColumnElement[bool]) -> Select[MemoryRow]:
    """Select the memories of an engine that `visible` selects: `is_live` or `is_known`."""
    return select(MemoryRow).where(MemoryRow.engine_id == engine_id, visible)


async def list_named(
    session: Session, engine_id: int, memory_ids: Sequence[str], only: ColumnElement[bool]
) -> Sequence[MemoryRow]:
    """Return the memories among these that `only` selects, in no order."""
    statement = select(MemoryRow).where(
        MemoryRow.engine_id == engine_id, MemoryRow.memory_id == any_of(memory_ids), only
    )
    return (await session.execute(statement)).scalars().all()


async def list_deletions(
    session: Session, engine_id: int, rows: Sequence[MemoryRow], now: datetime
) -> Mapping[str, DeletedBy]:
    """Return the operation and caller of each deletion that has a revision, by memory id."""
    versions = [(row.memory_id, row.version) for row in rows if row.delete_time is not None]
    if not versions:
        return {}
    columns = {name: _REVISIONS.c[name] for name in ("memory_id", "version")}
    deleted = rows_of("asked", columns, versions)
    statement = select(RevisionRow.memory_id, RevisionRow.operation_id, RevisionRow.caller).where(
        RevisionRow.engine_id == engine_id,
        RevisionRow.memory_id == deleted.c.memory_id,
        RevisionRow.version == deleted.c.version,
        RevisionRow.expire_time > now,
    )
    return {memory_id: DeletedBy(*by) for memory_id, *by in await session.execute(statement)}


async def read_scopes(
    session: Session, engine_id: int, visible: Visible, page: Slice, now: datetime
) -> ReadRows[ScopeCount]:
    """Return a page of scopes."""
    # Not `read_page`, since many rows have the same scope. The count stops after `MAX_COUNT` +
    # 1.
    has_after = page.after is not None
    if isinstance(page.where, True_):
        statement = _unfiltered_scopes(visible, has_after=has_after)
    else:
        statement = _select_scopes(visible, page.where, has_after=has_after)
    values = _values_of(page, now) | {"engine_id": engine_id}
    return _page_of(page, (await session.execute(statement, values)).all())


async def find_scopes(
    db: Database,
    engine: EngineRow,
    visible: Visible,
    page: Slice,
    now: datetime,
    seconds: float,
) -> ReadRows[ScopeCount] | None:
    """Return the same as `read_scopes`, by a hot statement; for all scopes of a cached engine.

    Return None if there are none, if the engine has changed, or if it takes more than `seconds`.
    """
    has_after = page.after is not None
    values = _values_of(page, now) | {"engine_id": engine.engine_id, "version": engine.version}
    rows: Sequence[Row] = ()
    is_whole = False
    try:
        # Not `statement_timeout`, which costs three more statements; Postgres ends a cancelled one.
        async with asyncio.timeout(seconds):
            if visible is repository.is_live and page.limit in NEAR_PAGES:
                near = _near_scopes(NEAR_MEMORIES, has_after=has_after)
                rows = await db.run(*prepared(near, values))
                is_whole = len(rows) > page.size or sum(row[2] for row in rows) < NEAR_MEMORIES
            if not is_whole:
                rows = await db.run(*prepared(_hot_scopes(visible, has_after=has_after), values))
    except (TimeoutError, DeadlineExceeded):
        return None
    return _page_of(page, rows) if rows else None


def _values_of(page: Slice, now: datetime) -> dict[str, Any]:
    values = {"now": now, "rows": page.limit, "bytes": page.max_bytes}
    return values if page.after is None else values | {"after": page.after[0]}


def _page_of(page: Slice, rows: Sequence[Sequence[Any]]) -> ReadRows[ScopeCount]:
    scopes = [*map(ScopeCount._make, rows)]
    sizes = [scope.size for scope in scopes]
    hold(sum(sizes))
    return page.fitting(scopes, sizes)


async def some_scopes(
    session: Session, engine_id: int, count: int, now: datetime
) -> Sequence[dict[str, str]]:
    """Return up to `count` scopes of live memories, the first ones by their digests."""
    values = {"engine_id": engine_id, "now": now, "rows": count, "bytes": READ_BYTES}
    scopes: Sequence[dict[str, str]] = (
        (await session.execute(_first_scopes(), values)).scalars().all()
    )
    return scopes


@cache
def _first_scopes() -> Select[dict[str, Any]]:
    scopes = _scopes(_next(repository.is_live(_NOW), true()), has_after=False)
    return select(scopes.c.scope)


@cache
def _unfiltered_scopes(
    visible: Visible, *, has_after: bool
) -> Select[bytes, dict[str, Any], int, int]:
    # Cached: building the statement takes twice as long as running it.
    return _select_scopes(visible, true(), has_after=has_after)


@cache
def _near_scopes(memories_read: int, *, has_after: bool) -> Select[bytes, dict[str, Any], int, int]:
    """Select scopes and their counts by one pass over the first memories of the index.

    The last scope may have further memories.
    """
    # A constant: for a parameter, the planner assumes a tenth of the memories.
    limit: Any = literal_column(str(memories_read), Integer())
    is_live = (MemoryRow.engine_id == _ENGINE_ID) & repository.is_live(_NOW)
    memories = select(MemoryRow.scope_hash).where(is_live).order_by(MemoryRow.scope_hash)
    if has_after:
        memories = memories.where(MemoryRow.scope_hash > _AFTER)
    near = memories.limit(limit).subquery("near")
    counts = (
        select(near.c.scope_hash, func.count().label("memories"))
        .group_by(near.c.scope_hash)
        .order_by(near.c.scope_hash)
        .limit(_ROWS)
        .subquery("counts")
    )
    is_its = MemoryRow.scope_hash == counts.c.scope_hash
    scope = select(MemoryRow.scope, _SIZE).where(is_live, is_its).limit(1).lateral("scope")
    return (
        select(counts.c.scope_hash, scope.c.scope, counts.c.memories, scope.c.size)
        .join(scope, true())
        .where(_is_unchanged())
        .order_by(counts.c.scope_hash)
    )


@cache
def _hot_scopes(visible: Visible, *, has_after: bool) -> Select[bytes, dict[str, Any], int, int]:
    return _unfiltered_scopes(visible, has_after=has_after).where(_is_unchanged())


def _is_unchanged() -> ColumnElement[bool]:
    return exists().where(
        EngineRow.engine_id == _ENGINE_ID,
        EngineRow.version == bindparam("version", type_=BigInteger),
        EngineRow.delete_time.is_(None),
        EngineRow.restore.is_(None),
    )


def _select_scopes(
    visible: Visible, condition: ColumnElement[bool], *, has_after: bool
) -> Select[bytes, dict[str, Any], int, int]:
    scopes = _scopes(_next(visible(_NOW), condition), has_after=has_after)
    return (
        select(scopes.c.scope_hash, scopes.c.scope, _count(scopes), scopes.c.size)
        .where(scopes.c.is_wanted)
        .order_by(scopes.c.scope_hash)
    )


def _scopes(next_scope: _Scope, *, has_after: bool) -> CTE:
    """Return the examined scopes, until enough of them are wanted, by number or bytes."""
    # Each scope is found by one probe of the index, starting after the digest of the previous
    # one.
    first = next_scope
    if has_after:
        first = first.where(MemoryRow.scope_hash > _AFTER)
    start = first.subquery("start")
    is_first_wanted = cast(start.c.is_wanted, Integer())
    scopes = select(
        *start.c, is_first_wanted.label("wanted"), (is_first_wanted * start.c.size).label("bytes")
    ).cte("found", recursive=True)
    after = next_scope.where(MemoryRow.scope_hash > scopes.c.scope_hash).lateral("after")
    is_wanted = cast(after.c.is_wanted, Integer())
    # A page has the first scope of any size; a scope beyond the bound shows that there is more.
    is_open = or_(scopes.c.wanted < 2, scopes.c.bytes <= bindparam("bytes", type_=Integer))
    further = (
        select(
            *after.c,
            scopes.c.wanted + is_wanted,
            scopes.c.bytes + is_wanted * after.c.size,
        )
        .select_from(scopes)
        .join(after, true())
        .where(scopes.c.wanted < _ROWS, is_open)
    )
    return scopes.union_all(further)


def _next(visible: ColumnElement[bool], condition: ColumnElement[bool]) -> _Scope:
    # For a row without the key, the condition is null.
    is_wanted: Label[bool] = condition.is_(true()).label("is_wanted")
    return (
        select(MemoryRow.scope_hash, MemoryRow.scope, is_wanted, _SIZE)
        .where(MemoryRow.engine_id == _ENGINE_ID, visible)
        .order_by(MemoryRow.scope_hash)
        .limit(1)
    )


def _count(scopes: CTE) -> ColumnElement[int]:
    some = (
        # Columns of `ix_memories_scope` alone, which is then all that is read.
        select(MemoryRow.scope_hash)
        .where(
            MemoryRow.engine_id == _ENGINE_ID,
            MemoryRow.scope_hash == scopes.c.scope_hash,
            repository.is_live(_NOW),
        )
        .limit(MAX_COUNT + 1)
        .correlate(scopes)
        .subquery()
    )
    return select(func.count()).select_from(some).scalar_subquery()
