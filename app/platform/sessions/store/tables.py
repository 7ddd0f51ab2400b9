"""The tables of sessions and their events."""

from datetime import datetime

from sqlalchemy import (
    JSON,
    Index,
    SmallInteger,
    Text,
    UniqueConstraint,
    func,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from app.adapters.db.base import Base, JsonObject, child_of
from app.adapters.db.conditions import ByKeys, ByParent

# Stored as the text sent, because `jsonb` would change the order of keys, -0.0 and 1e308.
_AS_SENT = JSON(none_as_null=True)


class SessionRow(Base):
    """A conversation of a user with an agent, and its state."""

    __tablename__ = "sessions"
    conditioned_by = ByKeys({"user_id": "user_id"})
    __table_args__ = (
        Index("ix_sessions_create_time", "engine_id", "create_time", "session_id"),
        Index("ix_sessions_update_time", "engine_id", "update_time", "session_id"),
        Index("ix_sessions_user", "engine_id", "user_id", "create_time", "session_id"),
        Index("ix_sessions_expire_time", "expire_time"),
    )

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    session_id: Mapped[str] = mapped_column(Text, primary_key=True)
    user_id: Mapped[str] = mapped_column(Text)
    display_name: Mapped[str | None] = mapped_column(Text)
    labels: Mapped[JsonObject] = mapped_column(server_default=text("'{}'"))
    session_state: Mapped[JsonObject] = mapped_column(server_default=text("'{}'"))
    """The session's own state; shared state is in the tables of states."""
    last_seq: Mapped[int] = mapped_column(server_default=text("0"))
    """The number of the session's last event."""
    exchanges: Mapped[int] = mapped_column(server_default=text("0"))
    """The number of the last event's exchange; 0 before a user's first event."""
    is_answered: Mapped[bool] = mapped_column(server_default=text("false"))
    """True if that exchange is complete: the agent has answered."""
    cleared_seq: Mapped[int] = mapped_column(server_default=text("0"))
    """Events up to this one are cleared from contexts."""
    cleared_exchange: Mapped[int] = mapped_column(server_default=text("0"))
    memory_policy: Mapped[JsonObject | None]
    """The session's own context policy; null: the engine's policy applies."""
    version: Mapped[int]
    create_time: Mapped[datetime]
    update_time: Mapped[datetime]
    """The last change of the row; lists are ordered by it."""
    shown_update_time: Mapped[datetime] = mapped_column(server_default=func.now())
    """The time shown to readers: just after the newest event, or at a later change."""
    expire_time: Mapped[datetime]


class UserStateRow(Base):
    """The state shared by a user's sessions. It outlives them."""

    __tablename__ = "user_states"
    conditioned_by = ByKeys({"user_id": "user_id"})

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    user_id: Mapped[str] = mapped_column(Text, primary_key=True)
    state: Mapped[JsonObject]


class AppStateRow(Base):
    """The state shared by all sessions of an engine, of all users."""

    __tablename__ = "app_states"

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    state: Mapped[JsonObject]


class SessionEventRow(Base):
    """An event of a session as sent. It never changes, but may be erased to its number."""

    __tablename__ = "session_events"
    conditioned_by = ByParent("sessions", ("engine_id", "session_id"))
    __table_args__ = (
        child_of("sessions", "session_id"),
        UniqueConstraint("engine_id", "session_id", "event_id"),
        Index("ix_session_events_timestamp", "engine_id", "session_id", "timestamp", "seq"),
    )

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    session_id: Mapped[str] = mapped_column(Text, primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    """From 1, without gaps, in order of arrival."""
    event_id: Mapped[str] = mapped_column(Text)
    author: Mapped[str] = mapped_column(Text)
    invocation_id: Mapped[str] = mapped_column(Text)
    timestamp: Mapped[datetime]
    """The time of the event, as reported by its sender."""
    utc_offset: Mapped[int | None] = mapped_column(SmallInteger)
    """Minutes by which the sender's clock was ahead of UTC; null: not known."""
    content: Mapped[JsonObject | None] = mapped_column(_AS_SENT)
    actions: Mapped[JsonObject | None] = mapped_column(_AS_SENT)
    error_code: Mapped[str | None] = mapped_column(Text)
    error_message: Mapped[str | None] = mapped_column(Text)
    event_metadata: Mapped[JsonObject | None] = mapped_column(_AS_SENT)
    raw_event: Mapped[JsonObject | None] = mapped_column(_AS_SENT)
    exchange: Mapped[int] = mapped_column(server_default=text("0"))
    """The number of its exchange, as `logic/event_text.py` defines it."""
    token_count: Mapped[int | None]
    """The tokens of a prompt it takes, as declared by its sender."""
    delete_time: Mapped[datetime | None]
    size_bytes: Mapped[int]
    """The length of the event as JSON, which bounds pages."""
    create_time: Mapped[datetime]
