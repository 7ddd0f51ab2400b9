"""Tables of erasures and of the key of their pseudonyms."""

from datetime import datetime

from sqlalchemy import Boolean, Index, LargeBinary, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from app.adapters.db.base import Base, JsonObject


class ErasureRow(Base):
    """An erasure of a scope. The row outlives its engine: a restore repeats the erasure.

    While `scope` is set, a trigger refuses writes to that scope: see the migration `erasures`.
    """

    __tablename__ = "erasures"
    __table_args__ = (
        Index("ix_erasures_running", "engine_id", postgresql_where=text("scope is not null")),
    )

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    certificate_id: Mapped[str] = mapped_column(Text, primary_key=True)
    engine_name: Mapped[str] = mapped_column(Text)
    subject: Mapped[str] = mapped_column(Text)
    """The pseudonym of the scope."""
    pseudonym_key_id: Mapped[str] = mapped_column(Text)
    has_sessions: Mapped[bool] = mapped_column(Boolean)
    """True if the sessions, task memory and state of the user are erased, too."""
    is_service_wide: Mapped[bool] = mapped_column(Boolean, server_default=text("true"))
    """True if keys that also reach other engines end, too; the requester reached all engines."""
    scope: Mapped[JsonObject | None]
    """The pairs of the scope; null once the erasure has ended."""
    operation_id: Mapped[str] = mapped_column(Text)
    counts: Mapped[JsonObject]
    """The rows removed so far, by table."""
    pseudonymised: Mapped[JsonObject]
    """The rows changed so far, by table."""
    start_time: Mapped[datetime]
    end_time: Mapped[datetime | None]


class PseudonymKeyRow(Base):
    """The key of pseudonyms, unless the settings have one."""

    __tablename__ = "pseudonym_keys"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    key: Mapped[bytes] = mapped_column(LargeBinary)
