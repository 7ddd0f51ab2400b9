"""The list of an engine's streams."""

from collections.abc import Sequence
from datetime import datetime

from app.adapters.db.lists import list_page
from app.adapters.db.session import Session
from app.adapters.resources import Resources
from app.kernel.names import EngineName
from app.kernel.paging import PageRequest
from app.memory.ingestion.schemas import ListStreamsResponse, Stream
from app.memory.ingestion.services.ingestion import FAILED_OPERATION
from app.memory.ingestion.store import listing
from app.memory.ingestion.store.repository import StreamKey
from app.memory.ingestion.store.tables import StreamRow
from app.platform.engines.store import repository as engines
from app.platform.operations.store.tables import OperationRow


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
