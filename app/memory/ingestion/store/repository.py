"""Statements on streams and their events; before a change, the caller must lock the stream."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    and_,
    cast,
    delete,
    exists,
    func,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import insert as upsert

from app.adapters.db.bulk import insert_rows
from app.adapters.db.conditions import check_scope
from app.adapters.db.session import Session
from app.adapters.db.spread import Key, RowSearch, find_keys, locked
from app.kernel.errors import NotFound, Reason
from app.kernel.names import EngineName
from app.memory.erasures.store import ErasureRow
from app.memory.ingestion.logic import ListedEvent
from app.memory.ingestion.store.tables import StreamEventRow, StreamRow
from app.platform.engines.logic.config import GenerationRule
from app.platform.engines.store.tables import EngineRow
from app.platform.operations.logic.states import OperationState
from app.platform.operations.store.tables import OperationRow

_KEY = (StreamRow.engine_id, StreamRow.scope_hash, StreamRow.stream_id)
_OPEN = (OperationState.PENDING, OperationState.RUNNING)


@dataclass(frozen=True)
class StreamKey:
    """The key of a stream."""

    engine_id: int
    scope_hash: bytes
    stream_id: str

    @classmethod
    def of(cls, row: StreamRow) -> "StreamKey":
        """Return the key of a stored stream."""
        return cls(row.engine_id, row.scope_hash, row.stream_id)

    @classmethod
    def queued(cls, engine_id: int, request: Mapping[str, Any]) -> "StreamKey":
        """Parse the key from the request of an operation."""
        return cls(engine_id, bytes.fromhex(request["scopeHash"]), request["streamId"])

    def to_queue(self) -> dict[str, Any]:
        """Return the key in the form of an operation's request, which `queued` parses."""
        return {"scopeHash": self.scope_hash.hex(), "streamId": self.stream_id}

    def columns(self) -> dict[str, Any]:
        """Return the key's column values for a new row."""
        return {
            "engine_id": self.engine_id,
            "scope_hash": self.scope_hash,
            "stream_id": self.stream_id,
        }

    def selects(self, table: type[StreamRow] | type[StreamEventRow]) -> ColumnElement[bool]:
        """Return the condition that selects the stream or its events."""
        return and_(
            table.engine_id == self.engine_id,
            table.scope_hash == self.scope_hash,
            table.stream_id == self.stream_id,
        )


def rule_of(row: StreamRow) -> GenerationRule | None:
    """Return the rule of a stream; None: events are ripe at once."""
    return None if row.rule is None else GenerationRule.model_validate(row.rule)


async def lock_or_begin(
    session: Session, key: StreamKey, scope: Mapping[str, str], now: datetime
) -> StreamRow:
    """Lock a stream, creating it if needed, or raise NotFound if the scope is out of reach."""
    check_scope(session, scope)
    new = {
        **key.columns(),
        "scope": dict(scope),
        "options": {},
        "create_time": now,
        "last_arrival_time": now,
        "pending_count": 0,
        "pending_bytes": 0,
        "next_seq": 1,
        "flush_seq": 0,
        "failure_count": 0,
    }
    await session.execute(upsert(StreamRow).values(new).on_conflict_do_nothing())
    statement = select(StreamRow).where(key.selects(StreamRow)).with_for_update()
    return (await session.execute(statement)).scalar_one()


async def find(session: Session, key: StreamKey, *, for_update: bool = False) -> StreamRow | None:
    """Return a stream, or None if it was erased or its engine deleted."""
    statement = select(StreamRow).where(key.selects(StreamRow))
    if for_update:
        statement = statement.with_for_update()
    return (await session.execute(statement)).scalar_one_or_none()


async def lock(session: Session, engine: EngineName, key: StreamKey) -> StreamRow:
    """Lock a stream, or raise NotFound if it does not exist for the caller."""
    row = await find(session, key, for_update=True)
    if row is None:
        message = f"{engine} has no such stream of this scope."
        raise NotFound(message, Reason.RESOURCE_NOT_FOUND)
    return row


async def change(session: Session, row: StreamRow, values: Mapping[str, Any]) -> StreamRow:
    """Update a stream and return it."""
    statement = (
        update(StreamRow)
        .where(StreamKey.of(row).selects(StreamRow))
        .values(**values)
        .returning(StreamRow)
        .execution_options(populate_existing=True)
    )
    return (await session.execute(statement)).scalar_one()


async def known_ids(session: Session, key: StreamKey, ids: Collection[str]) -> set[str]:
    """Return the given event ids that the stream has already received."""
    statement = select(StreamEventRow.event_id).where(
        key.selects(StreamEventRow), StreamEventRow.event_id.in_(ids)
    )
    known = (await session.execute(statement)).scalars()
    return {event_id for event_id in known if event_id is not None}


async def insert_events(session: Session, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert events whose ids are new to the stream."""
    await insert_rows(StreamEventRow, session, rows)


_TIME = func.coalesce(StreamEventRow.event_time, StreamEventRow.arrival_time)
_WAITS = StreamEventRow.process_time.is_(None)


_LISTED = (
    StreamEventRow.seq,
    _TIME.label("time"),
    StreamEventRow.arrival_time,
    StreamEventRow.content_bytes,
    StreamEventRow.batch_limit,
    StreamEventRow.event_id,
    StreamEventRow.event_time,
    StreamEventRow.utc_offset,
)


async def list_due(
    session: Session, key: StreamKey, now: datetime, limit: int
) -> Sequence[ListedEvent]:
    """Return the events to read next, in order; set-aside events come last, once due."""
    is_aside = StreamEventRow.retry_time.is_not(None)
    statement = (
        select(*_LISTED)
        .where(
            key.selects(StreamEventRow),
            _WAITS,
            or_(StreamEventRow.retry_time.is_(None), StreamEventRow.retry_time <= now),
        )
        .order_by(
            is_aside,
            StreamEventRow.batch_limit.desc().nulls_first(),
            _TIME,
            StreamEventRow.seq,
        )
        .limit(limit)
    )
    return [ListedEvent(*row) for row in await session.execute(statement)]


async def list_kept(session: Session, key: StreamKey) -> Sequence[ListedEvent]:
    """Return the processed events whose content is kept for an overlap, in order."""
    statement = (
        select(*_LISTED)
        .where(key.selects(StreamEventRow), ~_WAITS, StreamEventRow.content.is_not(None))
        .order_by(_TIME, StreamEventRow.seq)
    )
    return [ListedEvent(*row) for row in await session.execute(statement)]


async def contents(
    session: Session, key: StreamKey, seqs: Collection[int]
) -> dict[int, Mapping[str, Any]]:
    """Return the contents of events, by event number."""
    statement = select(StreamEventRow.seq, StreamEventRow.content).where(
        key.selects(StreamEventRow), StreamEventRow.seq.in_(seqs)
    )
    return {
        seq: content for seq, content in await session.execute(statement) if content is not None
    }


@dataclass(frozen=True)
class Waiting:
    """Waiting events of a stream; "ready" events are not set aside.

    Attributes:
        bytes: the total length of their contents in bytes.
        oldest: the arrival of the oldest event.
        first_ready: the smallest number of a ready event.
        aside_time: the earliest retry time of a set-aside event.
    """

    count: int
    bytes: int
    oldest: datetime | None
    ready: int
    ready_oldest: datetime | None
    first_ready: int | None
    aside_time: datetime | None


async def count_pending(session: Session, key: StreamKey) -> Waiting:
    """Return the waiting events of a stream."""
    is_ready = StreamEventRow.retry_time.is_(None)
    arrived = func.min(StreamEventRow.arrival_time)
    statement = select(
        func.count(),
        cast(func.coalesce(func.sum(StreamEventRow.content_bytes), 0), BigInteger),
        arrived,
        func.count().filter(is_ready),
        arrived.filter(is_ready),
        func.min(StreamEventRow.seq).filter(is_ready),
        func.min(StreamEventRow.retry_time),
    ).where(key.selects(StreamEventRow), _WAITS)
    return Waiting(*(await session.execute(statement)).one())


async def set_aside(
    session: Session, key: StreamKey, seqs: Collection[int], until: datetime, batch_limit: int
) -> None:
    """Set aside events that failed together, with a retry time and a maximum batch size."""
    await session.execute(
        update(StreamEventRow)
        .where(key.selects(StreamEventRow), StreamEventRow.seq.in_(seqs), _WAITS)
        .values(batch_limit=batch_limit, retry_time=until)
        .execution_options(synchronize_session=False)
    )


async def take_up(session: Session, key: StreamKey) -> None:
    """Make all set-aside events ready."""
    await session.execute(
        update(StreamEventRow)
        .where(key.selects(StreamEventRow), _WAITS, StreamEventRow.retry_time.is_not(None))
        .values(retry_time=None)
        .execution_options(synchronize_session=False)
    )


async def mark_processed(
    session: Session, key: StreamKey, seqs: Collection[int], now: datetime
) -> None:
    """Mark events as processed into memories."""
    await session.execute(
        update(StreamEventRow)
        .where(key.selects(StreamEventRow), StreamEventRow.seq.in_(seqs))
        .values(process_time=now)
    )


async def forget_content(session: Session, key: StreamKey, seqs: Collection[int]) -> None:
    """Erase the contents of events; only rows with an event id are kept."""
    mine = and_(key.selects(StreamEventRow), StreamEventRow.seq.in_(seqs))
    await session.execute(delete(StreamEventRow).where(mine, StreamEventRow.event_id.is_(None)))
    await session.execute(update(StreamEventRow).where(mine).values(content=None))


async def find_stranded(session: Session, search: RowSearch) -> Sequence[Key]:
    """Find writable streams of all engines with waiting events but no open operation."""
    statement = select(*_KEY).where(_is_stranded()).order_by(StreamRow.oldest_pending_time)
    return await find_keys(session, search.bounded(statement, _KEY))


async def lock_stranded(
    session: Session, engine_id: int, keys: Sequence[Key]
) -> Sequence[StreamRow]:
    """Lock and return streams of an engine that `find_stranded` has found."""
    statement = locked(_KEY, engine_id, keys, _is_stranded()).with_only_columns(StreamRow)
    return (await session.execute(statement)).scalars().all()


def _is_stranded() -> ColumnElement[bool]:
    is_served = exists().where(
        EngineRow.engine_id == StreamRow.engine_id,
        EngineRow.delete_time.is_(None),
        EngineRow.restore.is_(None),
    )
    is_open = exists().where(
        OperationRow.engine_id == StreamRow.engine_id,
        OperationRow.operation_id == StreamRow.operation_id,
        OperationRow.state.in_(_OPEN),
    )
    is_under_erasure = exists().where(
        ErasureRow.engine_id == StreamRow.engine_id,
        ErasureRow.scope.is_not(None),
        StreamRow.scope.contains(ErasureRow.scope),
    )
    return and_(StreamRow.oldest_pending_time.is_not(None), is_served, ~is_open, ~is_under_erasure)


async def oldest_pending(session: Session) -> tuple[datetime | None, int, int]:
    """Return for all engines the oldest waiting arrival, waiting events and failed streams."""
    statement = select(
        func.min(StreamRow.oldest_pending_time),
        func.coalesce(func.sum(StreamRow.pending_count), 0),
        func.count().filter(StreamRow.failure_count > 0),
    ).where(StreamRow.oldest_pending_time.is_not(None))
    oldest, count, failed = (await session.execute(statement)).one()
    return oldest, int(count), failed


async def count_pending_of(session: Session, engine_id: int) -> int:
    """Return the number of an engine's events that wait to become memories."""
    statement = select(func.coalesce(func.sum(StreamRow.pending_count), 0)).where(
        StreamRow.engine_id == engine_id
    )
    return int((await session.execute(statement)).scalar_one())


async def exists_pending(session: Session, engine_id: int) -> bool:
    """Return True if events of an engine wait to become memories."""
    statement = select(StreamRow.stream_id).where(
        StreamRow.engine_id == engine_id, StreamRow.pending_count > 0
    )
    return (await session.execute(statement.limit(1))).first() is not None


async def count_again(session: Session, engine_id: int) -> None:
    """Recalculate the columns of streams that depend on waiting events, after a restore."""
    of_it = and_(
        StreamEventRow.engine_id == StreamRow.engine_id,
        StreamEventRow.scope_hash == StreamRow.scope_hash,
        StreamEventRow.stream_id == StreamRow.stream_id,
    )

    def counted(what: Any) -> Any:  # noqa: ANN401 - an expression
        return select(what).where(of_it).scalar_subquery()

    after_last = func.coalesce(func.max(StreamEventRow.seq), 0) + 1
    await session.execute(
        update(StreamRow)
        .where(StreamRow.engine_id == engine_id)
        .values(
            pending_count=counted(func.count()),
            pending_bytes=counted(func.coalesce(func.sum(StreamEventRow.content_bytes), 0)),
            oldest_pending_time=counted(func.min(StreamEventRow.arrival_time)),
            aside_time=counted(func.min(StreamEventRow.retry_time)),
            next_seq=func.greatest(StreamRow.next_seq, counted(after_last)),
        )
        .execution_options(synchronize_session=False)
    )
