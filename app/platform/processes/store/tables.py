"""The live processes of the service."""

from datetime import datetime

from sqlalchemy import Double, Integer, Text
from sqlalchemy.orm import Mapped, mapped_column

from app.adapters.db.base import Base


class ProcessRow(Base):
    """A process, with its state at its last heartbeat."""

    __tablename__ = "processes"

    process_id: Mapped[str] = mapped_column(Text, primary_key=True)
    # API, WORKER, API_AND_WORKER, or MIGRATION: the mark of a forced migration.
    kind: Mapped[str] = mapped_column(Text)
    release: Mapped[str] = mapped_column(Text)
    # The revision of the schema that this release needs.
    schema: Mapped[str] = mapped_column(Text)
    host: Mapped[str] = mapped_column(Text)
    pid: Mapped[int] = mapped_column(Integer)
    start_time: Mapped[datetime]
    beat_time: Mapped[datetime]
    # Operations that it runs.
    running: Mapped[int] = mapped_column(Integer)
    # The lead of its own clock over the database's; null: not measured.
    skew_seconds: Mapped[float | None] = mapped_column(Double)
    last_sweep_time: Mapped[datetime | None]
