"""The sweeps of memories and revisions, and the removal of an engine's memories.

All functions run in the caller's transaction.
"""

from app.adapters.db.session import Session
from app.memory.memories.store import ledger
from app.memory.retention.store import repository


async def remove_gone(session: Session, limit: int) -> int:
    """Remove up to `limit` memories that are no longer readable; return the count."""
    count = 0
    for engine_id, ids in (await repository.list_gone(session, limit)).items():
        erased = await ledger.erase_gone(session, engine_id, ids)
        count += erased.memories
    return count


async def remove_of_engine(session: Session, engine_id: int, limit: int) -> int:
    """Remove up to `limit` memories of an engine under deletion; return the count."""
    ids = await repository.list_ids(session, engine_id, limit)
    if ids:
        await ledger.erase_with_engine(session, engine_id, ids)
    return len(ids)
