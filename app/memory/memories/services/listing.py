"""Reads of memories and scopes: lists, deleted memories, and memories at a version."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from app.adapters.concurrency import each
from app.adapters.db.lists import list_page
from app.adapters.db.session import Session
from app.adapters.db.transaction_settings import limited
from app.adapters.resources import Resources
from app.kernel.errors import InvalidArgument
from app.kernel.names import EngineName, MemoryName
from app.kernel.paging import PageRequest
from app.memory.memories.schemas.fast_json import memory_json
from app.memory.memories.schemas.memories import Memory
from app.memory.memories.store import listing, repository
from app.memory.memories.store.listing import MAX_COUNT, DeletedBy
from app.memory.memories.store.tables import MemoryRow
from app.platform.engines.services.engine_cache import EngineCache
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
    """Return a page of live memories, or also of recoverable ones, as the response's JSON."""
    now = resources.clock.now()
    memories = (listing.KNOWN if shows_deleted else listing.LIVE).ordered(order_by)
    by = memories.key[0].key
    if by == MemoryRow.delete_time.key and not shows_deleted:
        raise InvalidArgument.of_field("orderBy", f"{by} needs showDeleted=true.")
    query = {"engine": name.engine} | ({"deleted": True} if shows_deleted else {})
    wanted = memories.filtered_page(page, resources.settings, filter_text, **query)
    visible = repository.is_known(now) if shows_deleted else repository.is_live(now)
    statement = listing.select_memories(name.engine, visible)
    async with resources.db.snapshot() as session:
        engine = name_of(await engines.get(session, name))
        rows, token = await list_page(session, statement, wanted)
        deletions = await listing.list_deletions(session, name.engine, rows, now)
    shown = await each(rows, lambda row: _json(engine, row, deletions))
    return {"memories": shown} | ({} if token is None else {"nextPageToken": token})


async def get_known(resources: Resources, name: MemoryName) -> Memory:
    """Return a memory that is live or can be recovered."""
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


async def list_scopes(
    resources: Resources,
    name: EngineName,
    filter_text: str | None,
    page: PageRequest,
    *,
    show_deleted: bool,
) -> dict[str, Any]:
    """Return a page of the scopes of live memories, or also of recoverable ones, as JSON.

    Raises:
        InvalidArgument: the filter or the token is invalid, or too many scopes must be examined.
    """
    settings, now = resources.settings, resources.clock.now()
    wanted = listing.SCOPES.filtered_page(
        page, settings, filter_text, engine=name.engine, deleted=show_deleted
    )
    visible = repository.is_known if show_deleted else repository.is_live
    cache, known = EngineCache.of(resources), None
    # A filter, or the conditions of a key, may skip all scopes of the engine.
    is_hot = filter_text is None and resources.db.sees_all
    if is_hot and (engine := cache.find(name)) is not None:
        seconds = settings.filter_timeout_seconds
        known = await listing.find_scopes(resources.db, engine, visible, wanted, now, seconds)
    if known is None:
        async with resources.db.snapshot() as session:
            engine = await engines.get(session, name)
            async with limited(session, settings.filter_timeout_seconds):
                known = await listing.read_scopes(session, name.engine, visible, wanted, now)
        cache.note(engine)
    rows, token = wanted.cut(known)
    scopes = [_scope_json(row.scope, row.memories) for row in rows]
    return {"scopes": scopes} | ({} if token is None else {"nextPageToken": token})


def _scope_json(scope: dict[str, str], count: int) -> dict[str, Any]:
    if count > MAX_COUNT:
        return {"scope": scope, "memoryCount": MAX_COUNT, "isCapped": True}
    return {"scope": scope, "memoryCount": count}


async def find_known(session: Session, name: MemoryName, now: datetime) -> MemoryRow | None:
    """Return a memory that is live or can be recovered, unless its engine is deleted."""
    row = await repository.find(session, name, repository.is_known(now))
    if row is None or not await engines.is_live(session, name.engine.engine):
        return None
    return row


async def find_version(
    session: Session, name: MemoryName, version: int, now: datetime
) -> Memory | None:
    """Return a memory at a version, or None if that state is no longer known."""
    row = await find_known(session, name, now)
    if row is None:
        return None
    memory = Memory.from_row(name.engine, row)
    if row.version == version:
        return memory
    revision = await repository.find_revision(session, name, version, now)
    return None if revision is None else Memory.from_revision(memory, revision)
