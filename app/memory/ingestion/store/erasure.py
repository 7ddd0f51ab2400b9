"""Statements that remove streams and events with all their data."""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import ColumnElement, and_, delete, exists, select, tuple_

from app.adapters.db.clock import database_time
from app.adapters.db.filter_fields import ScopeField
from app.adapters.db.filters import Fields
from app.adapters.db.session import Session
from app.adapters.db.spread import Key, RowSearch, find_keys, remove_found
from app.adapters.db.subjects import RowsOf
from app.kernel.ids import scope_hash
from app.memory.ingestion.store import repository
from app.memory.ingestion.store.repository import StreamKey
from app.memory.ingestion.store.tables import StreamEventRow, StreamRow
from app.platform.engines.store import repository as engines

_STREAM_KEY = (StreamRow.engine_id, StreamRow.scope_hash, StreamRow.stream_id)
_EVENT_KEY = (
    StreamEventRow.engine_id,
    StreamEventRow.scope_hash,
    StreamEventRow.stream_id,
    StreamEventRow.seq,
)
ERASURES = (RowsOf(StreamEventRow).erasure(), RowsOf(StreamRow).erasure())
"""Rows that the erasure of a scope removes."""
FILTER_FIELDS: Fields = {
    "scope": ScopeField(StreamRow.scope, lambda scope: StreamRow.scope_hash == scope_hash(scope))
}
"""Fields that a filter for the erasure of streams accepts."""


async def find_old_events(kept: timedelta, session: Session, search: RowSearch) -> Sequence[Key]:
    """Find processed events of all engines that are older than `kept`, for a sweep."""
    statement = (
        select(*_EVENT_KEY)
        .where(_is_old_event(session, kept), engines.is_settled(StreamEventRow.engine_id))
        .order_by(StreamEventRow.arrival_time)
    )
    return await find_keys(session, search.bounded(statement, _EVENT_KEY))


async def remove_old_events(
    kept: timedelta, session: Session, engine_id: int, keys: Sequence[Key]
) -> int:
    """Remove events of an engine that `find_old_events` has found; return the count."""
    return await remove_found(
        StreamEventRow,
        _EVENT_KEY,
        session,
        engine_id,
        keys,
        _is_old_event(session, kept),
        engines.is_engine_settled(engine_id),
    )


def _is_old_event(session: Session, kept: timedelta) -> ColumnElement[bool]:
    is_old = StreamEventRow.arrival_time < database_time(session) - kept
    return and_(StreamEventRow.process_time.is_not(None), is_old)


async def find_old_streams(kept: timedelta, session: Session, search: RowSearch) -> Sequence[Key]:
    """Find empty streams of all engines with no arrival for `kept`, for a sweep."""
    statement = (
        select(*_STREAM_KEY)
        .where(_is_old_stream(session, kept), engines.is_settled(StreamRow.engine_id))
        .order_by(StreamRow.last_arrival_time)
    )
    return await find_keys(session, search.bounded(statement, _STREAM_KEY))


async def remove_old_streams(
    kept: timedelta, session: Session, engine_id: int, keys: Sequence[Key]
) -> int:
    """Remove streams of an engine that `find_old_streams` has found; return the count."""
    return await remove_found(
        StreamRow,
        _STREAM_KEY,
        session,
        engine_id,
        keys,
        _is_old_stream(session, kept),
        engines.is_engine_settled(engine_id),
    )


def _is_old_stream(session: Session, kept: timedelta) -> ColumnElement[bool]:
    is_old = StreamRow.last_arrival_time < database_time(session) - kept
    has_events = exists().where(
        StreamEventRow.engine_id == StreamRow.engine_id,
        StreamEventRow.scope_hash == StreamRow.scope_hash,
        StreamEventRow.stream_id == StreamRow.stream_id,
    )
    return and_(is_old, ~has_events)


async def list_matching(
    session: Session, engine_id: int, clause: ColumnElement[bool]
) -> Sequence[StreamKey]:
    """Return the streams that a purge removes, without locks."""
    statement = (
        select(*_STREAM_KEY)
        .where(StreamRow.engine_id == engine_id, clause)
        # The same order everywhere prevents deadlocks between callers that lock several rows.
        .order_by(*_STREAM_KEY)
    )
    return [StreamKey(*row) for row in await session.execute(statement)]


async def erase(session: Session, key: StreamKey) -> tuple[int, str | None]:
    """Remove a stream; return the number of its events with content, and its operation's id."""
    row = await repository.find(session, key, for_update=True)
    if row is None:
        return 0, None
    statement = delete(StreamEventRow).where(key.selects(StreamEventRow))
    returning = statement.returning(StreamEventRow.content.is_not(None))
    removed = await session.execute(returning.execution_options(synchronize_session=False))
    said = sum(removed.scalars())
    await session.execute(delete(StreamRow).where(key.selects(StreamRow)))
    return said, row.operation_id


async def remove_of_engine(session: Session, engine_id: int, limit: int) -> int:
    """Remove up to `limit` events of an engine, or streams if it has none; return the count."""
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
