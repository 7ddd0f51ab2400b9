"""Statement that lists the labels in use.

It takes part in the caller's transaction.
"""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, ScalarSelect, and_, literal, select
from sqlalchemy.orm import InstrumentedAttribute

from app.adapters.db.lists import ROW_BYTES, List, ReadRows, Slice
from app.adapters.db.session import Session
from app.kernel.text import after_all_with
from app.memory.memories.store.repository import is_known
from app.memory.memories.store.tables import MemoryRow, RevisionLabelRow, RevisionRow

KEYS = List("revisionLabels", (RevisionLabelRow.key,))
VALUES = List("revisionLabels", (RevisionLabelRow.value,))
"""The values of one key."""


@dataclass(frozen=True)
class WantedLabels:
    """Selection of the labels to list.

    Attributes:
        engine_id: the engine of the revisions.
        key: the key whose values are listed; None: keys are listed.
        prefix: the prefix of all entries.
        now: the time at which the revisions must be readable.
    """

    engine_id: int
    key: str | None
    prefix: str
    now: datetime


async def read_labels(session: Session, wanted: WantedLabels, page: Slice) -> ReadRows[Row[Any]]:
    """Return a page of the distinct keys or values of readable revisions.

    It is not `read_page`, since many rows have the same entry. Each recursion step looks up the
    next entry in the index. The time of a page therefore depends on its length, not on the number
    of revisions.
    """
    (column,) = page.key
    first = column >= wanted.prefix if page.after is None else column > page.after[0]
    entries = select(
        _next(wanted, column, first).label(column.key), literal(1).label("number")
    ).cte("entries", recursive=True)
    last = entries.c[column.key]
    entries = entries.union_all(
        select(_next(wanted, column, column > last), entries.c.number + 1).where(
            last.is_not(None), entries.c.number < page.limit
        )
    )
    found = entries.c[column.key]
    statement = select(found).where(found.is_not(None)).order_by(entries.c.number)
    rows = (await session.execute(statement)).all()
    return page.fitting(rows, [len(json.dumps(value)) + ROW_BYTES for (value,) in rows])


def _next(
    wanted: WantedLabels, column: InstrumentedAttribute[str], bound: ColumnElement[bool]
) -> ScalarSelect[str]:
    """Select the first entry within a bound that has a readable revision."""
    end = after_all_with(wanted.prefix)
    of_revision = and_(
        RevisionRow.engine_id == RevisionLabelRow.engine_id,
        RevisionRow.revision_id == RevisionLabelRow.revision_id,
    )
    of_memory = and_(
        MemoryRow.engine_id == RevisionRow.engine_id, MemoryRow.memory_id == RevisionRow.memory_id
    )
    statement = (
        select(column)
        .join(RevisionRow, of_revision)
        .join(MemoryRow, of_memory)
        .where(
            RevisionLabelRow.engine_id == wanted.engine_id,
            RevisionRow.engine_id == wanted.engine_id,
            MemoryRow.engine_id == wanted.engine_id,
            RevisionRow.expire_time > wanted.now,
            is_known(wanted.now),
            bound,
        )
        .order_by(column)
        .limit(1)
    )
    if wanted.key is not None:
        statement = statement.where(RevisionLabelRow.key == wanted.key)
    if end is not None:
        statement = statement.where(column < end)
    return statement.scalar_subquery()
