"""Tables of streams and their ingested events."""

from datetime import datetime

from sqlalchemy import (
    Index,
    LargeBinary,
    SmallInteger,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from app.adapters.db.base import Base, JsonObject, child_of
from app.adapters.db.conditions import ByParent, ByScope


class StreamRow(Base):
    """Buffer of one scope and stream id; locked before events are added or a generation ends."""

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
    # Rule of the latest request, or the bank's if the request has none; null means "at once".
    rule: Mapped[JsonObject | None]
    # Revision and metadata fields of the requests since the buffer was last empty.
    options: Mapped[JsonObject]
    # Operation for the waiting events; it may have ended without processing them.
    operation_id: Mapped[str | None] = mapped_column(Text)
    create_time: Mapped[datetime]
    last_arrival_time: Mapped[datetime]
    oldest_pending_time: Mapped[datetime | None]
    pending_count: Mapped[int]
    pending_bytes: Mapped[int]
    next_seq: Mapped[int]
    # Events before this number must be processed at once; 0 if none of them waits.
    flush_seq: Mapped[int]
    # Number of consecutive failures; before `retry_time` only a forced flush starts an operation.
    failure_count: Mapped[int]
    retry_time: Mapped[datetime | None]
    # Earliest retry time of a set-aside event; null without any.
    aside_time: Mapped[datetime | None]


class StreamEventRow(Base):
    """An event of a stream; once processed, only its id stays, and any content for an overlap."""

    __tablename__ = "stream_events"
    conditioned_by = ByParent("streams", ("engine_id", "scope_hash", "stream_id"))
    __table_args__ = (
        UniqueConstraint("engine_id", "scope_hash", "stream_id", "event_id"),
        child_of("streams", "scope_hash", "stream_id"),
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
    # Sender's offset from UTC in minutes; null: unknown.
    utc_offset: Mapped[int | None] = mapped_column(SmallInteger)
    arrival_time: Mapped[datetime]
    # Time of processing into memories; null while the event waits.
    process_time: Mapped[datetime | None]
    content: Mapped[JsonObject | None]
    # Original length of the content, used to estimate the cost of reading it.
    content_bytes: Mapped[int]
    # Maximum batch size for an event that failed with others; null: no limit.
    batch_limit: Mapped[int | None]
    # Retry time of a set-aside event.
    retry_time: Mapped[datetime | None]
