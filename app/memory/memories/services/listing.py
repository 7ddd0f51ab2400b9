"""Lists of memories; they include deleted memories if a caller requests them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.adapters.cooperative import each
from app.adapters.db.filters import read_filter
from app.adapters.db.pages import Slice
from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import Clock
from app.kernel.errors import InvalidArgument
from app.kernel.names import EngineName, MemoryName
from app.kernel.ordering import Order, read_order
from app.kernel.paging import PageRequest
from app.memory.memories.schemas.fast_json import memory_json
from app.memory.memories.schemas.memories import Memory
from app.memory.memories.store import listing, repository
from app.memory.memories.store.listing import DeletedBy
from app.memory.memories.store.tables import MemoryRow
from app.platform.engines.store import repository as engines
from app.platform.engines.store.rows import name_of
from app.settings.settings import Settings


@dataclass(frozen=True)
class MemoryListing:
    """Lists and reads of memories, deleted ones included on request."""

    db: Database
    clock: Clock
    settings: Settings

    @classmethod
    def of(cls, resources: Resources) -> "MemoryListing":
        """Build the service from the process's resources."""
        return cls(resources.db, resources.clock, resources.settings)

    async def list_page(
        self,
        name: EngineName,
        filter_text: str | None,
        order_by: str | None,
        page: PageRequest,
        *,
        shows_deleted: bool,
    ) -> dict[str, Any]:
        """Return a page of live memories, with `shows_deleted` also of recoverable ones.

        It is the JSON form of a `ListMemoriesResponse`.
        """
        now = self.clock.now()
        order = _read_order(order_by, shows_deleted=shows_deleted)
        fields = listing.KNOWN_FIELDS if shows_deleted else listing.LIVE_FIELDS
        clause = read_filter(filter_text, fields, self.settings)
        query: dict[str, object] = {
            "list": "memories",
            "engine": name.engine,
            "filter": filter_text,
            "order": f"{order.field} {order.is_descending}",
        }
        if shows_deleted:
            query["deleted"] = True
        key = listing.key(order.field)
        asked = Slice.of(page, query, key, is_descending=order.is_descending)
        visible = repository.is_known(now) if shows_deleted else repository.is_live(now)
        async with self.db.snapshot(statement_seconds=clause.seconds) as session:
            engine = name_of(await engines.get(session, name))
            where = visible & clause.condition
            rows, token = asked.cut(await listing.list_page(session, name.engine, where, asked))
            deletions = await listing.list_deletions(session, name.engine, rows, now)
        memories = await each(rows, lambda row: _json(engine, row, deletions))
        return {"memories": memories} | ({} if token is None else {"nextPageToken": token})

    async def get_known(self, name: MemoryName) -> Memory:
        """Return a memory that is live or can be recovered.

        Raises:
            NotFound: it is neither.
        """
        now = self.clock.now()
        async with self.db.snapshot() as session:
            engine = name_of(await engines.get(session, name.engine))
            row = await repository.get(session, name, repository.is_known(now))
            deletions = await listing.list_deletions(session, row.engine_id, [row], now)
        return _shown(engine, row, deletions)


def _read_order(order_by: str | None, *, shows_deleted: bool) -> Order:
    order = read_order(order_by, "create_time desc", listing.ORDERS)
    if order.field == listing.BY_DELETION and not shows_deleted:
        raise InvalidArgument.of_field("orderBy", f"{order.field} needs showDeleted=true.")
    return order


def _json(engine: EngineName, row: MemoryRow, deletions: Mapping[str, DeletedBy]) -> dict[str, Any]:
    if row.delete_time is None:
        return memory_json(engine, row)
    return _shown(engine, row, deletions).wire()


def _shown(engine: EngineName, row: MemoryRow, deletions: Mapping[str, DeletedBy]) -> Memory:
    if row.delete_time is None:
        return Memory.from_row(engine, row)
    operation, caller = deletions.get(row.memory_id, (None, None))
    deletion = {
        "delete_time": row.delete_time,
        "recover_until": row.recover_until,
        "delete_operation": operation and f"{engine}/operations/{operation}",
        "delete_caller": caller,
    }
    return Memory.from_row(engine, row).model_copy(update=deletion)
