"""Worker job that embeds an engine's memories with another model.

The job embeds in batches, outside transactions, and stores a vector only if the fact has not
changed. After a worker is killed, its successor repeats at most one batch. A change of a fact
removes its vectors of every model, so none is ever outdated.

Once no memory lacks a vector, one transaction makes the new model serve and ends the operation. The
memory of a fact that the new model refuses is queued like any other, and the operation names it.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import structlog

from app.adapters.batches import SweepBatches
from app.adapters.db.session import Session
from app.adapters.resources import Resources
from app.kernel.errors import ServiceError
from app.kernel.names import EngineName, MemoryName
from app.memory.memories.services.embedding import AWAY, EngineEmbedding
from app.memory.memories.services.memories import MemoryService
from app.memory.memories.store import vectors as written
from app.memory.reembedding import store
from app.memory.reembedding.schemas import QueuedReembedding
from app.memory.reembedding.service import Backlog, FactEmbedding, RefusedFact, StaleVectors
from app.memory.reembedding.store import Facts, MemorySpan
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.operations.logic.states import type_url
from app.platform.operations.services.runner import Job, Postponed

log = structlog.get_logger()

_SPAN_ROWS = 10_000
"""Memories per statement; most of them may already have vectors."""
OVERLAP = timedelta(minutes=5)
"""Time that catching up looks back: covers the longest write and differences between clocks."""
TRIES = 20
"""Maximum rounds of catching up; after the last, memories without a vector are queued."""
MOST_NAMED = 100
"""Maximum number of refused memories that the operation names; it counts all."""
_NO_MODEL_PAUSE = timedelta(seconds=10)
"""Pause before the next attempt if this worker does not have the model."""


async def reembed(job: Job, resources: Resources) -> None:
    """Run a queued re-embedding; raise Postponed without its model or at too many changes."""
    request = QueuedReembedding.model_validate(job.claim.request)
    name = EngineName.parse(job.claim.engine_name)
    await _Reembedding(job, resources, name, request.model).run()


@dataclass
class _Progress:
    """Progress; the numbers change while memories are written and removed."""

    embedded: int = 0
    total: int = 0
    refused: int = 0

    def details(self) -> dict[str, Any]:
        tried = self.embedded + self.refused
        share = tried / self.total if self.total else 1
        return {
            "embeddedCount": self.embedded,
            "refusedCount": self.refused or None,
            "totalCount": max(self.total, tried),
            "percent": min(int(100 * share), 100),
            "postponedUntil": None,
        }


@dataclass(frozen=True)
class _Reembedding:
    job: Job
    resources: Resources
    engine: EngineName
    model: str
    progress: _Progress = field(default_factory=_Progress)
    refused: RefusedFact = field(default_factory=RefusedFact)

    async def run(self) -> None:
        await self._begin()
        since = self._lately()
        async for span in self._spans():
            await self._fill(span)
        for attempt in range(1, TRIES + 1):
            begun, since = since, self._lately()
            await self._fill(MemorySpan(since=begun))
            if await self._cut_over(MemorySpan(since=since), is_last=attempt == TRIES):
                await self._settle(MemorySpan(since=since))
                return
        # Memories change faster than this job can catch up, perhaps only for a short time.
        raise Postponed(self._now() + self._pause)

    async def _begin(self) -> None:
        embedder = self.resources.embedders.by_id.get(self.model)
        if embedder is None:
            raise Postponed(self._now() + _NO_MODEL_PAUSE)
        try:
            await embedder.warm()
        except AWAY as error:
            raise self._later(error) from error
        engine_id, now = self.engine.engine, self._now()
        async with self.job.db.transaction() as session:
            engine = await engines.get(session, self.engine, Lock.UPDATE)
            await engines.learn_model(session, self.model, embedder.dimensions)
            models: dict[str, Any] = {"embedding_target": self.model}
            if engine.embedding_target not in {None, self.model}:
                # Vectors by an earlier target become stale.
                models |= engines.stale_vectors(session)
            await engines.set_models(session, engine_id, models)
            self.progress.total = await store.count_facts(session, engine_id, now)
            self.progress.embedded = await store.count_vectors(session, engine_id, self.model)
            await self.job.note(session, self.progress.details())

    async def _spans(self) -> AsyncIterator[MemorySpan]:
        """Yield spans over all memories; only the last one is open-ended."""
        after: str | None = ""
        while after is not None:
            async with self.job.db.snapshot() as session:
                last = await store.end_of_span(session, self.engine.engine, after, _SPAN_ROWS)
            yield MemorySpan(after, last)
            after = last

    async def _fill(self, span: MemorySpan) -> None:
        limit = self.resources.settings.tuning.reembed_batch_rows
        while True:
            async with self.job.db.snapshot() as session:
                page = await self._lacking(session, span, limit)
            facts = self.refused.others(page)
            if facts:
                await self._embed(facts)
                await asyncio.sleep(self.resources.settings.reembed_pause_seconds)
            await self.job.step()
            if len(page) < limit:
                return
            span = span.beyond(page)

    async def _lacking(self, session: Session, span: MemorySpan, limit: int) -> Facts:
        engine_id, now = self.engine.engine, self._now()
        return await store.list_lacking(session, engine_id, self.model, span, now, limit)

    async def _embed(self, facts: Facts) -> None:
        embedding = FactEmbedding(EngineEmbedding.of(self.resources), self.model)
        try:
            embedded = await embedding.embedded(facts)
        except AWAY as error:
            raise self._later(error) from error
        self.refused.add(embedded.refused)
        engine_id, now = self.engine.engine, self._now()
        async with self.job.db.transaction() as session:
            await engines.get(session, self.engine, Lock.SHARED)
            done = await written.embed(session, engine_id, self.model, embedded.vectors, now)
            self.progress.embedded += len(done)
            self.progress.refused = len(self.refused)
            await self.job.note(session, self.progress.details())

    async def _cut_over(self, span: MemorySpan, *, is_last: bool) -> bool:
        """Make the model serve, unless recent memories lack vectors; return True if done."""
        # The last round accepts a limited number of such memories and queues them.
        engine_id = self.engine.engine
        async with self.job.db.transaction() as session:
            await engines.get(session, self.engine, Lock.UPDATE)
            lacking = await self._lacking_lately(session, span)
            if lacking and (not is_last or len(lacking) >= self._most_waiting):
                return False
            # Without memories whose facts have changed since.
            refused = [
                memory_id
                for memory_id in await self._still_refused(session)
                if memory_id not in lacking
            ]
            await written.put_off(session, engine_id, [*lacking, *refused], self._now())
            await engines.serve_model(session, engine_id, self.model)
            self.progress.refused = len(refused)
            self.progress.total = self.progress.embedded + len(refused)
            await self.job.finish(session, self._response(refused), self.progress.details())
        self.resources.embedders.serving(engine_id, self.model)
        return True

    async def _lacking_lately(self, session: Session, span: MemorySpan) -> list[str]:
        # The page may begin with refused memories, so it must be longer.
        limit = self._most_waiting + len(self.refused)
        return list(self.refused.others(await self._lacking(session, span, limit)))

    async def _still_refused(self, session: Session) -> list[str]:
        ids = self.refused.memory_ids
        if not ids:
            return []
        engine_id = self.engine.engine
        return await store.list_lacking_of(session, engine_id, self.model, ids, self._now())

    def _response(self, refused: Sequence[str]) -> dict[str, Any]:
        response: dict[str, Any] = {
            "@type": type_url("ReembedReasoningEngineResponse"),
            "embeddingModel": self.model,
        }
        if refused:
            named = sorted(refused)[:MOST_NAMED]
            response["refusedCount"] = len(refused)
            response["refusedMemories"] = [
                str(MemoryName(self.engine, memory_id)) for memory_id in named
            ]
        return response

    async def _settle(self, span: MemorySpan) -> None:
        # Writes that end later are queued by the sweep of stale vectors.
        await asyncio.sleep(self.resources.settings.tuning.reembed_settle_seconds)
        async with self.job.db.transaction() as session:
            await engines.get(session, self.engine, Lock.SHARED)
            lacking = await self._lacking_lately(session, span)
            await written.put_off(session, self.engine.engine, lacking, self._now())

    @property
    def _most_waiting(self) -> int:
        """Limit of recently written memories that may still lack vectors at the switch."""
        return self.resources.settings.tuning.sweep_batch_rows

    def _now(self) -> datetime:
        return self.job.clock.now()

    def _lately(self) -> datetime:
        return self._now() - OVERLAP

    def _later(self, error: ServiceError) -> Postponed:
        asked = timedelta(seconds=error.retry_after_seconds or 0)
        return Postponed(self._now() + max(self._pause, asked))

    @property
    def _pause(self) -> timedelta:
        return timedelta(seconds=self.resources.settings.tuning.embedding_retry_seconds)


async def embed_once(resources: Resources) -> None:
    """Embed queued memories; concurrent processes take different memories."""
    try:
        await Backlog.of(resources).run()
    except ServiceError as error:
        log.warning("embedding.failed", reason=error.reason)


async def remove_stale(batches: SweepBatches) -> int:
    """Remove the vectors of models that no longer serve; return the count."""
    return await StaleVectors(batches, MemoryService.of(batches.resources)).remove()
