"""Statements that find the scopes of an engine's memories."""

from datetime import datetime
from typing import Any

from sqlalchemy import (
    CTE,
    ColumnElement,
    Integer,
    Label,
    Row,
    Select,
    Text,
    cast,
    func,
    or_,
    select,
    true,
)

from app.adapters.db.lists import ROW_BYTES, List, ReadRows, Slice
from app.adapters.db.session import Session
from app.kernel.reads import hold
from app.memory.memories.store import repository
from app.memory.memories.store.tables import MemoryRow

_Scope = Select[bytes, dict[str, Any], bool, int]
MAX_COUNT = 1_000
"""Maximum number of memories of a scope that are counted."""
SCOPES = List(
    "scopes",
    # An arbitrary order that the index supports.
    (MemoryRow.scope_hash,),
    fields={"scope": repository.FILTER_FIELDS["scope"]},
)


async def read_scopes(
    session: Session, engine_id: int, visible: ColumnElement[bool], page: Slice, now: datetime
) -> ReadRows[Row[bytes, dict[str, str], int, int]]:
    """Return a page of scopes: digest, scope, number of live memories, size in bytes.

    It is not `read_page`, since many rows have the same scope. The count stops at `MAX_COUNT` plus
    one.
    """
    found = _found(page, _next(engine_id, visible, page.where))
    statement = (
        select(found.c.scope_hash, found.c.scope, _count(engine_id, found, now), found.c.size)
        .where(found.c.is_wanted)
        .order_by(found.c.scope_hash)
    )
    rows = (await session.execute(statement)).all()
    sizes = [row.size for row in rows]
    hold(sum(sizes))
    return page.fitting(rows, sizes)


def _found(page: Slice, next_scope: _Scope) -> CTE:
    """Return the examined scopes, until enough of them are wanted, by number or bytes.

    Each scope is found by one probe of the index, starting after the digest of the previous one.
    """
    first = next_scope
    if page.after is not None:
        first = first.where(MemoryRow.scope_hash > page.after[0])
    start = first.subquery("start")
    is_first_wanted = cast(start.c.is_wanted, Integer())
    found = select(
        *start.c, is_first_wanted.label("wanted"), (is_first_wanted * start.c.size).label("bytes")
    ).cte("found", recursive=True)
    after = next_scope.where(MemoryRow.scope_hash > found.c.scope_hash).lateral("after")
    is_wanted = cast(after.c.is_wanted, Integer())
    # A page has the first scope of any size; a scope beyond the bound shows that there is more.
    is_open = or_(found.c.wanted < 2, found.c.bytes <= page.max_bytes)
    further = (
        select(
            *after.c,
            found.c.wanted + is_wanted,
            found.c.bytes + is_wanted * after.c.size,
        )
        .select_from(found)
        .join(after, true())
        .where(found.c.wanted < page.limit, is_open)
    )
    return found.union_all(further)


def _next(engine_id: int, visible: ColumnElement[bool], condition: ColumnElement[bool]) -> _Scope:
    # For a row without the key, the condition is null.
    is_wanted: Label[bool] = condition.is_(true()).label("is_wanted")
    size = func.octet_length(cast(MemoryRow.scope, Text())) + ROW_BYTES
    return (
        select(MemoryRow.scope_hash, MemoryRow.scope, is_wanted, size.label("size"))
        .where(MemoryRow.engine_id == engine_id, visible)
        .order_by(MemoryRow.scope_hash)
        .limit(1)
    )


def _count(engine_id: int, found: CTE, now: datetime) -> ColumnElement[int]:
    some = (
        select(MemoryRow.memory_id)
        .where(
            MemoryRow.engine_id == engine_id,
            MemoryRow.scope_hash == found.c.scope_hash,
            repository.is_live(now),
        )
        .limit(MAX_COUNT + 1)
        .correlate(found)
        .subquery()
    )
    return select(func.count()).select_from(some).scalar_subquery()
