"""Statements that find the scopes of an engine's memories."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import CTE, ColumnElement, Integer, Label, Row, Select, cast, func, select, true

from app.adapters.db.filters import Fields
from app.adapters.db.pages import Slice
from app.adapters.db.session import Session
from app.memory.memories.store import repository
from app.memory.memories.store.tables import MemoryRow

MAX_COUNT = 1_000
"""The most memories of a scope that are counted."""
FILTER_FIELDS: Fields = {"scope": repository.FILTER_FIELDS["scope"]}
"""Fields that a filter of scopes accepts."""
KEY = (MemoryRow.scope_hash,)
"""The order of the list: by digest, which the index has and which means nothing."""


@dataclass(frozen=True)
class Wanted:
    """The scopes of an engine that a page lists.

    Attributes:
        engine_id: the engine.
        visible: the memories that have a scope listed; `is_live` or `is_known`.
        condition: selects scopes by the caller's filter.
    """

    engine_id: int
    visible: ColumnElement[bool]
    condition: ColumnElement[bool]


async def list_page(
    session: Session, wanted: Wanted, page: Slice, now: datetime
) -> Sequence[Row[bytes, dict[str, str], int]]:
    """Return a page of scopes: digest, scope, number of live memories.

    No more memories are counted than one above `MAX_COUNT`.
    """
    found = _found(wanted, page)
    statement = (
        select(found.c.scope_hash, found.c.scope, _count(wanted.engine_id, found, now))
        .where(found.c.is_wanted)
        .order_by(found.c.scope_hash)
    )
    return (await session.execute(statement)).all()


def _found(wanted: Wanted, page: Slice) -> CTE:
    """Return the scopes that are looked at, until enough of them are wanted.

    Each is found by one probe of the index, from the digest of the one before.
    """
    first = _next(wanted)
    if page.after is not None:
        first = first.where(MemoryRow.scope_hash > page.after[0])
    start = first.subquery("start")
    found = select(*start.c, cast(start.c.is_wanted, Integer()).label("wanted")).cte(
        "found", recursive=True
    )
    after = _next(wanted).where(MemoryRow.scope_hash > found.c.scope_hash).lateral("after")
    further = (
        select(*after.c, found.c.wanted + cast(after.c.is_wanted, Integer()))
        .select_from(found)
        .join(after, true())
        .where(found.c.wanted < page.limit)
    )
    return found.union_all(further)


def _next(wanted: Wanted) -> Select[bytes, dict[str, Any], bool]:
    # A row without a key gives neither true nor false.
    is_wanted: Label[bool] = wanted.condition.is_(true()).label("is_wanted")
    return (
        select(MemoryRow.scope_hash, MemoryRow.scope, is_wanted)
        .where(MemoryRow.engine_id == wanted.engine_id, wanted.visible)
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
