"""Embedding of facts that were written while their model was away, or was being replaced."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

import structlog

from app.adapters.db.session import Session
from app.adapters.db.spread import Key, change_found
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
"""Pause before a fact is tried again that the model refuses while it embeds others."""
_MOST_FAILURES = 20
"""Batches that may fail in one run; the rest of a long queue waits for the next run."""


@dataclass(frozen=True)
class Backlog:
    """The embedding queue: memories that wait for their vectors."""

    resources: Resources

    async def run(self) -> int:
        """Embed the due memories; return the count. Failed ones are due again after a pause.

        The pause is longer for facts that the model refuses, since another attempt rarely gives
        another result.
        """
        total = failures = 0
        away: set[int] = set()
        while failures < _MOST_FAILURES and (claimed := await self._claim()):
            for engine_id, memory_ids in claimed:
                # An engine that failed is not tried again in this run: it would delay the others.
                done = None if engine_id in away else await self._try_embed(engine_id, memory_ids)
                if done is None:
                    away.add(engine_id)
                    failures += 1
                    await self._put_back(engine_id, memory_ids)
                total += done or 0
        if total:
            log.info("embedding.caught_up", memories=total)
        return total

    async def _claim(self) -> list[tuple[int, list[str]]]:
        """Lease due memories of several engines; return those of each."""
        settings = self.resources.settings
        # Twice the model's time limit, so that no other worker takes the same memories meanwhile.
        lease = timedelta(seconds=2 * settings.model_timeout_seconds)

        async def claim(
            session: Session, engine_id: int, keys: Sequence[Key]
        ) -> tuple[int, list[str]]:
            return engine_id, await repository.claim(session, engine_id, keys, lease)

        find = partial(repository.find_due, limit=settings.tuning.reembed_batch_rows)
        _, claimed = await change_found(self.resources.db, find, claim)
        return [(engine_id, ids) for engine_id, ids in claimed if ids]

    async def _put_back(self, engine_id: int, memory_ids: Sequence[str]) -> None:
        pause = timedelta(seconds=self.resources.settings.tuning.embedding_retry_seconds)
        async with self.resources.db.transaction() as session:
            await repository.put_back(session, engine_id, memory_ids, pause)

    async def _try_embed(self, engine_id: int, memory_ids: Sequence[str]) -> int | None:
        """Embed memories of an engine; return the count, or None if that is impossible now."""
        try:
            return await self._embed(EngineName(WILDCARD, WILDCARD, engine_id), memory_ids)
        except NotFound:
            # The engine was deleted, and the memories go with it.
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
        result = await FactEmbedding(embedding, model_id).embedded(facts)
        async with db.transaction() as session:
            serving = embedding.serving(engine := await engines.get(session, name, Lock.SHARED))
            if engine.embedding_model is None and result.vectors:
                _, vector = next(iter(result.vectors.values()))
                length = len(vector.values)
                serving = await engines.adopt_model(session, name.engine, model_id, length)
            if serving != model_id:
                return None
            # All in one statement, as every writer that locks several memories does.
            await memories.lock(session, name.engine, memory_ids, memories.everything())
            done = await written.embed(session, name.engine, model_id, result.vectors, now)
            await written.end_waits(session, name.engine, memory_ids, done, now)
            await repository.put_back(session, name.engine, list(result.refused), _REFUSED_PAUSE)
        if result.refused:
            log.warning("embedding.refused", engine_id=name.engine, memories=len(result.refused))
        return len(done)
