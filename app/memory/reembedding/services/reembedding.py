"""Starting a re-embedding; and the removal of the vectors that it leaves behind."""

from dataclasses import dataclass
from typing import Final

import structlog

from app.adapters.resources import Resources
from app.kernel.errors import NotFound, ServiceError
from app.kernel.names import EngineName
from app.kernel.once import Once
from app.memory.memories.services.memories import MemoryService
from app.memory.memories.store import vectors
from app.memory.reembedding.schemas import QueuedReembedding
from app.memory.reembedding.store import repository
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.engines.store.rows import name_of
from app.platform.engines.store.tables import EngineRow
from app.platform.operations.store import claims, repeats
from app.platform.operations.store import repository as operations
from app.platform.operations.store.tables import OperationRow

log = structlog.get_logger()

REEMBED: Final = "engines.reembed"
"""The kind of the operation that gives an engine vectors of another model."""
_KEY: Final = "reembed"
_ENGINES_PER_SWEEP = 1_000


@dataclass(frozen=True)
class ReembeddingService:
    """Queues re-embeddings, which `jobs.py` runs, and removes what nothing compares with."""

    memories: MemoryService

    @classmethod
    def of(cls, resources: Resources) -> "ReembeddingService":
        """Build the service from the process's resources."""
        return cls(MemoryService.of(resources))

    async def start(self, name: EngineName, once: Once | None) -> OperationRow:
        """Queue a re-embedding with the model of the settings; of one engine, one runs at a time.

        One that finds everything done ends at once.

        Raises:
            NotFound: no such engine.
            ResourceExhausted: the engine has as many operations waiting as it may.
        """
        service = self.memories
        target = service.embedding.embedders.current.model_id
        async with service.db.transaction() as session:
            engine = await engines.get(session, name, Lock.SHARED)
            now = service.clock.now()
            new = service.operation(engine, REEMBED, "ReembedReasoningEngine", now)
            if (known := await repeats.replay(session, new, once)) is not None:
                return known
            most = service.settings.engine_max_queued_operations
            await claims.check_queue(session, engine.engine_id, most)
            new = new.noting(toModel=target)
            if engine.embedding_model is not None:
                new = new.noting(fromModel=engine.embedding_model)
            request = QueuedReembedding(model=target).model_dump(mode="json")
            return await operations.insert(session, new.queued(_KEY, request))

    async def remove_stale(self) -> int:
        """Remove the vectors of models that serve no more, in batches of one transaction each.

        Returns how many memories lost some.
        """
        removed = 0
        async with self.memories.db.snapshot() as session:
            found = await engines.list_with_stale_vectors(session, _ENGINES_PER_SWEEP)
        for engine in found:
            try:
                removed += await self._remove_stale_of(engine)
            except NotFound:
                # Deleted meanwhile, and its vectors with it.
                continue
            except ServiceError as error:
                log.warning("sweep.failed", what="vectors", reason=error.reason)
        return removed

    async def _remove_stale_of(self, engine: EngineRow) -> int:
        """Go over the vectors of an engine; note how far that has led.

        A write that began under the former model may end after the first pass. So that is followed
        by one that begins when all such writes have ended, and until nothing is found.
        """
        db, was = self.memories.db, engine.stale_vectors_xid
        assert was is not None
        async with db.snapshot() as session:
            have_ended = 0 < was <= await repository.oldest_transaction(session)
            next_transaction = await repository.next_transaction(session)
        removed, after = 0, ""
        while (batch := await self._remove_batch(name_of(engine), after)) is not None:
            removed, after = removed + len(batch), batch[-1]
        becomes = next_transaction if was == 0 else was
        async with db.transaction() as session:
            is_done = have_ended and not removed
            await engines.note_stale_vectors(
                session, engine.engine_id, was, None if is_done else becomes
            )
        return removed

    async def _remove_batch(self, name: EngineName, after: str) -> list[str] | None:
        """Remove some vectors beyond a memory; return of which memories, or None at the end.

        A memory that lacks the vector by the model that serves now is left to wait for it.
        """
        service = self.memories
        now = service.clock.now()
        async with service.db.transaction() as session:
            # Held, so that no other model comes to serve, nor is to be brought, meanwhile.
            engine = await engines.get(session, name, Lock.UPDATE)
            serving = service.embedding.serving(engine)
            kept = [serving, *([engine.embedding_target] if engine.embedding_target else [])]
            limit = service.settings.sweep_batch_rows
            stale = await repository.list_stale(session, name.engine, kept, after, limit)
            if not stale:
                return None
            await vectors.remove_stale_vectors(session, name.engine, stale, kept)
            lacking = await repository.list_lacking_of(session, name.engine, serving, stale, now)
            await vectors.put_off(session, name.engine, lacking, now)
            return stale
