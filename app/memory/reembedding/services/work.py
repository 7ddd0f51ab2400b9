"""Embedding of facts that were written while their model was unavailable or being replaced."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta

import structlog

from app.adapters.batches import SweepBatches
from app.adapters.db.session import Session
from app.adapters.db.spread import Key
from app.adapters.resources import Resources
from app.kernel.errors import BadGateway, NotFound, Reason, ServiceError
from app.kernel.names import WILDCARD, EngineName
from app.memory.memories.services.embedding import AWAY, EngineEmbedding
from app.memory.memories.store import repository as memories
from app.memory.memories.store import vectors as written
from app.memory.reembedding.services.embedding import FactEmbedding
from app.memory.reembedding.store import repository
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock

log = structlog.get_logger()

_REFUSED_PAUSE = timedelta(hours=1)
"""Pause before the next attempt for a single fact that the model refuses."""
_MOST_FAILURES = 20
"""Maximum number of failed batches in one run; the rest of the queue waits for the next run."""


@dataclass(frozen=True)
class Backlog:
    """Embedding queue: memories that wait for their vectors."""

    batches: SweepBatches

    @classmethod
    def of(cls, resources: Resources) -> "Backlog":
        """Return the queue for one run."""
        return cls(SweepBatches(resources, "embedding queue"))

    @property
    def resources(self) -> Resources:
        """The process's resources."""
        return self.batches.resources

    async def run(self) -> int:
        """Embed the due memories; return the count. Failed ones are due again after a pause.

        The pause is longer for facts that the model refuses, since another attempt rarely succeeds.
        """
        total = failures = 0
        away: set[int] = set()
        while failures < _MOST_FAILURES and (claimed := await self._claim(away)):
            for engine_id, memory_ids in claimed:
                done = await self._try_embed(engine_id, memory_ids)
                if done is None:
                    away.add(engine_id)
                    failures += 1
                    await self._put_back(engine_id, memory_ids)
                total += done or 0
        if total:
            log.info("embedding.caught_up", memories=total)
        return total

    async def _claim(self, away: Collection[int]) -> list[tuple[int, list[str]]]:
        """Lease due memories of several engines; return their ids by engine.

        A failed engine is not tried again in this run, since it would delay the others.
        """
        settings = self.resources.settings
        # Twice the model's time limit, so that the lease outlives the call of the model.
        lease = timedelta(seconds=2 * settings.model_timeout_seconds)

        async def claim(
            session: Session, engine_id: int, keys: Sequence[Key]
        ) -> tuple[int, list[str]]:
            return engine_id, await repository.claim(session, engine_id, keys, lease)

        passed = [(engine_id,) for engine_id in away]
        while True:
            search = self.batches.search(settings.tuning.reembed_batch_rows, passed)
            tried = await self.batches.changed(repository.find_due, claim, search)
            # If the leases of all candidates failed, the next search leaves them out.
            if tried.changed or not tried.found:
                return [claimed for _, claimed in tried.changed if claimed[1]]

    async def _put_back(self, engine_id: int, memory_ids: Sequence[str]) -> None:
        pause = timedelta(seconds=self.resources.settings.tuning.embedding_retry_seconds)
        async with self.resources.db.transaction() as session:
            await repository.put_back(session, engine_id, memory_ids, pause)

    async def _try_embed(self, engine_id: int, memory_ids: Sequence[str]) -> int | None:
        """Embed memories of an engine; return the count, or None if the engine must wait."""
        name = EngineName(WILDCARD, WILDCARD, engine_id)
        try:
            try:
                return await self._embed(name, memory_ids)
            except Exception as error:
                if not _may_be_of_one(error):
                    raise
            return await self._embed_alone(name, memory_ids)
        except NotFound:
            # The engine was deleted, and its memories are deleted with it.
            return None
        except ServiceError as error:
            log.warning("embedding.still_waiting", engine_id=engine_id, reason=error.reason)
            return None

    async def _embed_alone(self, name: EngineName, memory_ids: Sequence[str]) -> int:
        """Embed memories one by one, so that a failure affects only one of them."""
        total = 0
        for memory_id in memory_ids:
            async with self.batches.alone((name.engine, memory_id)):
                total += await self._embed(name, [memory_id]) or 0
        return total

    async def _embed(self, name: EngineName, memory_ids: Sequence[str]) -> int | None:
        embedding = EngineEmbedding.of(self.resources)
        db, now = self.resources.db, self.resources.clock.now()
        async with db.snapshot() as session:
            model_id = embedding.serving(await engines.get(session, name))
            facts = await repository.list_facts(session, name.engine, memory_ids, now)
        result = await FactEmbedding(embedding, model_id).embedded(facts)
        async with db.transaction() as session:
            serving = embedding.serving(engine := await engines.get(session, name, Lock.SHARED))
            if engine.embedding_model is None and result.vectors:
                _, vector = next(iter(result.vectors.values()))
                length = len(vector.values)
                serving = await engines.adopt_model(session, name.engine, model_id, length)
            if serving != model_id:
                return None
            # In one statement, like all writers that lock several memories, to prevent deadlocks.
            await memories.lock(session, name.engine, memory_ids, memories.everything())
            done = await written.embed(session, name.engine, model_id, result.vectors, now)
            await written.end_waits(session, name.engine, memory_ids, done, now)
            await repository.put_back(session, name.engine, list(result.refused), _REFUSED_PAUSE)
        if result.refused:
            log.warning("embedding.refused", engine_id=name.engine, memories=len(result.refused))
        return len(done)


def _may_be_of_one(error: Exception) -> bool:
    """Return True if a single memory may have caused an error, not the model or the engine."""
    of_all = (*AWAY, BadGateway, NotFound)
    return not isinstance(error, of_all) and getattr(error, "reason", None) != Reason.MODEL_REFUSED
