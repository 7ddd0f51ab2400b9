"""Tables of streams and their ingested events."""

from datetime import datetime

from sqlalchemy import (
    ForeignKeyConstraint,
    Index,
    LargeBinary,
    SmallInteger,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from app.adapters.db.base import Base, JsonObject
from app.adapters.db.bindings import ByParent, ByScope


class StreamRow(Base):
    """A stream: the buffer of one scope and stream id, with options for its next generation.

    A transaction that adds events, or ends a generation of them, locks this row first.
    """

    __tablename__ = "streams"
    conditioned_by = ByScope()
    __table_args__ = (
        Index(
            "ix_streams_oldest_pending_time",
            "oldest_pending_time",
            postgresql_where=text("oldest_pending_time is not null"),
        ),
        Index("ix_streams_last_arrival_time", "last_arrival_time"),
        Index("ix_streams_list", "engine_id", "last_arrival_time", "scope_hash", "stream_id"),
    )

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    scope_hash: Mapped[bytes] = mapped_column(LargeBinary, primary_key=True)
    stream_id: Mapped[str] = mapped_column(Text, primary_key=True)
    scope: Mapped[JsonObject]
    # The rule of the latest request, or the bank's if it gave none; null means "at once".
    rule: Mapped[JsonObject | None]
    # Revision and metadata fields of the requests since the buffer was last empty.
    options: Mapped[JsonObject]
    # The operation for the waiting events; it may have ended without processing them.
    operation_id: Mapped[str | None] = mapped_column(Text)
    create_time: Mapped[datetime]
    last_arrival_time: Mapped[datetime]
    oldest_pending_time: Mapped[datetime | None]
    pending_count: Mapped[int]
    pending_bytes: Mapped[int]
    next_seq: Mapped[int]
    # Events before this number were asked for at once; 0 if none of them waits any more.
    flush_seq: Mapped[int]
    # Operations in a row that failed; until `retry_time` only a forced flush makes a new one due.
    failure_count: Mapped[int]
    retry_time: Mapped[datetime | None]
    # The first retry time of an event that is set aside; null without any.
    aside_time: Mapped[datetime | None]


class StreamEventRow(Base):
    """An event of a stream; once processed, only its id, except for the content of an overlap."""

    __tablename__ = "stream_events"
    conditioned_by = ByParent("streams", ("engine_id", "scope_hash", "stream_id"))
    __table_args__ = (
        UniqueConstraint("engine_id", "scope_hash", "stream_id", "event_id"),
        ForeignKeyConstraint(
            ["engine_id", "scope_hash", "stream_id"],
            ["streams.engine_id", "streams.scope_hash", "streams.stream_id"],
            ondelete="CASCADE",
        ),
        Index(
            "ix_stream_events_pending",
            "engine_id",
            "scope_hash",
            "stream_id",
            postgresql_where=text("process_time is null"),
        ),
        Index(
            "ix_stream_events_processed",
            "arrival_time",
            postgresql_where=text("process_time is not null"),
        ),
    )

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    scope_hash: Mapped[bytes] = mapped_column(LargeBinary, primary_key=True)
    stream_id: Mapped[str] = mapped_column(Text, primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    event_id: Mapped[str | None] = mapped_column(Text)
    event_time: Mapped[datetime | None]
    # Minutes by which the sender's clock was ahead of UTC; null: not known.
    utc_offset: Mapped[int | None] = mapped_column(SmallInteger)
    arrival_time: Mapped[datetime]
    # The time at which it became memories; null while it waits.
    process_time: Mapped[datetime | None]
    content: Mapped[JsonObject | None]
    # The length of the content as it arrived, which predicts the cost of reading it.
    content_bytes: Mapped[int]
    # For an event that failed with others: the most events that it is read with; null: any number.
    batch_limit: Mapped[int | None]
    # For an event that is set aside: its retry time.
    retry_time: Mapped[datetime | None]
