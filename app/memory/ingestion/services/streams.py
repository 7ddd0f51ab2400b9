"""Use cases of streams: list them, and count their waiting events."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.adapters.db.filters import read_filter
from app.adapters.db.pages import Slice
from app.adapters.db.session import Session
from app.adapters.resources import Resources
from app.kernel.names import EngineName
from app.kernel.paging import PageRequest
from app.memory.ingestion.schemas import ListStreamsResponse, Stream
from app.memory.ingestion.services.ingestion import FAILED_OPERATION
from app.memory.ingestion.store import listing, repository
from app.memory.ingestion.store.repository import StreamKey
from app.memory.ingestion.store.tables import StreamRow
from app.platform.engines.store import repository as engines
from app.platform.operations.store.tables import OperationRow


@dataclass(frozen=True)
class Pending:
    """Totals over the waiting events of all streams; ages in seconds.

    `failed_streams` is the number of streams whose last operation failed.
    """

    count: int
    oldest_age_seconds: float
    failed_streams: int


@dataclass(frozen=True)
class StreamService:
    """Queries on streams, without the contents of events."""

    resources: Resources

    async def list_page(
        self, name: EngineName, filter_text: str | None, page: PageRequest
    ) -> ListStreamsResponse:
        """Return a page of an engine's streams, latest arrival first.

        Raises:
            InvalidArgument: the filter or the token is unreadable.
        """
        resources = self.resources
        clause = read_filter(filter_text, listing.FILTER_FIELDS, resources.settings)
        query = {"list": "streams", "engine": name.engine, "filter": filter_text}
        asked = Slice.of(page, query, listing.KEY, is_descending=True)
        async with resources.db.snapshot(statement_seconds=clause.seconds) as session:
            await engines.get(session, name)
            rows, token = asked.cut(
                await listing.list_page(session, name.engine, clause.condition, asked)
            )
            streams = await self._described(session, name.engine, rows)
        return ListStreamsResponse(streams=streams, next_page_token=token)

    async def _described(
        self, session: Session, engine_id: int, rows: Sequence[StreamRow]
    ) -> list[Stream]:
        now = self.resources.clock.now()
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

    async def pending(self) -> Pending:
        """Return the waiting events of all engines' streams, for the metrics."""
        read_all = self.resources.db.read_all
        oldest, count, failed = await read_all(repository.oldest_pending)
        now = self.resources.clock.now()
        return Pending(count, max(0.0, (now - (oldest or now)).total_seconds()), failed)


def _id_before(row: OperationRow) -> str:
    """Return the id of the failed operation that this one replaces; empty without one."""
    name: str = row.details.get(FAILED_OPERATION, "")
    return name.rpartition("/")[2]
