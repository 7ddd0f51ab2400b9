"""What a worker runs to give an engine vectors of another model.

Vectors are made a batch at a time, outside any transaction, for memories that have none by the new
model, and stored where the fact is still the same. So whoever goes on after a worker that was
killed does at most one batch once more. A change of a fact removes its vectors of every model, and
leaves no old one of the new model behind.

When nothing lacks a vector, one transaction lets the new model serve and ends the operation. What
the new model refuses has none then: it waits like whatever else lacks one, and the operation names
it.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import structlog

from app.adapters.db.session import Session
from app.adapters.resources import Resources
from app.kernel.errors import ServiceError
from app.kernel.names import EngineName, MemoryName
from app.memory.memories.services.embedding import AWAY, EngineEmbedding
from app.memory.memories.store import vectors as written
from app.memory.reembedding.schemas import QueuedReembedding
from app.memory.reembedding.services.embedding import FactEmbedding, Refused
from app.memory.reembedding.services.reembedding import ReembeddingService
from app.memory.reembedding.services.work import Backlog
from app.memory.reembedding.store import repository
from app.memory.reembedding.store.repository import Facts, Span
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.engines.store.tables import EngineRow
from app.platform.operations.logic.states import type_url
from app.platform.operations.services.runner import Job, Postponed

log = structlog.get_logger()

_SPAN_ROWS = 10_000
"""Memories that one statement looks at, of which most may have their vectors."""
_OVERLAP = timedelta(minutes=5)
"""How far back changes are looked for again: the longest write, and the difference of clocks."""
_TRIES = 20
"""How often what was written meanwhile is caught up with; what then still lacks a vector waits."""
_MOST_NAMED = 100
"""Memories that the operation names of those that the model refuses; all are counted."""
_NOT_HERE = timedelta(seconds=10)
"""When a worker that has the model may be there."""
_SETTLE_SECONDS = 5.0
_SETTLE_PAUSE_SECONDS = 0.05


async def reembed(job: Job, resources: Resources) -> None:
    """Run a queued re-embedding.

    Raises:
        Postponed: the model is away, or not open in this process; or too much is written.
        FailedPrecondition: the model refuses everything, or too much.
    """
    request = QueuedReembedding.model_validate(job.claim.request)
    name = EngineName.parse(job.claim.engine_name)
    await _Reembedding(job, resources, name, request.model).run()


@dataclass
class _Progress:
    """How far it is; both change while memories are written and removed."""

    embedded: int = 0
    total: int = 0
    refused: int = 0

    def details(self) -> dict[str, Any]:
        """Return what the operation's metadata tell."""
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
    """One run of one re-embedding."""

    job: Job
    resources: Resources
    engine: EngineName
    model: str
    progress: _Progress = field(default_factory=_Progress)
    refused: Refused = field(default_factory=Refused)

    async def run(self) -> None:
        """Embed all memories, catch up with what was written meanwhile, and cut over."""
        await self._begin()
        since = self._lately()
        async for span in self._spans():
            await self._fill(span)
        for attempt in range(1, _TRIES + 1):
            begun, since = since, self._lately()
            await self._fill(Span(since=begun))
            if await self._cut_over(Span(since=since), is_last=attempt == _TRIES):
                await self._settle(Span(since=since))
                return
        # More is written than can be caught up with; perhaps not for long.
        raise Postponed(self._now() + self._pause)

    async def _begin(self) -> None:
        """See that the model is there, and note that it is to serve."""
        embedder = self.resources.embedders.find(self.model)
        if embedder is None:
            raise Postponed(self._now() + _NOT_HERE)
        try:
            await embedder.warm()
        except AWAY as error:
            raise self._later(error) from error
        engine_id, now = self.engine.engine, self._now()
        async with self.job.db.transaction() as session:
            engine = await engines.get(session, self.engine, Lock.UPDATE)
            await engines.learn_model(session, self.model, embedder.dimensions)
            await engines.set_models(session, engine_id, _begun(engine, self.model))
            self.progress.total = await repository.count_facts(session, engine_id, now)
            self.progress.embedded = await repository.count_vectors(session, engine_id, self.model)
            await self.job.note(session, self.progress.details())

    async def _spans(self) -> AsyncIterator[Span]:
        """Return the stretches of all memories; only the last has no end."""
        after: str | None = ""
        while after is not None:
            async with self.job.db.snapshot() as session:
                last = await repository.end_of_span(session, self.engine.engine, after, _SPAN_ROWS)
            yield Span(after, last)
            after = last

    async def _fill(self, span: Span) -> None:
        """Embed what lacks a vector in a span, a batch at a time."""
        limit = self.resources.settings.reembed_batch_rows
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

    async def _lacking(self, session: Session, span: Span, limit: int) -> Facts:
        page = (self._now(), limit)
        return await repository.list_lacking(session, self.engine.engine, self.model, span, page)

    async def _embed(self, facts: Facts) -> None:
        """Embed facts, and store the vectors of those that are still the same."""
        embedding = FactEmbedding(EngineEmbedding.of(self.resources), self.model)
        try:
            found = await embedding.embedded(facts)
        except AWAY as error:
            raise self._later(error) from error
        self.refused.add(found.refused)
        engine_id, now = self.engine.engine, self._now()
        async with self.job.db.transaction() as session:
            await engines.get(session, self.engine, Lock.SHARED)
            done = await written.embed(session, engine_id, self.model, found.vectors, now)
            self.progress.embedded += len(done)
            self.progress.refused = len(self.refused)
            await self.job.note(session, self.progress.details())

    async def _cut_over(self, span: Span, *, is_last: bool) -> bool:
        """Let the model serve, unless something written lately lacks its vector.

        Where the memories keep changing, the last few may, and wait for it.
        """
        engine_id = self.engine.engine
        async with self.job.db.transaction() as session:
            await engines.get(session, self.engine, Lock.UPDATE)
            lacking = await self._lacking_lately(session, span)
            if lacking and (not is_last or len(lacking) >= self._most_waiting):
                return False
            # Not those that have another fact by now.
            refused = [one for one in await self._still_refused(session) if one not in lacking]
            await written.put_off(session, engine_id, [*lacking, *refused], self._now())
            await engines.serve_model(session, engine_id, self.model)
            self.progress.refused = len(refused)
            self.progress.total = self.progress.embedded + len(refused)
            await self.job.finish(session, self._response(refused), self.progress.details())
        self.resources.embedders.serving(engine_id, self.model)
        return True

    async def _lacking_lately(self, session: Session, span: Span) -> list[str]:
        """Return what lacks a vector in a span, and was not refused: at least some of it."""
        # Those that were refused may come first.
        limit = self._most_waiting + len(self.refused)
        return list(self.refused.others(await self._lacking(session, span, limit)))

    async def _still_refused(self, session: Session) -> list[str]:
        """Return the memories that were refused and have no vector by now, either."""
        ids = self.refused.memory_ids
        if not ids:
            return []
        engine_id = self.engine.engine
        return await repository.list_lacking_of(session, engine_id, self.model, ids, self._now())

    def _response(self, refused: Sequence[str]) -> dict[str, Any]:
        response: dict[str, Any] = {
            "@type": type_url("ReembedReasoningEngineResponse"),
            "embeddingModel": self.model,
        }
        if refused:
            named = sorted(refused)[:_MOST_NAMED]
            response["refusedCount"] = len(refused)
            response["refusedMemories"] = [str(MemoryName(self.engine, one)) for one in named]
        return response

    async def _settle(self, span: Span) -> None:
        """Find what was being written by the former model at the moment, and let it be embedded.

        Should this be broken off, the sweep finds it with the vectors that it removes.
        """
        engine_id, loop = self.engine.engine, asyncio.get_running_loop()
        async with self.job.db.snapshot() as session:
            wanted = await repository.next_transaction(session)
        deadline, oldest = loop.time() + _SETTLE_SECONDS, 0
        while oldest < wanted and loop.time() < deadline:
            async with self.job.db.snapshot() as session:
                oldest = await repository.oldest_transaction(session)
            await asyncio.sleep(_SETTLE_PAUSE_SECONDS if oldest < wanted else 0)
        async with self.job.db.transaction() as session:
            await engines.get(session, self.engine, Lock.SHARED)
            lacking = await self._lacking_lately(session, span)
            await written.put_off(session, engine_id, lacking, self._now())

    @property
    def _most_waiting(self) -> int:
        """How many memories may wait for their vectors that were written lately."""
        return self.resources.settings.sweep_batch_rows

    def _now(self) -> datetime:
        return self.job.clock.now()

    def _lately(self) -> datetime:
        return self._now() - _OVERLAP

    def _later(self, error: ServiceError) -> Postponed:
        asked = timedelta(seconds=error.retry_after_seconds or 0)
        return Postponed(self._now() + max(self._pause, asked))

    @property
    def _pause(self) -> timedelta:
        return timedelta(seconds=self.resources.settings.embedding_retry_seconds)


def _begun(engine: EngineRow, model: str) -> dict[str, Any]:
    """Return what is noted of an engine: vectors for another model than before are stale now."""
    noted: dict[str, Any] = {"embedding_target": model}
    if engine.embedding_target not in {None, model}:
        noted["stale_vectors_xid"] = 0
    return noted


async def embed_once(resources: Resources) -> None:
    """Embed what waits for its vector; of several processes, each takes other memories."""
    try:
        await Backlog(resources).run()
    except ServiceError as error:
        log.warning("embedding.failed", reason=error.reason)


async def remove_stale(resources: Resources) -> int:
    """Remove the vectors of models that serve no more; return how many."""
    return await ReembeddingService.of(resources).remove_stale()
