"""Changes to summaries when events are erased or a session's context is cleared.

All functions take part in the caller's transaction, which has locked the session's row.
"""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import and_, func, select, update

from app.adapters.db.session import Session
from app.adapters.db.subjects import RowsOf, TextsOf
from app.conversation.summaries.store.repository import (
    IS_ACTIVE,
    StoredSummaryState,
    change,
    is_retried,
    of,
)
from app.conversation.summaries.store.tables import SessionSummaryRow
from app.kernel.names import SessionName
from app.platform.sessions.logic.event_text import EventNumbers
from app.platform.sessions.store.tables import SessionEventRow

_R = SessionSummaryRow
ERASURES = (RowsOf(_R).erasure(),)
"""Erasure of the rows of a scope."""
TEXTS = (TextsOf(_R, "text", lambda key: f"sessions/{key[0]}"),)
"""Texts that a scan for sensitive values reads."""


async def mark_stale(
    session: Session, engine_id: int, session_id: str, seq: int, now: datetime
) -> Collection[str]:
    """Erase the texts of all summaries that cover an event; return the keys of their policies."""
    covering = and_(
        _R.engine_id == engine_id,
        _R.session_id == session_id,
        _R.first_seq <= seq,
        _R.last_seq >= seq,
        _R.state != StoredSummaryState.FAILED,
    )
    statement = (
        update(_R)
        .where(covering)
        .values(state=StoredSummaryState.STALE, text=None, update_time=now)
        .returning(_R.policy_key)
        .execution_options(synchronize_session=False)
    )
    return set((await session.execute(statement)).scalars())


async def supersede_all(session: Session, name: SessionName, now: datetime) -> Collection[str]:
    """Supersede a session's active summaries, and give up its failed ones.

    Returns the policy keys of the failed ones.
    """
    given_up = (
        update(_R)
        .where(of(name), is_retried())
        .values(retry_time=None, update_time=now)
        .returning(_R.policy_key)
        .execution_options(synchronize_session=False)
    )
    keys = set((await session.execute(given_up)).scalars())
    is_active = and_(of(name), IS_ACTIVE)
    await change(session, is_active, state=StoredSummaryState.SUPERSEDED, update_time=now)
    return keys


async def give_up(session: Session, name: SessionName, policy_key: str, now: datetime) -> None:
    """Give up the failed summaries of a policy, which are no longer due."""
    failed = and_(of(name), _R.policy_key == policy_key, is_retried())
    await change(session, failed, retry_time=None, update_time=now)


async def count_kept(session: Session, name: SessionName, numbers: EventNumbers) -> int:
    """Return the number of events with the given numbers that are not erased."""
    event = SessionEventRow
    statement = select(func.count()).where(
        event.engine_id == name.engine.engine,
        event.session_id == name.session,
        event.seq.between(numbers.first, numbers.last),
        event.delete_time.is_(None),
    )
    return (await session.execute(statement)).scalar_one()
