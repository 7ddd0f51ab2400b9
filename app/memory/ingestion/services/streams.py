"""The streams of an engine: their list, their sweeps, their metrics, and the end of a restore."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial

from prometheus_client import Gauge

from app.adapters.batches import SweepBatches
from app.adapters.db.lists import list_page
from app.adapters.db.session import Session
from app.adapters.metrics import of_all
from app.adapters.resources import Resources
from app.kernel.names import EngineName
from app.kernel.paging import PageRequest
from app.memory.ingestion.schemas import ListStreamsResponse, Stream
from app.memory.ingestion.services.ingestion import FAILED_OPERATION, IngestionService
from app.memory.ingestion.store import erasure, listing, repository
from app.memory.ingestion.store.repository import StreamKey
from app.memory.ingestion.store.tables import StreamRow
from app.platform.engines.store import repository as engines
from app.platform.engines.store.tables import EngineRow
from app.platform.operations.store.tables import OperationRow

_PENDING = of_all(
    Gauge, "memory_bank_ingestion_pending_events", "Ingested events that are not in memories yet."
)
_OLDEST = of_all(
    Gauge,
    "memory_bank_ingestion_oldest_pending_seconds",
    "Time that the oldest of them has waited; 0 without any.",
)
_FAILED = of_all(
    Gauge, "memory_bank_streams_failed", "Streams with waiting events whose last operation failed."
)


async def list_streams(
    resources: Resources, name: EngineName, filter_text: str | None, page: PageRequest
) -> ListStreamsResponse:
    """Return a page of an engine's streams, latest arrival first.

    Raises:
        InvalidArgument: the filter or the token is unreadable.
    """
    asked = listing.STREAMS.filtered_page(page, resources.settings, filter_text, engine=name.engine)
    async with resources.db.snapshot() as session:
        await engines.get(session, name)
        rows, token = await list_page(session, listing.select_streams(name.engine), asked)
        streams = await _described(session, name.engine, rows, resources.clock.now())
    return ListStreamsResponse(streams=streams, next_page_token=token)


async def _described(
    session: Session, engine_id: int, rows: Sequence[StreamRow], now: datetime
) -> list[Stream]:
    with_aside = [StreamKey.of(row) for row in rows if row.aside_time is not None]
    aside = await listing.count_aside(session, engine_id, with_aside)
    current_ids = {row.operation_id for row in rows if row.operation_id is not None}
    known = await listing.find_operations(session, engine_id, current_ids, now)
    before = {operation.operation_id: _id_before(operation) for operation in known.values()}
    failed = await listing.find_operations(session, engine_id, set(before.values()), now)
    return [
        Stream.from_row(
            row,
            aside.get(StreamKey.of(row), 0),
            known.get(row.operation_id or ""),
            failed.get(before.get(row.operation_id or "", "")),
        )
        for row in rows
    ]


def _id_before(row: OperationRow) -> str:
    """Return the id of the failed operation that this one replaces; empty without one."""
    name: str = row.details.get(FAILED_OPERATION, "")
    return name.rpartition("/")[2]


async def reopen(batches: SweepBatches) -> int:
    """Open new operations for streams whose last one left events waiting; return the count."""
    service = IngestionService(batches.resources)
    return await batches.spread(repository.find_stranded, service.reopen)


async def forget_old_ids(batches: SweepBatches) -> int:
    """Remove ids of events that are too old to be sent again; return the count."""
    find, remove = erasure.find_old_events, erasure.remove_old_events
    kept = _known_for(batches.resources)
    return await batches.spread(partial(find, kept), partial(remove, kept))


async def forget_old_streams(batches: SweepBatches) -> int:
    """Remove streams without events for the same period; return the count."""
    find, remove = erasure.find_old_streams, erasure.remove_old_streams
    kept = _known_for(batches.resources)
    return await batches.spread(partial(find, kept), partial(remove, kept))


def _known_for(resources: Resources) -> timedelta:
    return timedelta(seconds=resources.settings.tuning.ingestion_event_id_seconds)


async def refresh_metrics(resources: Resources) -> None:
    """Read the waiting events of the streams of all engines; called at each scrape."""
    oldest, count, failed = await resources.db.read_all(repository.oldest_pending)
    now = resources.clock.now()
    _PENDING.set(count)
    _OLDEST.set(max(0.0, (now - (oldest or now)).total_seconds()))
    _FAILED.set(failed)


async def recount(_: Resources, session: Session, engine: EngineRow) -> None:
    """Recount the waiting events of a restored engine's streams."""
    await repository.count_again(session, engine.engine_id)
