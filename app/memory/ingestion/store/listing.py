"""Statements that list the streams of an engine."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

from sqlalchemy import Select, func, select

from app.adapters.db.bulk import any_of, rows_of
from app.adapters.db.filter_fields import NumberField, TextField, TimestampField
from app.adapters.db.filters import Fields
from app.adapters.db.lists import List
from app.adapters.db.session import Session
from app.memory.ingestion.store import erasure
from app.memory.ingestion.store.repository import StreamKey
from app.memory.ingestion.store.tables import StreamEventRow, StreamRow
from app.platform.operations.store.repository import is_kept
from app.platform.operations.store.tables import OperationRow

_TABLE: Any = StreamEventRow.__table__
_FIELDS: Fields = {
    **erasure.FILTER_FIELDS,
    "stream_id": TextField(StreamRow.stream_id),
    "pending_count": NumberField(StreamRow.pending_count),
    "failure_count": NumberField(StreamRow.failure_count),
    "last_arrival_time": TimestampField(StreamRow.last_arrival_time),
    "oldest_pending_time": TimestampField(StreamRow.oldest_pending_time),
}
STREAMS = List(
    "streams",
    (StreamRow.last_arrival_time, StreamRow.scope_hash, StreamRow.stream_id),
    is_descending=True,
    fields=_FIELDS,
)


def select_streams(engine_id: int) -> Select[StreamRow]:
    """Select the streams of an engine."""
    return select(StreamRow).where(StreamRow.engine_id == engine_id)


async def count_aside(
    session: Session, engine_id: int, keys: Collection[StreamKey]
) -> dict[StreamKey, int]:
    """Return the number of set-aside events by stream; streams without any are left out."""
    if not keys:
        return {}
    stream = (StreamEventRow.scope_hash, StreamEventRow.stream_id)
    columns = {name: _TABLE.c[name] for name in ("scope_hash", "stream_id")}
    asked = rows_of("asked", columns, [(key.scope_hash, key.stream_id) for key in keys])
    statement = (
        select(*stream, func.count())
        .where(
            StreamEventRow.engine_id == engine_id,
            *(column == asked.c[column.key] for column in stream),
            StreamEventRow.process_time.is_(None),
            StreamEventRow.retry_time.is_not(None),
        )
        .group_by(*stream)
    )
    counts = await session.execute(statement)
    return {StreamKey(engine_id, digest, stream_id): count for digest, stream_id, count in counts}


async def find_operations(
    session: Session, engine_id: int, operation_ids: Collection[str], now: datetime
) -> dict[str, OperationRow]:
    """Return operations of an engine that are still kept, by id."""
    if not operation_ids:
        return {}
    statement = select(OperationRow).where(
        OperationRow.engine_id == engine_id,
        OperationRow.operation_id == any_of(operation_ids),
        is_kept(now),
    )
    rows = (await session.execute(statement)).scalars()
    return {row.operation_id: row for row in rows}
