"""Statements on the sessions of an engine that is being restored from an archive.

All functions take part in the caller's transaction.
"""

from sqlalchemy import and_, func, or_, select

from app.adapters.db.session import Session
from app.platform.sessions.store.tables import SessionEventRow, SessionRow

_EVENT = SessionEventRow


async def find_miscounted(session: Session, engine_id: int) -> str | None:
    """Return the id of a session whose events are not numbered from 1 to its last number."""
    found = (
        select(
            _EVENT.session_id,
            func.count().label("count"),
            func.max(_EVENT.seq).label("last"),
            func.max(_EVENT.exchange).label("exchanges"),
        )
        .where(_EVENT.engine_id == engine_id)
        .group_by(_EVENT.session_id)
        .subquery()
    )
    last = func.coalesce(found.c.last, 0)
    is_wrong = or_(
        SessionRow.last_seq != last,
        SessionRow.exchanges != func.coalesce(found.c.exchanges, 0),
        func.coalesce(found.c.count, 0) != last,
    )
    statement = (
        select(SessionRow.session_id)
        .outerjoin(found, found.c.session_id == SessionRow.session_id)
        .where(and_(SessionRow.engine_id == engine_id, is_wrong))
        .limit(1)
    )
    return (await session.execute(statement)).scalar_one_or_none()
