"""Statements that remove sessions or events, all within the caller's transaction."""

from datetime import datetime

from sqlalchemy import ColumnElement, delete, null, select, tuple_, update
from sqlalchemy.sql.dml import ReturningDelete

from app.adapters.db.clock import database_time
from app.adapters.db.session import Session
from app.adapters.db.subjects import RowsOf
from app.kernel.names import SessionName
from app.platform.engines.store import repository as engines
from app.platform.sessions.store.tables import (
    AppStateRow,
    SessionEventRow,
    SessionRow,
    UserStateRow,
)

ERASURES = (
    RowsOf(SessionEventRow).named("events", SessionEventRow.event_id),
    RowsOf(SessionRow).named("sessions", SessionRow.session_id),
    RowsOf(UserStateRow).erasure(),
)
"""The rows that belong to a scope; the state of an application belongs to none."""


async def erase_event(
    session: Session, name: SessionName, event_id: str, now: datetime
) -> int | None:
    """Erase the content of an event for good; return its number, or None if it does not exist.

    Its row stays with number, exchange and times, so that the numbers have no gap; no reader sees
    it. The caller has locked the session.
    """
    row = SessionEventRow
    content = (row.content, row.actions, row.error_code, row.error_message, row.event_metadata)
    statement = (
        update(row)
        .where(
            row.engine_id == name.engine.engine,
            row.session_id == name.session,
            row.event_id == event_id,
            row.delete_time.is_(None),
        )
        .values({column: null() for column in (*content, row.raw_event, row.token_count)})
        # Both columns are free text of the caller and never null.
        .values(author="", invocation_id="", delete_time=now, size_bytes=0)
        .returning(row.seq)
        .execution_options(synchronize_session=False)
    )
    seq: int | None = (await session.execute(statement)).scalar_one_or_none()
    return seq


async def remove(session: Session, row: SessionRow) -> None:
    """Delete a session with its events."""
    await session.execute(
        delete(SessionRow).where(
            SessionRow.engine_id == row.engine_id, SessionRow.session_id == row.session_id
        )
    )


async def remove_of_engine(session: Session, engine_id: int, limit: int) -> int:
    """Remove up to `limit` events of an engine; without events its sessions, then their states.

    Returns the number of rows removed.
    """
    is_mine = SessionEventRow.engine_id == engine_id
    removed = await session.execute(_event_removal(is_mine, limit).where(is_mine))
    if count := len(removed.all()):
        return count
    ids = select(SessionRow.session_id).where(SessionRow.engine_id == engine_id).limit(limit)
    gone = await session.execute(
        delete(SessionRow)
        .where(SessionRow.engine_id == engine_id, SessionRow.session_id.in_(ids))
        .returning(SessionRow.session_id)
        .execution_options(synchronize_session=False)
    )
    if count := len(gone.all()):
        return count
    return await _remove_user_states(session, engine_id, limit) or await _remove_app_state(
        session, engine_id
    )


async def _remove_user_states(session: Session, engine_id: int, limit: int) -> int:
    users = select(UserStateRow.user_id).where(UserStateRow.engine_id == engine_id).limit(limit)
    gone = await session.execute(
        delete(UserStateRow)
        .where(UserStateRow.engine_id == engine_id, UserStateRow.user_id.in_(users))
        .returning(UserStateRow.user_id)
        .execution_options(synchronize_session=False)
    )
    return len(gone.all())


async def _remove_app_state(session: Session, engine_id: int) -> int:
    gone = await session.execute(
        delete(AppStateRow)
        .where(AppStateRow.engine_id == engine_id)
        .returning(AppStateRow.engine_id)
        .execution_options(synchronize_session=False)
    )
    return len(gone.all())


async def remove_expired(session: Session, limit: int) -> int:
    """Remove up to `limit` events of expired sessions, then the sessions; return the rows removed.

    For a sweep. Events go first, so that a session with many events does not need one long
    statement.
    """
    key = (SessionRow.engine_id, SessionRow.session_id)
    is_over = SessionRow.expire_time <= database_time(session)
    is_settled = engines.is_settled(SessionRow.engine_id)
    expired = select(*key).where(is_over, is_settled).limit(limit)
    keys = (await session.execute(expired.with_for_update(skip_locked=True))).all()
    if not keys:
        return 0
    theirs = tuple_(SessionEventRow.engine_id, SessionEventRow.session_id).in_(keys)
    removed = await session.execute(_event_removal(theirs, limit))
    if len(removed.all()) == limit:
        return limit
    await session.execute(
        delete(SessionRow)
        .where(tuple_(*key).in_(keys))
        .execution_options(synchronize_session=False)
    )
    return len(keys)


def _event_removal(which: ColumnElement[bool], limit: int) -> ReturningDelete[int]:
    key = (SessionEventRow.engine_id, SessionEventRow.session_id, SessionEventRow.seq)
    # Events locked by another removal are left to it: neither waits for the other.
    held = select(*key).where(which).limit(limit).with_for_update(skip_locked=True).cte("old")
    return (
        delete(SessionEventRow)
        .where(tuple_(*key).in_(select(held)))
        .returning(SessionEventRow.seq)
        .execution_options(synchronize_session=False)
    )
