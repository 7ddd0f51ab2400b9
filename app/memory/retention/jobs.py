"""Sweep of memories, and removal of an engine's memories."""

from collections.abc import Sequence

from app.adapters.db.session import Session
from app.adapters.db.spread import Key
from app.memory.memories.store import ledger
from app.memory.retention import store


async def remove_gone(session: Session, engine_id: int, keys: Sequence[Key]) -> int:
    """Remove memories of an engine that are no longer readable; return the count."""
    ids = await store.lock_gone(session, engine_id, keys)
    return (await ledger.erase_gone(session, engine_id, ids)).memories if ids else 0


async def remove_of_engine(session: Session, engine_id: int, limit: int) -> int:
    """Remove up to `limit` memories of an engine that is being deleted; return the count."""
    ids = await store.list_ids(session, engine_id, limit)
    if ids:
        await ledger.erase_with_engine(session, engine_id, ids)
    return len(ids)
