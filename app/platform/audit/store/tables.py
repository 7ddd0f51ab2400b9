"""The table of the audit log."""

from datetime import datetime

from sqlalchemy import Index, Text
from sqlalchemy.orm import Mapped, mapped_column

from app.adapters.db.base import Base


class AuditEventRow(Base):
    """Who did what, when, from where, and what it came to. Never what was said.

    Rows are only added: a trigger refuses everything else, but for the removal of old ones.
    """

    __tablename__ = "audit_events"
    # For the list of all engines, and for the removal of old rows; that of one has the key.
    __table_args__ = (Index("ix_audit_events_create_time", "create_time", "event_id", "engine_id"),)

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    """0: the service itself, and what concerns an engine that the caller does not reach."""
    create_time: Mapped[datetime] = mapped_column(primary_key=True)
    event_id: Mapped[str] = mapped_column(Text, primary_key=True)
    caller: Mapped[str | None] = mapped_column(Text)
    method: Mapped[str] = mapped_column(Text)
    resource: Mapped[str | None] = mapped_column(Text)
    operation: Mapped[str | None] = mapped_column(Text)
    address: Mapped[str | None] = mapped_column(Text)
    request_id: Mapped[str | None] = mapped_column(Text)
    result: Mapped[str] = mapped_column(Text)
    reason: Mapped[str | None] = mapped_column(Text)
