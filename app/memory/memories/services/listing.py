"""Lists of memories; they include deleted memories if a caller requests them."""

from collections.abc import Mapping
from typing import Any

from app.adapters.cooperative import each
from app.adapters.db.lists import list_page
from app.adapters.resources import Resources
from app.kernel.errors import InvalidArgument
from app.kernel.names import EngineName, MemoryName
from app.kernel.paging import PageRequest
from app.memory.memories.schemas.fast_json import memory_json
from app.memory.memories.schemas.memories import Memory
from app.memory.memories.store import listing, repository
from app.memory.memories.store.listing import DeletedBy
from app.memory.memories.store.tables import MemoryRow
from app.platform.engines.store import repository as engines
from app.platform.engines.store.tables import name_of


async def list_memories(
    resources: Resources,
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
    now = resources.clock.now()
    memories = (listing.KNOWN if shows_deleted else listing.LIVE).ordered(order_by)
    by = memories.key[0].key
    if by == MemoryRow.delete_time.key and not shows_deleted:
        raise InvalidArgument.of_field("orderBy", f"{by} needs showDeleted=true.")
    query = {"engine": name.engine} | ({"deleted": True} if shows_deleted else {})
    asked = memories.filtered_page(page, resources.settings, filter_text, **query)
    visible = repository.is_known(now) if shows_deleted else repository.is_live(now)
    statement = listing.select_memories(name.engine, visible)
    async with resources.db.snapshot() as session:
        engine = name_of(await engines.get(session, name))
        rows, token = await list_page(session, statement, asked)
        deletions = await listing.list_deletions(session, name.engine, rows, now)
    shown = await each(rows, lambda row: _json(engine, row, deletions))
    return {"memories": shown} | ({} if token is None else {"nextPageToken": token})


async def get_known(resources: Resources, name: MemoryName) -> Memory:
    """Return a memory that is live or can be recovered.

    Raises:
        NotFound: it is neither.
    """
    now = resources.clock.now()
    async with resources.db.snapshot() as session:
        engine = name_of(await engines.get(session, name.engine))
        row = await repository.get(session, name, repository.is_known(now))
        deletions = await listing.list_deletions(session, row.engine_id, [row], now)
    return _shown(engine, row, deletions)


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
