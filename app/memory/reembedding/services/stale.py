"""Removal of vectors that are stale after a re-embedding."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from app.adapters.batches import SweepBatches
from app.adapters.db.clock import database_now
from app.adapters.db.session import Session
from app.adapters.db.spread import FindRows, Key, RowSearch
from app.kernel.errors import NotFound
from app.kernel.names import WILDCARD, EngineName
from app.memory.memories.services.memories import MemoryService
from app.memory.memories.store import vectors
from app.memory.reembedding.store import repository
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.engines.store.tables import EngineRow

_ENGINES_PER_SWEEP = 1_000


@dataclass(frozen=True)
class StaleVectors:
    """Removal of vectors of models that no longer serve."""

    batches: SweepBatches
    memories: MemoryService

    @classmethod
    def of(cls, batches: SweepBatches) -> "StaleVectors":
        """Build the service from the batches of its sweep."""
        return cls(batches, MemoryService.of(batches.resources))

    async def remove(self) -> int:
        """Remove stale vectors; return the number of memories that had some."""
        removed = 0
        async with self.memories.db.snapshot() as session:
            search = self.batches.search(_ENGINES_PER_SWEEP)
            found = await engines.find_with_stale_vectors(session, search)
        for key in found:
            # If the engine has been deleted, its vectors are deleted with it.
            async with self.batches.alone(key):
                with suppress(NotFound):
                    removed += await self._remove_of(key[0])
        return removed

    async def _remove_of(self, engine_id: int) -> int:
        """Make one pass over the vectors of an engine, record its result, and return the count.

        A write that began under the former model may end after the first pass. Passes therefore
        repeat until one that starts after the end of all such writes finds no vectors.
        """
        async with self.memories.db.snapshot() as session:
            until = (await _get(session, engine_id)).stale_vectors_until
            have_ended = until is not None and until < await database_now(session)
        removed = await self.batches.spread(self._finding(engine_id), self._remove)
        if until and have_ended and not removed and not self.batches.leaves_out((engine_id,)):
            async with self.memories.db.transaction() as session:
                await engines.end_stale_vectors(session, engine_id, until)
        return removed

    def _finding(self, engine_id: int) -> FindRows:
        async def find(session: Session, search: RowSearch) -> Sequence[Key]:
            kept = self._kept(await _get(session, engine_id))
            return await repository.find_stale(session, engine_id, kept, search)

        return find

    async def _remove(self, session: Session, engine_id: int, keys: Sequence[Key]) -> int:
        """Remove stale vectors of memories; queue those without a vector of the serving model."""
        # The lock prevents a concurrent change of the serving or target model.
        engine = await _get(session, engine_id, Lock.UPDATE)
        serving, now = self.memories.embedding.serving(engine), self.memories.clock.now()
        stale = [memory_id for _, memory_id in keys]
        await vectors.remove_stale_vectors(session, engine_id, stale, self._kept(engine))
        lacking = await repository.list_lacking_of(session, engine_id, serving, stale, now)
        await vectors.put_off(session, engine_id, lacking, now)
        return len(stale)

    def _kept(self, engine: EngineRow) -> list[str]:
        serving = self.memories.embedding.serving(engine)
        return [serving, *([engine.embedding_target] if engine.embedding_target else [])]


async def _get(session: Session, engine_id: int, lock: Lock = Lock.NONE) -> EngineRow:
    return await engines.get(session, EngineName(WILDCARD, WILDCARD, engine_id), lock)
