"""Table of session summaries."""

from datetime import datetime

from sqlalchemy import Index, Text, UniqueConstraint
from sqlalchemy import text as sql_text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column

from app.adapters.db.base import Base, JsonObject, child_of
from app.adapters.db.conditions import ByParent


class SessionSummaryRow(Base):
    """A summary of a part of a session. Its text and range do not change; its state does.

    Exceptions: the text is erased when an event in the range is erased, and a scan may mask
    sensitive values in it.
    """

    __tablename__ = "session_summaries"
    conditioned_by = ByParent("sessions", ("engine_id", "session_id"))
    __table_args__ = (
        child_of("sessions", "session_id"),
        # Prevents two workers from summarising the same events.
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
    """Id made by the server; ids sort by creation time."""
    policy_key: Mapped[str] = mapped_column(Text)
    """Hash of the policy settings that affect summaries; see `policies.py`."""
    policy: Mapped[JsonObject]
    """A policy with that key, used when the summary is regenerated."""
    kind: Mapped[str] = mapped_column(Text)
    """`block`, `merge`, `full` or `recursive`."""
    state: Mapped[str] = mapped_column(Text)
    """`active`, `superseded`, `stale` (its text is erased, or was never kept) or `failed`."""
    version: Mapped[int]
    """Version, from 1, of a summary that is replaced each time, or of a range made again."""
    first_seq: Mapped[int]
    last_seq: Mapped[int]
    """Range of events, both ends included."""
    last_exchange: Mapped[int]
    """Exchange of the range's last event."""
    boundary_seq: Mapped[int]
    """The session's last event when this was made; contexts as of earlier events do not use it."""
    text: Mapped[str | None] = mapped_column(Text)
    """Null if failed or erased."""
    char_limit: Mapped[int]
    is_cut: Mapped[bool] = mapped_column(server_default=sql_text("false"))
    """True if the model wrote too much and the end is missing."""
    previous: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default=sql_text("'{}'"))
    """Ids of the summaries that it absorbed, oldest first."""
    read_first_seq: Mapped[int | None]
    read_last_seq: Mapped[int | None]
    """Range of events read for it, in addition to `previous`; null for a merge."""
    model_id: Mapped[str] = mapped_column(Text)
    template: Mapped[str] = mapped_column(Text)
    usage: Mapped[JsonObject]
    """`{model id: {calls, inputTokens, outputTokens, milliseconds, cost?}}`."""
    error_reason: Mapped[str | None] = mapped_column(Text)
    attempts: Mapped[int] = mapped_column(server_default=sql_text("0"))
    """Number of consecutive failures."""
    retry_time: Mapped[datetime | None]
    create_time: Mapped[datetime]
    update_time: Mapped[datetime]
