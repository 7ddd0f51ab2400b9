"""Memories at a given version, for responses that are stored as names."""

from datetime import datetime

from app.adapters.db.session import Session
from app.kernel.names import MemoryName
from app.memory.memories.schemas.memories import Memory
from app.memory.memories.store import repository
from app.memory.memories.store.tables import MemoryRow
from app.platform.engines.store import repository as engines


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
