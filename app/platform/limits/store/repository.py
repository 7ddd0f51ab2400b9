"""Every statement on the totals of engines. All functions take part in the caller's transaction.

What counts is counted by triggers, each in the transaction of the change and in a row of its
connection's own: see the migration `totals`.
"""

from collections import Counter
from collections.abc import Mapping

from sqlalchemy import delete, func, select, tuple_
from sqlalchemy.dialects.postgresql import insert

from app.adapters.db.session import Session
from app.kernel.limits import Counted
from app.platform.limits.store.tables import EngineTotalsRow

Totals = Mapping[Counted, int]
"""How much an engine holds of everything that is counted."""

_KEY = (EngineTotalsRow.engine_id, EngineTotalsRow.backend)
_SUMMED = 0
"""The backend of the rows that others are added to; no connection has it."""


async def read_totals(session: Session, engine_id: int) -> Totals:
    """Return how much an engine holds, up to what was committed before this statement."""
    sums = (func.coalesce(func.sum(getattr(EngineTotalsRow, kind)), 0) for kind in Counted)
    statement = select(*sums).where(EngineTotalsRow.engine_id == engine_id)
    found = (await session.execute(statement)).one()
    return {kind: int(value) for kind, value in zip(Counted, found, strict=True)}


async def add_up(session: Session, limit: int) -> int:
    """Add up to `limit` rows of connections together, of all engines; a sweep.

    Returns how many went. Rows that a transaction under way has written are left alone; one that
    is about to write again waits for this one, which waits for nobody but another sweep.
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
        found = sums.setdefault(row.engine_id, Counter())
        found.update({kind.value: getattr(row, kind) for kind in Counted})
    if sums:
        await _add(session, sums)
    return len(rows)


async def _add(session: Session, sums: Mapping[int, Mapping[str, int]]) -> None:
    # In one order everywhere, so that two sweeps cannot lock each other out.
    values = [
        {"engine_id": engine_id, "backend": _SUMMED, **added}
        for engine_id, added in sorted(sums.items())
    ]
    statement = insert(EngineTotalsRow).values(values)
    totals = {kind: getattr(EngineTotalsRow, kind) + statement.excluded[kind] for kind in Counted}
    await session.execute(statement.on_conflict_do_update(index_elements=_KEY, set_=totals))
