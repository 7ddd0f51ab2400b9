"""Start of a re-embedding, and the removal of the vectors that it leaves behind."""

from dataclasses import dataclass
from typing import Final

import structlog

from app.adapters.db.clock import database_now
from app.adapters.db.session import Session
from app.adapters.resources import Resources
from app.kernel.errors import NotFound, ServiceError
from app.kernel.idempotency import IdempotencyKey
from app.kernel.names import EngineName
from app.memory.memories.services.memories import MemoryService
from app.memory.memories.store import vectors
from app.memory.reembedding.schemas import QueuedReembedding
from app.memory.reembedding.store import repository
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.engines.store.rows import name_of
from app.platform.engines.store.tables import EngineRow
from app.platform.operations.store import idempotency, leases
from app.platform.operations.store import repository as operations
from app.platform.operations.store.repository import NewOperation
from app.platform.operations.store.tables import OperationRow

log = structlog.get_logger()

REEMBED: Final = "engines.reembed"
"""Kind of the operation that gives an engine vectors by another model."""
_KEY: Final = "reembed"
_ENGINES_PER_SWEEP = 1_000


async def retry(
    resources: Resources, session: Session, failed: OperationRow, new: NewOperation
) -> NewOperation:
    """Complete the retry of a failed re-embedding, with the model of the settings."""
    engine = await engines.get(session, EngineName.parse(failed.engine_name), Lock.SHARED)
    return _aimed(new, engine, resources.embedders.current.model_id)


def _aimed(new: NewOperation, engine: EngineRow, target: str) -> NewOperation:
    """Return the operation for a worker, with the model that is to serve."""
    new = new.noting(toModel=target)
    if engine.embedding_model is not None:
        new = new.noting(fromModel=engine.embedding_model)
    return new.queued(_KEY, QueuedReembedding(model=target).model_dump(mode="json"))


@dataclass(frozen=True)
class ReembeddingService:
    """Queues re-embeddings, which `jobs.py` runs, and removes vectors that are no longer used."""

    memories: MemoryService

    @classmethod
    def of(cls, resources: Resources) -> "ReembeddingService":
        """Build the service from the process's resources."""
        return cls(MemoryService.of(resources))

    async def start(self, name: EngineName, once: IdempotencyKey | None) -> OperationRow:
        """Queue a re-embedding with the model of the settings; one runs at a time for each engine.

        An operation that finds everything done ends immediately.

        Raises:
            NotFound: the engine does not exist.
            ResourceExhausted: the engine has the most waiting operations that it may have.
        """
        service = self.memories
        target = service.embedding.embedders.current.model_id
        async with service.db.transaction() as session:
            engine = await engines.get(session, name, Lock.SHARED)
            now = service.clock.now()
            new = service.operation(engine, REEMBED, "ReembedReasoningEngine", now)
            if (known := await idempotency.replay_operation(session, new, once)) is not None:
                return known
            most = service.settings.engine_max_queued_operations
            await leases.check_queue(session, engine.engine_id, most)
            return await operations.insert(session, _aimed(new, engine, target))

    async def remove_stale(self) -> int:
        """Remove the vectors of models that no longer serve, in batches of one transaction each.

        Returns the number of memories that lost some.
        """
        removed = 0
        async with self.memories.db.snapshot() as session:
            stale_engines = await engines.list_with_stale_vectors(session, _ENGINES_PER_SWEEP)
        for engine in stale_engines:
            try:
                removed += await self._remove_stale_of(engine)
            except NotFound:
                # The engine was deleted meanwhile, and its vectors with it.
                continue
            except ServiceError as error:
                log.warning("sweep.failed", what="vectors", reason=error.reason)
        return removed

    async def _remove_stale_of(self, engine: EngineRow) -> int:
        """Make one pass over the vectors of an engine, record its result, and return the count.

        A write that began under the former model may end after the first pass. So passes are
        repeated until one finds nothing that began when all such writes had ended.
        """
        db, until = self.memories.db, engine.stale_vectors_until
        assert until is not None
        async with db.snapshot() as session:
            have_ended = until < await database_now(session)
        removed, after = 0, ""
        while (batch := await self._remove_batch(name_of(engine), after)) is not None:
            removed, after = removed + len(batch), batch[-1]
        if removed:
            log.info("sweep.removed", what="vectors", rows=removed)
        elif have_ended:
            async with db.transaction() as session:
                await engines.end_stale_vectors(session, engine.engine_id, until)
        return removed

    async def _remove_batch(self, name: EngineName, after: str) -> list[str] | None:
        """Remove some vectors beyond a memory; return the memories' ids, or None at the end.

        A memory that lacks a vector by the serving model is queued for embedding.
        """
        service = self.memories
        now = service.clock.now()
        async with service.db.transaction() as session:
            # Locked, so that no other model starts to serve, or becomes the target, meanwhile.
            engine = await engines.get(session, name, Lock.UPDATE)
            serving = service.embedding.serving(engine)
            kept = [serving, *([engine.embedding_target] if engine.embedding_target else [])]
            limit = service.settings.tuning.sweep_batch_rows
            stale = await repository.list_stale(session, name.engine, kept, after, limit)
            if not stale:
                return None
            await vectors.remove_stale_vectors(session, name.engine, stale, kept)
            lacking = await repository.list_lacking_of(session, name.engine, serving, stale, now)
            await vectors.put_off(session, name.engine, lacking, now)
            return stale
