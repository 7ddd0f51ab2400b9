"""Removal of rows that no feature owns once an engine is gone."""

from sqlalchemy import delete, exists, select, tuple_

from app.adapters.db.session import Session
from app.platform.engines.store.tables import EngineRow
from app.platform.limits.store.tables import EngineTotalsRow


async def remove_gone_totals(session: Session, limit: int) -> int:
    """Remove up to `limit` totals of engines that are gone; return the count.

    Such engines are empty, so their totals are zero.
    """
    key = (EngineTotalsRow.engine_id, EngineTotalsRow.backend)
    gone = (
        select(*key)
        .where(~exists().where(EngineRow.engine_id == EngineTotalsRow.engine_id))
        .limit(limit)
        .with_for_update(skip_locked=True)
        .cte("gone")
    )
    statement = (
        delete(EngineTotalsRow)
        .where(tuple_(*key).in_(select(gone)))
        .returning(EngineTotalsRow.backend)
        .execution_options(synchronize_session=False)
    )
    return len((await session.execute(statement)).all())
