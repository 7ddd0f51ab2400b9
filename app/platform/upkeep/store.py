"""Removal of rows that no feature owns once an engine is gone."""

from collections.abc import Sequence

from sqlalchemy import exists, select

from app.adapters.db.session import Session
from app.adapters.db.spread import Key, RowSearch, find_keys, remove_found
from app.platform.engines.store.tables import EngineRow
from app.platform.limits.store import EngineTotalsRow

_KEY = (EngineTotalsRow.engine_id, EngineTotalsRow.backend)
_IS_GONE = ~exists().where(EngineRow.engine_id == EngineTotalsRow.engine_id)
"""Selects totals of engines that are gone; such engines are empty, so their totals are zero."""


async def find_gone_totals(session: Session, search: RowSearch) -> Sequence[Key]:
    """Find totals of engines that are gone; for a sweep."""
    return await find_keys(session, search.bounded(select(*_KEY).where(_IS_GONE), _KEY))


async def remove_gone_totals(session: Session, engine_id: int, keys: Sequence[Key]) -> int:
    """Remove totals of an engine that is gone; return the count."""
    return await remove_found(EngineTotalsRow, _KEY, session, engine_id, keys, _IS_GONE)
