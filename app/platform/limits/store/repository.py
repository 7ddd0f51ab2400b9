"""Statements on the totals of engines. All functions take part in the caller's transaction.

Triggers maintain the counts in the transaction of each change, in rows of the connection's own: see
the migration `totals`.
"""

from collections import Counter
from collections.abc import Mapping

from sqlalchemy import delete, func, select, tuple_
from sqlalchemy.dialects.postgresql import insert

from app.adapters.db.session import Session
from app.kernel.limits import Counted
from app.platform.limits.store.tables import EngineTotalsRow

Totals = Mapping[Counted, int]
"""The amounts that an engine holds of everything counted."""

_KEY = (EngineTotalsRow.engine_id, EngineTotalsRow.backend)
_SUMMED = 0
"""The backend of the rows that others are added to; no connection has this number."""


async def read_totals(session: Session, engine_id: int) -> Totals:
    """Return an engine's totals, up to what was committed before this statement."""
    sums = (func.coalesce(func.sum(getattr(EngineTotalsRow, kind)), 0) for kind in Counted)
    statement = select(*sums).where(EngineTotalsRow.engine_id == engine_id)
    row = (await session.execute(statement)).one()
    return {kind: int(value) for kind, value in zip(Counted, row, strict=True)}


async def add_up(session: Session, limit: int) -> int:
    """Merge up to `limit` rows of connections, of all engines; for a sweep.

    Returns the number of rows merged. Rows written by a running transaction are skipped. One that
    is about to write again waits for this transaction, which waits only for another sweep.
    """
    some = (
        select(*_KEY)
        .where(EngineTotalsRow.backend != _SUMMED)
        .order_by(*_KEY)
        .limit(limit)
        .with_for_update(skip_locked=True)
        .cte("some")
    )
    statement = (
        delete(EngineTotalsRow)
        .where(tuple_(*_KEY).in_(select(some)))
        .returning(EngineTotalsRow)
        .execution_options(synchronize_session=False)
    )
    rows = (await session.execute(statement)).scalars().all()
    sums: dict[int, Counter[str]] = {}
    for row in rows:
        counts = sums.setdefault(row.engine_id, Counter())
        counts.update({kind.value: getattr(row, kind) for kind in Counted})
    if sums:
        await _add(session, sums)
    return len(rows)


async def _add(session: Session, sums: Mapping[int, Mapping[str, int]]) -> None:
    # Always in the same order, so that two sweeps cannot deadlock.
    values = [
        {"engine_id": engine_id, "backend": _SUMMED, **added}
        for engine_id, added in sorted(sums.items())
    ]
    statement = insert(EngineTotalsRow).values(values)
    totals = {kind: getattr(EngineTotalsRow, kind) + statement.excluded[kind] for kind in Counted}
    await session.execute(statement.on_conflict_do_update(index_elements=_KEY, set_=totals))
