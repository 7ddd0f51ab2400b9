"""Summaries of sessions."""

from datetime import datetime

from sqlalchemy import ForeignKeyConstraint, Index, Text, UniqueConstraint
from sqlalchemy import text as sql_text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column

from app.adapters.db.base import Base, JsonObject
from app.adapters.db.bindings import ByParent


class SessionSummaryRow(Base):
    """A summary of a part of a session. What it says and covers never changes; its state does.

    Its text is erased once an event that it covers is.
    """

    __tablename__ = "session_summaries"
    conditioned_by = ByParent("sessions", ("engine_id", "session_id"))
    __table_args__ = (
        ForeignKeyConstraint(
            ["engine_id", "session_id"],
            ["sessions.engine_id", "sessions.session_id"],
            ondelete="CASCADE",
        ),
        # So that two workers cannot both summarise the same events.
        UniqueConstraint(
            "engine_id",
            "session_id",
            "policy_key",
            "kind",
            "first_seq",
            "last_seq",
            "version",
            name="uq_session_summaries_range",
        ),
        Index(
            "ix_session_summaries_active",
            "engine_id",
            "session_id",
            "policy_key",
            "last_seq",
            postgresql_where=sql_text("state = 'active'"),
        ),
        Index(
            "ix_session_summaries_retried",
            "engine_id",
            "session_id",
            "policy_key",
            postgresql_where=sql_text("retry_time IS NOT NULL"),
        ),
    )

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    session_id: Mapped[str] = mapped_column(Text, primary_key=True)
    summary_id: Mapped[str] = mapped_column(Text, primary_key=True)
    """Made by the server: ids sort by the time of making."""
    policy_key: Mapped[str] = mapped_column(Text)
    """Of what in a policy decides about summaries; see `policies.py`."""
    policy: Mapped[JsonObject]
    """A policy of that key: one by which the summary can be made again."""
    kind: Mapped[str] = mapped_column(Text)
    """`block`, `merge`, `full` or `recursive`."""
    state: Mapped[str] = mapped_column(Text)
    """`active`, `superseded`, `stale` (its text is erased, or was never kept) or `failed`."""
    version: Mapped[int]
    """From 1: of what is replaced each time (a cell), or made again (a range)."""
    first_seq: Mapped[int]
    last_seq: Mapped[int]
    """The events that it covers: from the one to the other, with both."""
    last_exchange: Mapped[int]
    """The exchange of the last event that it covers."""
    boundary_seq: Mapped[int]
    """The last event of the session when this one was made: before it, no context had it."""
    text: Mapped[str | None] = mapped_column(Text)
    """Null while there is none: failed, or erased."""
    char_limit: Mapped[int]
    is_cut: Mapped[bool] = mapped_column(server_default=sql_text("false"))
    """Whether the model wrote more than it should, so that the end is missing."""
    previous: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default=sql_text("'{}'"))
    """The summaries that it took up, oldest first."""
    read_first_seq: Mapped[int | None]
    read_last_seq: Mapped[int | None]
    """The events that were read for it, beside those summaries; null: none, a merge."""
    model_id: Mapped[str] = mapped_column(Text)
    template: Mapped[str] = mapped_column(Text)
    usage: Mapped[JsonObject]
    """`{model id: {calls, inputTokens, outputTokens, milliseconds, cost?}}`."""
    error_reason: Mapped[str | None] = mapped_column(Text)
    attempts: Mapped[int] = mapped_column(server_default=sql_text("0"))
    """How often in a row it has failed."""
    retry_time: Mapped[datetime | None]
    create_time: Mapped[datetime]
    update_time: Mapped[datetime]
