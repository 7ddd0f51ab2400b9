"""Embeds what was written while its model was away, or was being replaced."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import structlog

from app.adapters.resources import Resources
from app.kernel.errors import NotFound, ServiceError
from app.kernel.names import WILDCARD, EngineName
from app.memory.memories.services.embedding import EngineEmbedding
from app.memory.memories.store import repository as memories
from app.memory.memories.store import vectors as written
from app.memory.reembedding.services.embedding import FactEmbedding
from app.memory.reembedding.store import repository
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock

log = structlog.get_logger()

_REFUSED_PAUSE = timedelta(hours=1)
"""Until a fact is tried again that the model refuses, while it embeds others."""
_MOST_FAILURES = 20
"""Batches that one run tries in vain; of a long queue, the rest waits for the next run."""


@dataclass(frozen=True)
class Backlog:
    """The memories that wait for their vectors."""

    resources: Resources

    async def run(self) -> int:
        """Embed what is due, and return how much; what fails is due again after a pause.

        That is longer for facts that the model refuses, since asking for them again tells nothing
        new, most of the time.
        """
        total = failures = 0
        away: set[int] = set()
        while failures < _MOST_FAILURES and (taken := await self._taken()):
            for engine_id, memory_ids in taken.items():
                # What has failed is not asked again: that takes time, and others wait, too.
                done = None if engine_id in away else await self._tried(engine_id, memory_ids)
                if done is None:
                    away.add(engine_id)
                    failures += 1
                    await self._put_back(engine_id, memory_ids)
                total += done or 0
        if total:
            log.info("embedding.caught_up", memories=total)
        return total

    async def _taken(self) -> dict[int, list[str]]:
        settings = self.resources.settings
        # Twice as long as the model may take, so that nobody else does the same meanwhile.
        lease = timedelta(seconds=2 * settings.model_timeout_seconds)
        async with self.resources.db.transaction() as session:
            return await repository.claim(session, settings.reembed_batch_rows, lease)

    async def _put_back(self, engine_id: int, memory_ids: Sequence[str]) -> None:
        pause = timedelta(seconds=self.resources.settings.embedding_retry_seconds)
        async with self.resources.db.transaction() as session:
            await repository.put_back(session, engine_id, memory_ids, pause)

    async def _tried(self, engine_id: int, memory_ids: Sequence[str]) -> int | None:
        """Embed memories of an engine; return how many, or None where that cannot be done now."""
        try:
            return await self._embed(EngineName(WILDCARD, WILDCARD, engine_id), memory_ids)
        except NotFound:
            # Deleted: they go with their engine.
            return None
        except ServiceError as error:
            log.warning("embedding.still_waiting", engine_id=engine_id, reason=error.reason)
            return None

    async def _embed(self, name: EngineName, memory_ids: Sequence[str]) -> int | None:
        embedding = EngineEmbedding.of(self.resources)
        db, now = self.resources.db, self.resources.clock.now()
        async with db.snapshot() as session:
            model_id = embedding.serving(await engines.get(session, name))
            facts = await repository.list_facts(session, name.engine, memory_ids, now)
        found = await FactEmbedding(embedding, model_id).embedded(facts)
        async with db.transaction() as session:
            serving = embedding.serving(engine := await engines.get(session, name, Lock.SHARED))
            if engine.embedding_model is None and found.vectors:
                _, vector = next(iter(found.vectors.values()))
                length = len(vector.values)
                serving = await engines.adopt_model(session, name.engine, model_id, length)
            if serving != model_id:
                return None
            # All at once, as whoever locks several does.
            await memories.lock(session, name.engine, memory_ids, memories.everything())
            done = await written.embed(session, name.engine, model_id, found.vectors, now)
            await written.end_waits(session, name.engine, memory_ids, done, now)
            await repository.put_back(session, name.engine, list(found.refused), _REFUSED_PAUSE)
        if found.refused:
            log.warning("embedding.refused", engine_id=name.engine, memories=len(found.refused))
        return len(done)
