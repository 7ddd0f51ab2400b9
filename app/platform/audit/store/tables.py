"""The table of the audit log."""

from datetime import datetime

from sqlalchemy import Boolean, Index, Text, false
from sqlalchemy.orm import Mapped, mapped_column

from app.adapters.db.base import Base


class AuditEventRow(Base):
    """An audited action: caller, method, resource, time, address and result; never content.

    Rows are only added: a trigger refuses everything else except the removal of old ones.
    """

    __tablename__ = "audit_events"
    # For the list over all engines and for removal; the list of one engine uses the key.
    __table_args__ = (Index("ix_audit_events_create_time", "create_time", "event_id", "engine_id"),)

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    """0: the service itself, and events of an engine out of the caller's reach."""
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
    replayed: Mapped[bool] = mapped_column(Boolean, server_default=false())
    """True for a repeated request, which got the answer of its first time."""
    surface: Mapped[str | None] = mapped_column(Text)
    """The interface through which the request came; null: the API itself."""
