"""The sweeps of memories and revisions, and the removal of an engine's memories.

All functions take part in the caller's transaction.
"""

from app.adapters.db.session import Session
from app.memory.memories.store import ledger
from app.memory.retention.store import repository


async def remove_gone(session: Session, limit: int) -> int:
    """Remove up to `limit` memories that nothing can read any more; return how many."""
    count = 0
    for engine_id, ids in (await repository.list_gone(session, limit)).items():
        erased = await ledger.erase_gone(session, engine_id, ids)
        count += erased.memories
    return count


async def remove_of_engine(session: Session, engine_id: int, limit: int) -> int:
    """Remove up to `limit` memories of an engine that is being deleted; return how many."""
    ids = await repository.list_ids(session, engine_id, limit)
    if ids:
        await ledger.erase_with_engine(session, engine_id, ids)
    return len(ids)
