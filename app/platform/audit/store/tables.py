"""The table of the audit log."""

from datetime import datetime

from sqlalchemy import Boolean, Index, Text, false
from sqlalchemy.orm import Mapped, mapped_column

from app.adapters.db.base import Base


class _Event:
    """The columns of an audited action."""

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


class AuditEventRow(_Event, Base):
    """An audited action in an engine: caller, method, resource, time, address and result.

    Rows have no content and are only added: a trigger refuses everything else except the removal
    of old ones.
    """

    __tablename__ = "audit_events"
    # For the list over all engines and for removal; the list of one engine uses the key.
    __table_args__ = (Index("ix_audit_events_create_time", "create_time", "event_id", "engine_id"),)

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    create_time: Mapped[datetime] = mapped_column(primary_key=True)
    event_id: Mapped[str] = mapped_column(Text, primary_key=True)


class ServiceEventRow(_Event, Base):
    """The same of the service itself, and of engines out of the caller's reach.

    The rows lie where the keys do, so that keys can be changed whichever node is away.
    """

    __tablename__ = "service_audit_events"

    create_time: Mapped[datetime] = mapped_column(primary_key=True)
    event_id: Mapped[str] = mapped_column(Text, primary_key=True)
    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    """Always 0; the order of the log over all engines has it."""


EventTable = type[AuditEventRow] | type[ServiceEventRow]
