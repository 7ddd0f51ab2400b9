"""The table of the console's sessions, and every statement on it, by the database's time.

The functions run in the caller's transaction.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    Index,
    LargeBinary,
    Text,
    all_,
    delete,
    func,
    insert,
    literal,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.orm import Mapped, mapped_column

from app.adapters.db.base import Base
from app.adapters.db.clock import database_time
from app.adapters.db.session import Session
from app.adapters.db.spread import RowSearch, Selected


class ConsoleSessionRow(Base):
    """A session of the console, without the cookie's value and the secret of its key."""

    __tablename__ = "console_sessions"
    __table_args__ = (
        Index("ix_console_sessions_key_id", "key_id"),
        Index("ix_console_sessions_end_time", "end_time"),
    )

    session_hash: Mapped[bytes] = mapped_column(LargeBinary, primary_key=True)
    """The SHA-256 of the cookie's value."""
    key_id: Mapped[str] = mapped_column(Text)
    """The API key, or `jwt:` and the subject of a token."""
    secret_hash: Mapped[bytes | None] = mapped_column(LargeBinary)
    """The SHA-256 of the key's secret, used to look up the key; null for a token."""
    grants: Mapped[dict[str, list[str] | dict[str, list[str]] | None] | None] = mapped_column(
        JSONB(none_as_null=True)
    )
    """The permissions and the reach of a token; null for a key, which is looked up each time."""
    create_time: Mapped[datetime]
    last_use_time: Mapped[datetime]
    end_time: Mapped[datetime]
    address: Mapped[str | None] = mapped_column(Text)
    """The IP address of the sign-in."""
    spent_forms: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default="{}")
    """The ids of forms that created a secret; sent again, such a form creates no second secret."""


_Row = ConsoleSessionRow


async def insert_session(
    session: Session, values: Mapping[str, Any], longest: timedelta, latest: datetime | None
) -> None:
    """Insert a session that ends after `longest`, or at `latest` if that is earlier."""
    now = database_time(session)
    end = now + literal(longest)
    if latest is not None:
        end = func.least(end, latest)
    times = {"create_time": now, "last_use_time": now, "end_time": end}
    await session.execute(insert(_Row).values({**values, **times}))


async def find(session: Session, session_hash: bytes, idle: timedelta) -> _Row | None:
    """Return a session that has not ended; without a request for `idle`, it ends."""
    now = database_time(session)
    statement = select(_Row).where(
        _Row.session_hash == session_hash,
        _Row.end_time > now,
        _Row.last_use_time > now - literal(idle),
    )
    return (await session.execute(statement)).scalar_one_or_none()


async def note_use(session: Session, session_hash: bytes, precision: timedelta) -> None:
    """Record a use of a session now, unless one was recorded within `precision`."""
    now = database_time(session)
    await session.execute(
        update(_Row)
        .where(_Row.session_hash == session_hash, _Row.last_use_time <= now - literal(precision))
        .values(last_use_time=now)
        .execution_options(synchronize_session=False)
    )


async def spend_form(session: Session, session_hash: bytes, form_id: str) -> bool:
    """Record that a form of a session was sent; return False if it was sent before."""
    statement = (
        update(_Row)
        .where(_Row.session_hash == session_hash, literal(form_id) != all_(_Row.spent_forms))
        .values(spent_forms=func.array_append(_Row.spent_forms, form_id))
        .returning(_Row.session_hash)
        .execution_options(synchronize_session=False)
    )
    return (await session.execute(statement)).first() is not None


async def give_form_back(session: Session, session_hash: bytes, form_id: str) -> None:
    """Allow a form that changed no data to be sent again."""
    await session.execute(
        update(_Row)
        .where(_Row.session_hash == session_hash)
        .values(spent_forms=func.array_remove(_Row.spent_forms, form_id))
        .execution_options(synchronize_session=False)
    )


async def remove(session: Session, session_hash: bytes) -> None:
    """Remove a session."""
    await session.execute(delete(_Row).where(_Row.session_hash == session_hash))


async def remove_of_key(session: Session, key_id: str) -> None:
    """Remove all sessions of a key."""
    await session.execute(delete(_Row).where(_Row.key_id == key_id))


def select_ended(idle: timedelta, session: Session, search: RowSearch) -> Selected:
    """Select and lock ended sessions for a sweep; `idle` is as for `find`."""
    now = database_time(session)
    has_ended = or_(_Row.end_time <= now, _Row.last_use_time <= now - literal(idle))
    ended = select(_Row.session_hash).where(has_ended)
    return search.bounded(ended, (_Row.session_hash,)).with_for_update(skip_locked=True)


async def remove_ended(session: Session, ended: Selected) -> int:
    """Remove the selected sessions and return their number."""
    statement = (
        delete(_Row)
        .where(_Row.session_hash.in_(select(ended.cte("ended"))))
        .returning(_Row.session_hash)
        .execution_options(synchronize_session=False)
    )
    return len((await session.execute(statement)).all())
