"""The tables of rate buckets and of engine totals."""

from datetime import datetime

from sqlalchemy import Double, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from app.adapters.db.base import Base


class RateBucketRow(Base):
    """The units that a key or an engine may still use; they are refilled with time.

    The table is unlogged: after a crash of the server every bucket is full.
    """

    __tablename__ = "rate_buckets"
    __table_args__ = {"prefixes": ["UNLOGGED"]}  # noqa: RUF012 - SQLAlchemy reads it as a plain attribute

    subject: Mapped[str] = mapped_column(Text, primary_key=True)
    tokens: Mapped[float] = mapped_column(Double)
    """Units in the bucket at `update_time`."""
    granted: Mapped[int]
    """Units of the latest lease; read by its own statement only."""
    update_time: Mapped[datetime]
    """The time of the latest lease, by the clock of the database."""


class EngineTotalsRow(Base):
    """The net amount that one connection has added to an engine.

    An engine holds the sum of its rows. Triggers write them, and a sweep merges rows under the
    backend 0: see the migration `totals`.
    """

    __tablename__ = "engine_totals"

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    backend: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    memories: Mapped[int]
    """Live memories; recoverable deleted ones are not counted."""
    sessions: Mapped[int]
    events: Mapped[int]
    """Events of sessions, and events of streams that still hold their content."""
    bytes: Mapped[int]
    """The length of the content of all of them, with revisions and session states."""
    artifact_bytes: Mapped[int] = mapped_column(server_default=text("0"))
    """The length of the artifacts of task memory, including uploads in progress."""
