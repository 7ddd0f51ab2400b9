"""Statements on the streams of an engine that is being restored from an archive.

All functions take part in the caller's transaction.
"""

from typing import Any

from sqlalchemy import and_, func, select, update

from app.adapters.db.session import Session
from app.memory.ingestion.store.tables import StreamEventRow, StreamRow


async def count_again(session: Session, engine_id: int) -> None:
    """Recalculate each stream's columns that depend on its waiting events."""
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
