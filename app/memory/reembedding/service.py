"""Re-embedding of engines: its start, the embedding of facts, and the removal of stale vectors."""

import secrets
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from hashlib import blake2b
from typing import Final

import structlog
from prometheus_client import Gauge

from app.adapters.batches import SweepBatches
from app.adapters.db.clock import database_now
from app.adapters.db.session import Session
from app.adapters.db.spread import FindRows, Key, RowSearch
from app.adapters.metrics import of_all
from app.adapters.resources import Resources
from app.kernel.changes import IdempotencyKey
from app.kernel.errors import BadGateway, FailedPrecondition, NotFound, Reason, ServiceError
from app.kernel.names import WILDCARD, EngineName
from app.memory.memories.services.embedding import AWAY, EngineEmbedding
from app.memory.memories.services.memories import MemoryService
from app.memory.memories.store import repository as memories
from app.memory.memories.store import vectors as written
from app.memory.memories.store.vectors import Vector
from app.memory.reembedding import store
from app.memory.reembedding.schemas import QueuedReembedding
from app.memory.reembedding.store import Facts
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.engines.store.tables import EngineRow
from app.platform.operations.services.mutation import Method, mutate
from app.platform.operations.store.repository import NewOperation
from app.platform.operations.store.tables import OperationRow

log = structlog.get_logger()

REEMBED: Final = "engines.reembed"
"""Kind of the operation that embeds an engine's memories with another model."""
_KEY: Final = "reembed"
_METHOD = Method(REEMBED, "ReembedReasoningEngine")
MOST_REFUSED = 5_000
"""Maximum number of memories that a re-embedding skips; with more, it fails."""
_OF_TEXTS = (Reason.MODEL_REFUSED, Reason.MODEL_OUTPUT_INVALID)
"""Error reasons of a batch that a single text may have caused."""
_WAITING = of_all(
    Gauge,
    "memory_bank_memories_unembedded",
    "Memories whose facts wait for their vectors; searches find them by words alone.",
)
_REFUSED_PAUSE = timedelta(hours=1)
"""Pause before the next attempt for a single fact that the model refuses."""
_MOST_FAILURES = 20
"""Maximum number of failed batches in one run; the rest of the queue waits for the next run."""
_ENGINES_PER_SWEEP = 1_000


async def start(
    resources: Resources, name: EngineName, once: IdempotencyKey | None
) -> OperationRow:
    """Queue a re-embedding with the model from the settings; an engine runs one at a time."""
    target = resources.embedders.current.model_id
    async with mutate(resources, engines.locked(name), _METHOD, once) as change:
        if change.replayed is not None:
            return change.replayed
        await change.check_queue()
        change.operation = _aimed(change.operation, change.engine, target)
        return await change.queue(change.operation.key, change.operation.request or {})


async def retry(
    resources: Resources, session: Session, failed: OperationRow, new: NewOperation
) -> NewOperation:
    """Complete the retry of a failed re-embedding with the model from the settings."""
    engine = await engines.get(session, EngineName.parse(failed.engine_name), Lock.SHARED)
    return _aimed(new, engine, resources.embedders.current.model_id)


def _aimed(new: NewOperation, engine: EngineRow, target: str) -> NewOperation:
    new = new.noting(toModel=target)
    if engine.embedding_model is not None:
        new = new.noting(fromModel=engine.embedding_model)
    return new.queued(_KEY, QueuedReembedding(model=target).model_dump(mode="json"))


@dataclass(frozen=True)
class Embedded:
    """Facts with their vectors, by memory, and the facts that the model refuses."""

    vectors: dict[str, tuple[str, Vector]]
    refused: Facts


@dataclass(frozen=True)
class FactEmbedding:
    """Embedding of facts by one model."""

    embedding: EngineEmbedding
    model_id: str

    async def embedded(self, facts: Facts) -> Embedded:
        """Embed facts; a refused fact does not affect the others.

        Raises:
            ServiceError: the model is unavailable, or refuses every text.
        """
        try:
            return await self._embed_all(facts)
        except ServiceError as error:
            if error.reason not in _OF_TEXTS:
                raise
        # If the model refuses this text too, such as with an invalid key, the facts are not the
        # cause. The text is random, so it is never cached.
        await self.embedding.embedded(self.model_id, [f"Hello {secrets.token_hex(4)}"])
        return await self._in_halves(facts)

    async def _in_halves(self, facts: Facts) -> Embedded:
        if len(facts) == 1:
            return Embedded({}, facts)
        listed, middle = list(facts.items()), len(facts) // 2
        first = await self._embed_part(dict(listed[:middle]))
        second = await self._embed_part(dict(listed[middle:]))
        return Embedded({**first.vectors, **second.vectors}, {**first.refused, **second.refused})

    async def _embed_part(self, facts: Facts) -> Embedded:
        try:
            return await self._embed_all(facts)
        except ServiceError as error:
            if error.reason not in _OF_TEXTS:
                raise
            return await self._in_halves(facts)

    async def _embed_all(self, facts: Facts) -> Embedded:
        embedded = await self.embedding.embedded(self.model_id, list(facts.values()))
        vectors = {
            memory_id: (fact, Vector(row, self.model_id))
            for (memory_id, fact), row in zip(facts.items(), embedded, strict=True)
        }
        return Embedded(vectors, {})


class RefusedFact:
    """Memories with facts that a model has refused; a changed fact no longer counts."""

    def __init__(self) -> None:
        self._facts: dict[str, bytes] = {}

    def __len__(self) -> int:
        return len(self._facts)

    @property
    def memory_ids(self) -> Sequence[str]:
        """Ids of all refused memories, in any current state."""
        return list(self._facts)

    def add(self, facts: Facts) -> None:
        """Add refused facts; too many end the re-embedding with FailedPrecondition."""
        self._facts |= {memory_id: _key(fact) for memory_id, fact in facts.items()}
        if len(self._facts) > MOST_REFUSED:
            message = f"The embedding model refuses more than {MOST_REFUSED} memories."
            raise FailedPrecondition(message, Reason.MODEL_REFUSED)

    def others(self, facts: Facts) -> Facts:
        """Return the facts that were not refused."""
        return {
            memory_id: fact
            for memory_id, fact in facts.items()
            if self._facts.get(memory_id) != _key(fact)
        }


def _key(fact: str) -> bytes:
    return blake2b(fact.encode(), digest_size=16).digest()


async def refresh_waiting(resources: Resources) -> None:
    """Count the waiting memories of all engines."""
    _WAITING.set(await resources.db.read_all(store.count_waiting))


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
        """Embed the due memories; return the count. Failed ones are due again after a pause."""
        # The pause is longer for facts that the model refuses, since another attempt rarely
        # succeeds.
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
        # A failed engine is not tried again in this run, since it would delay the others.
        settings = self.resources.settings
        # Twice the model's time limit, so that the lease outlives the call of the model.
        lease = timedelta(seconds=2 * settings.model_timeout_seconds)

        async def claim(
            session: Session, engine_id: int, keys: Sequence[Key]
        ) -> tuple[int, list[str]]:
            return engine_id, await store.claim(session, engine_id, keys, lease)

        passed = [(engine_id,) for engine_id in away]
        while True:
            search = self.batches.search(settings.tuning.reembed_batch_rows, passed)
            tried = await self.batches.changed(store.find_due, claim, search)
            # If the leases of all candidates failed, the next search leaves them out.
            if tried.changed or not tried.found:
                return [claimed for _, claimed in tried.changed if claimed[1]]

    async def _put_back(self, engine_id: int, memory_ids: Sequence[str]) -> None:
        pause = timedelta(seconds=self.resources.settings.tuning.embedding_retry_seconds)
        async with self.resources.db.transaction() as session:
            await store.put_back(session, engine_id, memory_ids, pause)

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
        # One by one, so that a failure affects only one memory.
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
            facts = await store.list_facts(session, name.engine, memory_ids, now)
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
            await store.put_back(session, name.engine, list(result.refused), _REFUSED_PAUSE)
        if result.refused:
            log.warning("embedding.refused", engine_id=name.engine, memories=len(result.refused))
        return len(done)


def _may_be_of_one(error: Exception) -> bool:
    """Return True if a single memory may have caused an error, not the model or the engine."""
    of_all = (*AWAY, BadGateway, NotFound)
    return not isinstance(error, of_all) and getattr(error, "reason", None) != Reason.MODEL_REFUSED


@dataclass(frozen=True)
class StaleVectors:
    """Removal of vectors of models that no longer serve."""

    batches: SweepBatches
    memories: MemoryService

    async def remove(self) -> int:
        """Remove stale vectors; return the number of memories that had some."""
        removed = 0
        async with self.memories.db.snapshot() as session:
            search = self.batches.search(_ENGINES_PER_SWEEP)
            keys = await engines.find_with_stale_vectors(session, search)
        for key in keys:
            # If the engine has been deleted, its vectors are deleted with it.
            async with self.batches.alone(key):
                with suppress(NotFound):
                    removed += await self._remove_of(key[0])
        return removed

    async def _remove_of(self, engine_id: int) -> int:
        """Make one pass over the vectors of an engine, record its result, and return the count."""
        # A write that began under the former model may end after the first pass. Passes
        # therefore repeat until one that starts after the end of all such writes finds no
        # vectors.
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
            return await store.find_stale(session, engine_id, kept, search)

        return find

    async def _remove(self, session: Session, engine_id: int, keys: Sequence[Key]) -> int:
        # The lock prevents a concurrent change of the serving or target model.
        engine = await _get(session, engine_id, Lock.UPDATE)
        serving, now = self.memories.embedding.serving(engine), self.memories.clock.now()
        stale = [memory_id for _, memory_id in keys]
        await written.remove_stale_vectors(session, engine_id, stale, self._kept(engine))
        lacking = await store.list_lacking_of(session, engine_id, serving, stale, now)
        await written.put_off(session, engine_id, lacking, now)
        return len(stale)

    def _kept(self, engine: EngineRow) -> list[str]:
        serving = self.memories.embedding.serving(engine)
        return [serving, *([engine.embedding_target] if engine.embedding_target else [])]


async def _get(session: Session, engine_id: int, lock: Lock = Lock.NONE) -> EngineRow:
    return await engines.get(session, EngineName(WILDCARD, WILDCARD, engine_id), lock)
