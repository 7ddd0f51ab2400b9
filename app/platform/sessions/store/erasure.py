"""Statements that remove sessions or events."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

from sqlalchemy import ColumnElement, and_, delete, exists, null, select, tuple_, update

from app.adapters.db.bulk import any_of
from app.adapters.db.clock import database_time
from app.adapters.db.session import Session
from app.adapters.db.spread import Key, RowSearch, find_keys, locked, remove_found
from app.adapters.db.subjects import Counts, RowsOf, Subject
from app.kernel.checks import Batches, CheckName, CountedRows, Examination, overdue
from app.kernel.limits import Counted
from app.kernel.names import SessionName
from app.platform.engines.store import repository as engines
from app.platform.operations.store.erasure import forget_sessions
from app.platform.sessions.store.tables import (
    AppStateRow,
    SessionEventRow,
    SessionRow,
    UserStateRow,
)

_KEY = (SessionRow.engine_id, SessionRow.session_id)
_EVENT_KEY = (SessionEventRow.engine_id, SessionEventRow.session_id, SessionEventRow.seq)
# Events of an expired session, or of a user who is being erased, go before the session.
_NUMBERS = """
select 'FAILED' as level,
    'its events are not numbered from 1 to its last number without a gap' as problem,
    s.engine_id, 'sessions/' || s.session_id as name
from sessions s
left join lateral (
    select count(*) as number, coalesce(min(seq), 1) as first, coalesce(max(seq), 0) as last
    from session_events e
    where e.engine_id = :engine and e.session_id = s.session_id
) found on true
where s.engine_id = :engine and s.session_id > :after and s.session_id <= :last
    and s.expire_time > statement_timestamp()
    and not exists (select from erasures where engine_id = :engine and scope is not null)
    and (found.number, found.first, found.last) <> (s.last_seq, 1, s.last_seq)
"""
EXAMINATIONS = (
    Examination(CheckName.SESSIONS, _NUMBERS, Batches("sessions", "session_id")),
    overdue("expired sessions", "sessions", "expire_time"),
)
COUNTED = (
    CountedRows(
        "sessions",
        {
            Counted.SESSIONS: "1",
            Counted.BYTES: (
                "octet_length(concat(display_name, labels, session_state, memory_policy))"
            ),
        },
    ),
    CountedRows("session_events", {Counted.EVENTS: "1", Counted.BYTES: "size_bytes"}),
    CountedRows("user_states", {Counted.BYTES: "octet_length(state::text)"}),
    CountedRows("app_states", {Counted.BYTES: "octet_length(state::text)"}),
)


async def erase_event(
    session: Session, name: SessionName, event_id: str, now: datetime
) -> int | None:
    """Erase the content of an event for good; return its number, or None if it does not exist.

    Its row stays, which keeps the numbers free of gaps. The caller has locked the session.
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
    await remove_some(session, row.engine_id, [row.session_id])


async def remove_some(
    session: Session, engine_id: int, ids: Collection[str], *only: ColumnElement[bool]
) -> int:
    """Delete sessions that `only` selects, and their names in operations; return the count."""
    removed = await session.execute(
        delete(SessionRow)
        .where(SessionRow.engine_id == engine_id, SessionRow.session_id == any_of(ids), *only)
        .returning(SessionRow.session_id)
        .execution_options(synchronize_session=False)
    )
    gone = removed.scalars().all()
    await forget_sessions(session, engine_id, gone)
    return len(gone)


async def _remove_of_subject(session: Session, subject: Subject, limit: int) -> Counts:
    some = select(SessionRow.session_id).where(subject.selects(SessionRow)).limit(limit)
    ids = (await session.execute(some)).scalars().all()
    count = await remove_some(session, subject.engine_id, ids, subject.selects(SessionRow))
    return {SessionRow.__tablename__: count} if count else {}


ERASURES = (
    RowsOf(SessionEventRow).named("events", SessionEventRow.event_id),
    replace(RowsOf(SessionRow).named("sessions", SessionRow.session_id), remove=_remove_of_subject),
    RowsOf(UserStateRow).erasure(),
)
"""The rows that belong to a scope; the state of an application belongs to none."""


async def remove_of_engine(session: Session, engine_id: int, limit: int) -> int:
    """Remove up to `limit` events of an engine, then its sessions and states; return the count."""
    mine = SessionEventRow.engine_id == engine_id
    # Events locked by another removal are left to it: neither waits for the other.
    held = select(*_EVENT_KEY).where(mine).limit(limit).with_for_update(skip_locked=True).cte("old")
    removed = await session.execute(
        delete(SessionEventRow)
        .where(mine, tuple_(*_EVENT_KEY).in_(select(held)))
        .returning(SessionEventRow.seq)
        .execution_options(synchronize_session=False)
    )
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


async def find_expired(session: Session, search: RowSearch) -> Sequence[Key]:
    """Find events of expired sessions, or None as the event of an empty one; for a sweep."""
    is_its = and_(
        SessionEventRow.engine_id == SessionRow.engine_id,
        SessionEventRow.session_id == SessionRow.session_id,
    )
    statement = (
        select(*_KEY, SessionEventRow.seq)
        .outerjoin(SessionEventRow, is_its)
        .where(_has_expired(session), engines.is_settled(SessionRow.engine_id))
        .order_by(SessionRow.expire_time, *_KEY)
    )
    return await find_keys(session, search.bounded(statement, (*_KEY, SessionEventRow.seq)))


async def remove_expired(session: Session, engine_id: int, keys: Sequence[Key]) -> int:
    """Remove events of an engine's expired sessions, and sessions without events; count the rows.

    Events go first: a session with many events must not need one long statement.
    """
    sessions = {key[:2] for key in keys}
    held = await session.execute(
        locked(
            _KEY,
            engine_id,
            list(sessions),
            _has_expired(session),
            engines.is_engine_settled(engine_id),
        )
    )
    ids = {session_id for _, session_id in held}
    events = [key for key in keys if key[1] in ids and key[2] is not None]
    count = (
        await remove_found(SessionEventRow, _EVENT_KEY, session, engine_id, events) if events else 0
    )
    has_events = exists().where(
        SessionEventRow.engine_id == SessionRow.engine_id,
        SessionEventRow.session_id == SessionRow.session_id,
    )
    return count + await remove_some(session, engine_id, ids, ~has_events)


def _has_expired(session: Session) -> ColumnElement[bool]:
    return SessionRow.expire_time <= database_time(session)
