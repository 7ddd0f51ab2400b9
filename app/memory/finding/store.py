"""Statements that find resources by their ids, and scopes by a value."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Text, cast, literal, select
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import InstrumentedAttribute

from app.adapters.db.conditions import conditions_of
from app.adapters.db.session import Session
from app.memory.memories.store import listing
from app.memory.memories.store.repository import is_live
from app.memory.memories.store.tables import MemoryRow, RevisionRow
from app.platform.sessions.store.repository import is_unexpired
from app.platform.sessions.store.tables import SessionRow

_USER = "user_id"
_SCOPES_SEEN = 100
_MAX_KEYS = 20
_MAX_ENDING = 10


async def find_memory_of(
    session: Session, engine_id: int, revision_id: int, now: datetime
) -> str | None:
    """Return the id of the memory of an unexpired revision, or None without one."""
    statement = select(RevisionRow.memory_id).where(
        RevisionRow.engine_id == engine_id,
        RevisionRow.revision_id == revision_id,
        RevisionRow.expire_time > now,
    )
    return (await session.execute(statement)).scalar_one_or_none()


async def list_ending(
    session: Session, engine_id: int, column: InstrumentedAttribute[Any], ending: str
) -> Sequence[str]:
    """Return the newest ids of an engine's rows that end so, from their column."""
    number = cast(column, Text)
    statement = (
        select(number)
        .where(column.class_.engine_id == engine_id, number.endswith(ending, autoescape=True))
        .order_by(column.desc())
        .limit(_MAX_ENDING)
    )
    return (await session.execute(statement)).scalars().all()


async def find_keys_of(
    session: Session, engine_id: int, value: str, now: datetime, *, with_sessions: bool
) -> list[str]:
    """Return the keys that have a value in scopes of live memories, or of sessions if asked for."""
    # Without conditions of the caller, some scopes are enough: the scopes of a bank nearly
    # always have the same few keys.
    keys = set(conditions_of(session))
    if not keys:
        some = await listing.some_scopes(session, engine_id, _SCOPES_SEEN, now)
        keys.update(*some)
    is_user = with_sessions and await _has_sessions(session, engine_id, value, now)
    found = [_USER] if is_user else []
    asked = [key for key in (_USER, *sorted(keys - {_USER})) if key not in found]
    for key in asked[:_MAX_KEYS]:
        statement = select(MemoryRow.memory_id).where(
            MemoryRow.engine_id == engine_id,
            MemoryRow.scope.bool_op("@>")(literal({key: value}, JSONB())),
            is_live(now),
        )
        if (await session.execute(statement.limit(1))).first() is not None:
            found.append(key)
    return sorted(found)


async def _has_sessions(session: Session, engine_id: int, user_id: str, now: datetime) -> bool:
    statement = select(SessionRow.session_id).where(
        SessionRow.engine_id == engine_id, SessionRow.user_id == user_id, is_unexpired(now)
    )
    return (await session.execute(statement.limit(1))).first() is not None
