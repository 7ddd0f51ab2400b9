"""Every statement on streams and their events. All functions take part in the caller's transaction.

The functions that change a stream or its events expect the stream to be locked.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Row,
    and_,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import insert as upsert

from app.core.errors import NotFound
from app.db.session import Session
from app.engines.tables import EngineRow
from app.ingestion.tables import StreamEventRow, StreamRow
from app.operations.schemas import State
from app.operations.tables import OperationRow

_OPEN = (State.PENDING, State.RUNNING)


@dataclass(frozen=True)
class StreamKey:
    """Which stream."""

    engine_id: int
    scope_hash: bytes
    stream_id: str

    @classmethod
    def of(cls, row: StreamRow) -> "StreamKey":
        """Return the key of a stored stream."""
        return cls(row.engine_id, row.scope_hash, row.stream_id)

    @classmethod
    def queued(cls, engine_id: int, request: Mapping[str, Any]) -> "StreamKey":
        """Read the key from the request of an operation."""
        return cls(engine_id, bytes.fromhex(request["scopeHash"]), request["streamId"])

    def to_queue(self) -> dict[str, Any]:
        """Return the key as the request of an operation, for `queued`."""
        return {"scopeHash": self.scope_hash.hex(), "streamId": self.stream_id}

    def columns(self) -> dict[str, Any]:
        """Return the key's columns of a new row."""
        return {
            "engine_id": self.engine_id,
            "scope_hash": self.scope_hash,
            "stream_id": self.stream_id,
        }

    def selects(self, table: type[StreamRow] | type[StreamEventRow]) -> ColumnElement[bool]:
        """Select the stream, or its events."""
        return and_(
            table.engine_id == self.engine_id,
            table.scope_hash == self.scope_hash,
            table.stream_id == self.stream_id,
        )


async def lock_or_begin(
    session: Session, key: StreamKey, scope: Mapping[str, str], now: datetime
) -> StreamRow:
    """Lock a stream, which begins now if there was none."""
    new = {
        **key.columns(),
        "scope": dict(scope),
        "options": {},
        "create_time": now,
        "last_arrival_time": now,
        "pending_count": 0,
        "next_seq": 1,
        "flush_seq": 0,
    }
    await session.execute(upsert(StreamRow).values(new).on_conflict_do_nothing())
    statement = select(StreamRow).where(key.selects(StreamRow)).with_for_update()
    return (await session.execute(statement)).scalar_one()


async def get(session: Session, key: StreamKey, *, for_update: bool = False) -> StreamRow:
    """Return a stream.

    Raises:
        NotFound: it went with its engine.
    """
    statement = select(StreamRow).where(key.selects(StreamRow))
    if for_update:
        statement = statement.with_for_update()
    row = (await session.execute(statement)).scalar_one_or_none()
    if row is None:
        raise NotFound.of(f"The stream, with reasoningEngines/{key.engine_id},")
    return row


async def change(session: Session, row: StreamRow, values: Mapping[str, Any]) -> StreamRow:
    """Change a stream."""
    statement = (
        update(StreamRow)
        .where(StreamKey.of(row).selects(StreamRow))
        .values(**values)
        .returning(StreamRow)
        .execution_options(populate_existing=True)
    )
    return (await session.execute(statement)).scalar_one()


async def known_ids(session: Session, key: StreamKey, ids: Collection[str]) -> set[str]:
    """Return those event ids that the stream has had."""
    statement = select(StreamEventRow.event_id).where(
        key.selects(StreamEventRow), StreamEventRow.event_id.in_(ids)
    )
    found = (await session.execute(statement)).scalars()
    return {one for one in found if one is not None}


async def insert_events(session: Session, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert events whose ids the stream does not know."""
    await session.execute(insert(StreamEventRow), [dict(row) for row in rows])


_STREAM_KEY = (StreamRow.engine_id, StreamRow.scope_hash, StreamRow.stream_id)
_EVENT_KEY = (
    StreamEventRow.engine_id,
    StreamEventRow.scope_hash,
    StreamEventRow.stream_id,
    StreamEventRow.seq,
)
_TIME = func.coalesce(StreamEventRow.event_time, StreamEventRow.arrival_time)
_WAITS = StreamEventRow.process_time.is_(None)


async def list_pending(session: Session, key: StreamKey, limit: int) -> Sequence[StreamEventRow]:
    """Return the first events that wait, in the order of their times."""
    statement = (
        select(StreamEventRow)
        .where(key.selects(StreamEventRow), _WAITS)
        .order_by(_TIME, StreamEventRow.seq)
        .limit(limit)
    )
    return (await session.execute(statement)).scalars().all()


async def list_processed(session: Session, key: StreamKey) -> Sequence[StreamEventRow]:
    """Return the processed events whose content is kept: those that an overlap may read again."""
    statement = select(StreamEventRow).where(
        key.selects(StreamEventRow), ~_WAITS, StreamEventRow.content.is_not(None)
    )
    return (await session.execute(statement)).scalars().all()


@dataclass(frozen=True)
class Waiting:
    """What waits in a stream: how many events, when the oldest arrived, the least number."""

    count: int
    oldest: datetime | None
    first_seq: int | None


async def count_pending(session: Session, key: StreamKey) -> Waiting:
    """Return what waits in a stream."""
    oldest, first = func.min(StreamEventRow.arrival_time), func.min(StreamEventRow.seq)
    statement = select(func.count(), oldest, first).where(key.selects(StreamEventRow), _WAITS)
    return Waiting(*(await session.execute(statement)).one())


async def mark_processed(
    session: Session, key: StreamKey, seqs: Collection[int], now: datetime
) -> None:
    """Note that events have become memories."""
    await session.execute(
        update(StreamEventRow)
        .where(key.selects(StreamEventRow), StreamEventRow.seq.in_(seqs))
        .values(process_time=now)
    )


async def forget_content(session: Session, key: StreamKey, seqs: Collection[int]) -> None:
    """Erase what events said; of those that had an id, it stays known."""
    mine = and_(key.selects(StreamEventRow), StreamEventRow.seq.in_(seqs))
    await session.execute(delete(StreamEventRow).where(mine, StreamEventRow.event_id.is_(None)))
    await session.execute(update(StreamEventRow).where(mine).values(content=None))


async def list_stranded(
    session: Session, limit: int
) -> Sequence[Row[StreamRow, EngineRow, OperationRow | None]]:
    """Lock streams in which events wait without an operation that is to process them; a sweep's.

    Each comes with its engine, if that is not deleted, and the operation that has ended.
    """
    mine = and_(
        OperationRow.engine_id == StreamRow.engine_id,
        OperationRow.operation_id == StreamRow.operation_id,
    )
    statement = (
        select(StreamRow, EngineRow, OperationRow)
        .join(EngineRow, EngineRow.engine_id == StreamRow.engine_id)
        .outerjoin(OperationRow, mine)
        .where(
            StreamRow.oldest_pending_time.is_not(None),
            EngineRow.delete_time.is_(None),
            or_(OperationRow.operation_id.is_(None), OperationRow.state.not_in(_OPEN)),
        )
        .order_by(StreamRow.oldest_pending_time)
        .limit(limit)
        .with_for_update(of=StreamRow, skip_locked=True)
    )
    return (await session.execute(statement)).all()


async def oldest_pending(session: Session) -> tuple[datetime | None, int]:
    """Return when the oldest waiting event of all engines arrived, and how many wait."""
    statement = select(
        func.min(StreamRow.oldest_pending_time), func.coalesce(func.sum(StreamRow.pending_count), 0)
    ).where(StreamRow.oldest_pending_time.is_not(None))
    oldest, count = (await session.execute(statement)).one()
    return oldest, int(count)


async def remove_old_events(session: Session, before: datetime, limit: int) -> int:
    """Remove processed events that arrived before a moment, of all engines; return how many."""
    old = (
        select(*_EVENT_KEY)
        .where(~_WAITS, StreamEventRow.arrival_time < before)
        .limit(limit)
        .with_for_update(skip_locked=True)
        .cte("old")
    )
    statement = delete(StreamEventRow).where(tuple_(*_EVENT_KEY).in_(select(old)))
    return len((await session.execute(statement.returning(StreamEventRow.seq))).all())


async def remove_old_streams(session: Session, before: datetime, limit: int) -> int:
    """Remove streams without events that have been silent since a moment; return how many."""
    has_events = exists().where(
        StreamEventRow.engine_id == StreamRow.engine_id,
        StreamEventRow.scope_hash == StreamRow.scope_hash,
        StreamEventRow.stream_id == StreamRow.stream_id,
    )
    old = (
        select(*_STREAM_KEY)
        .where(StreamRow.last_arrival_time < before, ~has_events)
        .limit(limit)
        .with_for_update(skip_locked=True)
        .cte("old")
    )
    statement = delete(StreamRow).where(tuple_(*_STREAM_KEY).in_(select(old)))
    return len((await session.execute(statement.returning(StreamRow.stream_id))).all())


async def remove_of_engine(session: Session, engine_id: int, limit: int) -> int:
    """Remove up to `limit` events of an engine, or without any its streams; return how many."""
    table: type[StreamEventRow | StreamRow]
    for table, key in ((StreamEventRow, _EVENT_KEY), (StreamRow, _STREAM_KEY)):
        some = select(*key).where(table.engine_id == engine_id).limit(limit).cte("some")
        statement = (
            delete(table)
            .where(table.engine_id == engine_id, tuple_(*key).in_(select(some)))
            .returning(table.stream_id)
        )
        if removed := len((await session.execute(statement)).all()):
            return removed
    return 0
