"""Statements on the totals of engines. All functions take part in the caller's transaction.

Triggers maintain the counts in the transaction of each change, in rows of the connection's own: see
the migration `totals`.
"""

from collections.abc import Mapping, Sequence

from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import insert

from app.adapters.db.session import Session
from app.adapters.db.spread import Key, RowSearch, find_keys, locked
from app.kernel.limits import Counted
from app.platform.limits.store.tables import EngineTotalsRow

Totals = Mapping[Counted, int]
"""The amounts that an engine holds, by counted kind."""

_KEY = (EngineTotalsRow.engine_id, EngineTotalsRow.backend)
_SUMMED = 0
"""The backend of the rows into which others are merged; no connection has this number."""
_IS_OF_CONNECTION = EngineTotalsRow.backend != _SUMMED


async def read_totals(session: Session, engine_id: int) -> Totals:
    """Return an engine's totals, with all changes committed before this statement."""
    sums = (func.coalesce(func.sum(getattr(EngineTotalsRow, kind)), 0) for kind in Counted)
    statement = select(*sums).where(EngineTotalsRow.engine_id == engine_id)
    row = (await session.execute(statement)).one()
    return {kind: int(value) for kind, value in zip(Counted, row, strict=True)}


async def find_addable(session: Session, search: RowSearch) -> Sequence[Key]:
    """Find rows of connections, of all engines; for a sweep."""
    # In the order of engines: on one server all share a transaction, and two sweeps must not
    # deadlock.
    statement = select(*_KEY).where(_IS_OF_CONNECTION).order_by(*_KEY)
    return await find_keys(session, search.bounded(statement, _KEY))


async def add_up(session: Session, engine_id: int, keys: Sequence[Key]) -> int:
    """Merge an engine's rows of connections; return their number.

    Rows written by a running transaction are skipped. One that is about to write again waits for
    this transaction, which waits only for another sweep.
    """
    held = locked(_KEY, engine_id, keys, _IS_OF_CONNECTION).cte("held")
    statement = (
        delete(EngineTotalsRow)
        .where(
            EngineTotalsRow.engine_id == engine_id,
            EngineTotalsRow.backend.in_(select(held.c.backend)),
        )
        .returning(EngineTotalsRow)
        .execution_options(synchronize_session=False)
    )
    rows = (await session.execute(statement)).scalars().all()
    if rows:
        added = {kind.value: sum(getattr(row, kind) for row in rows) for kind in Counted}
        await _add(session, engine_id, added)
    return len(rows)


async def _add(session: Session, engine_id: int, added: Mapping[str, int]) -> None:
    statement = insert(EngineTotalsRow).values(engine_id=engine_id, backend=_SUMMED, **added)
    totals = {kind: getattr(EngineTotalsRow, kind) + statement.excluded[kind] for kind in Counted}
    await session.execute(statement.on_conflict_do_update(index_elements=_KEY, set_=totals))
