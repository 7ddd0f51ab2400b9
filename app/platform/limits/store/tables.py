"""What is left of the rates, and how much each engine holds."""

from datetime import datetime

from sqlalchemy import Double, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from app.adapters.db.base import Base


class RateBucketRow(Base):
    """The units that a key, or an engine, may still use; they come back with time.

    Nothing of it is worth a write-ahead log: after a crash of the server every bucket is full.
    """

    __tablename__ = "rate_buckets"
    __table_args__ = {"prefixes": ["UNLOGGED"]}  # noqa: RUF012 - SQLAlchemy reads it as a plain attribute

    subject: Mapped[str] = mapped_column(Text, primary_key=True)
    tokens: Mapped[float] = mapped_column(Double)
    """Units in the bucket at `update_time`."""
    granted: Mapped[int]
    """Units that the latest lease took; read by its own statement only."""
    update_time: Mapped[datetime]
    """When the latest lease was asked for, by the clock of the database."""


class EngineTotalsRow(Base):
    """What one connection has added to an engine, less what it has removed.

    An engine holds the sum of its rows. Written by triggers, and by the sweep that adds rows
    together under the backend 0: see the migration `totals`.
    """

    __tablename__ = "engine_totals"

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    backend: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    memories: Mapped[int]
    """Live ones: deleted ones that can be recovered are not among them."""
    sessions: Mapped[int]
    events: Mapped[int]
    """Of sessions, and of streams as long as they hold what was said."""
    bytes: Mapped[int]
    """The length of what all of them say, with revisions and the states of sessions."""
    artifact_bytes: Mapped[int] = mapped_column(server_default=text("0"))
    """The length of the artifacts of task memory, with those that are coming."""
