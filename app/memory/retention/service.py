"""Use cases of removal: purge, delete an engine, and the sweeps that free space."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta

import structlog

from app.adapters.db.conditions import scopes_of
from app.adapters.db.filters import Clause, read_filter
from app.adapters.db.session import Session, limited
from app.adapters.resources import Resources
from app.artifacts.tasks.services import sweeps
from app.artifacts.tasks.store import erasure as artifacts
from app.artifacts.tasks.store import repository as tasks
from app.kernel.errors import FailedPrecondition, NotFound, Reason, ServiceError
from app.kernel.etags import check_etag
from app.kernel.names import EngineName
from app.kernel.once import Once
from app.memory.ingestion.services.ingestion import INGEST, IngestionService
from app.memory.ingestion.store import erasure as ingested
from app.memory.ingestion.store import repository as streams
from app.memory.memories.schemas.memories import RevisionFields, metadata_filters
from app.memory.memories.services.memories import MemoryService, noting_revisions
from app.memory.memories.store import ledger
from app.memory.memories.store import repository as memories
from app.memory.memories.store.changes import Writing
from app.memory.memories.store.erasure import NOTHING_ERASED, Erased
from app.memory.memories.store.tables import MemoryRow
from app.memory.retention.schemas import PurgeMemoriesRequest
from app.memory.retention.store import repository
from app.platform.audit.service import AuditService
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.engines.store.rows import name_of
from app.platform.limits.store import claims
from app.platform.limits.store import repository as totals
from app.platform.operations.logic.states import type_url
from app.platform.operations.store import erasure as stored
from app.platform.operations.store import repeats, ticks
from app.platform.operations.store import repository as operations
from app.platform.operations.store.tables import OperationRow
from app.platform.sessions.store import erasure as session_erasure
from app.platform.sessions.store import repository as sessions
from app.platform.usage.store import repository as usage

log = structlog.get_logger()

DELETE_ENGINE = "engines.delete"
"""The kind of the operation that removes an engine's children."""


@dataclass(frozen=True)
class RetentionService:
    """What removes memories other than one by one."""

    memories: MemoryService
    ingestion: IngestionService
    audit: AuditService

    @classmethod
    def of(cls, resources: Resources) -> "RetentionService":
        """Build the service from the process's resources."""
        return cls(
            MemoryService.of(resources),
            IngestionService.of(resources),
            AuditService.of(resources),
        )

    async def purge(
        self, name: EngineName, request: PurgeMemoriesRequest, once: Once | None
    ) -> OperationRow:
        """Delete, or without `force` count, the memories that match; the operation is done.

        The official client loses the count of an operation that it has to poll, so the work is
        done before the first answer. Source: wire specification, section 10.
        """
        service = self.memories
        now = service.clock.now()
        clause = read_filter(request.filter, memories.FILTER_FIELDS, service.settings)
        groups = memories.metadata_condition(metadata_filters(request.filter_groups))
        # What is deleted can still be recovered, so erasing for good takes it too.
        visible = memories.is_known(now) if request.permanent else memories.is_live(now)
        wanted = replace(clause, condition=clause.condition & groups & visible)
        scopes = None if request.filter_groups else self.ingestion.scopes_of(request.filter)
        async with service.db.transaction() as session:
            erases = request.force and (request.permanent or scopes is not None)
            engine = await engines.get(session, name, Lock.UPDATE if erases else Lock.SHARED)
            new = service.operation(engine, "memories.purge", "PurgeMemories", now)
            if (known := await repeats.replay(session, new, once)) is not None:
                return known
            new = replace(new, scopes=scopes_of(session))
            writing = service.writing(engine, new, RevisionFields())
            if not request.force:
                async with limited(session, wanted.seconds):
                    count = await repository.count_matching(session, name.engine, wanted.condition)
            elif request.permanent:
                erased = await self._erase_matching(session, name.engine, wanted)
                new = new.noting(**await self._erase_events(session, name.engine, scopes))
                if scopes is not None:
                    # Those that became memories while their streams were waited for.
                    erased += await self._erase_matching(session, name.engine, wanted)
                count = erased.memories
                new = new.noting(erased=asdict(erased))
            else:
                count = await self._delete_matching(session, writing, wanted)
                new = new.noting(**await self._erase_events(session, name.engine, scopes))
                if scopes is not None:
                    count += await self._delete_matching(session, writing, wanted)
                new = noting_revisions(new, writing)
            response = {"@type": type_url("PurgeMemoriesResponse"), "purgeCount": count}
            return await operations.insert_done(session, new, response)

    async def _erase_events(
        self, session: Session, engine_id: int, scopes: Clause | None
    ) -> dict[str, int]:
        """Erase the events that wait in whole scopes, or what was purged would come back.

        What they would become is not known, so that a purge by anything else leaves them.

        Returns:
            How many went, or how many of the engine's were left, as the metadata say it.
        """
        if scopes is None:
            return {"keptEventCount": await streams.count_pending_of(session, engine_id)}
        # What operations quote of those who are purged goes, too, though memories can come back.
        await stored.withdraw_texts(session, engine_id)
        return {"erasedEventCount": await self.ingestion.erase(session, engine_id, scopes)}

    async def _erase_matching(self, session: Session, engine_id: int, wanted: Clause) -> Erased:
        erased = NOTHING_ERASED
        async for rows in self._matching(session, engine_id, wanted):
            erased += await ledger.erase(session, engine_id, [row.memory_id for row in rows])
        return erased

    async def _delete_matching(self, session: Session, writing: Writing, wanted: Clause) -> int:
        count = 0
        async for rows in self._matching(session, writing.engine.engine, wanted):
            await ledger.delete(session, writing, rows)
            count += len(rows)
        return count

    async def _matching(
        self, session: Session, engine_id: int, wanted: Clause
    ) -> AsyncIterator[Sequence[MemoryRow]]:
        """Lock the memories that match, batch by batch in the order of their ids.

        They are found first and locked then, so that the limit on a filter's time does not count
        the wait for whoever holds them.
        """
        limit = self.memories.settings.sweep_batch_rows
        last = ""
        while True:
            async with limited(session, wanted.seconds):
                ids = await repository.list_matching(
                    session, engine_id, wanted.condition, limit, last
                )
            yield await memories.lock(session, engine_id, ids, wanted.condition)
            if len(ids) < limit:
                return
            last = ids[-1]

    async def delete_engine(
        self, name: EngineName, etag: str | None, once: Once | None, *, force: bool
    ) -> OperationRow:
        """Hide an engine at once; a worker then removes its children and the engine itself.

        Raises:
            Aborted: the etag is stale.
            FailedPrecondition: it has memories, sessions, buffered events or artifacts, and
                `force` is not set.
        """
        service = self.memories
        now = service.clock.now()
        async with service.db.transaction() as session:
            if (known := await repeats.answered(session, name, once, now)) is not None:
                return known
            engine = await engines.get(session, name, Lock.EXCLUSIVE)
            new = service.operation(engine, DELETE_ENGINE, "DeleteReasoningEngine", now)
            if (known := await repeats.replay(session, new, once)) is not None:
                return known
            check_etag(engine.version, etag)
            if not force and await _has_children(session, engine.engine_id, now):
                raise FailedPrecondition(
                    f"{name} has memories, sessions, ingested events that wait, or artifacts; set"
                    " force to delete them too.",
                    Reason.ENGINE_NOT_EMPTY,
                )
            await engines.mark_deleted(session, engine.engine_id, now)
            await stored.withdraw_texts(session, engine.engine_id)
            # They may wait for hours for a time at which there is nothing left to do.
            ended = (now, service.settings.operation_retention)
            gone = NotFound.of(name_of(engine))
            await operations.fail_waiting(session, engine.engine_id, INGEST, ended, gone)
            return await operations.insert(session, new)

    async def sweep(self) -> None:
        """Free what nothing can read any more, in batches of one transaction each."""
        service = self.memories
        limit = service.settings.sweep_batch_rows
        await _swept("artifacts", sweeps.remove_expired(service.db, self._grace, limit))
        for name, remove in (
            ("memories", self._remove_gone),
            ("revisions", repository.remove_expired_revisions),
            ("sessions", session_erasure.remove_expired),
            ("namespaces", self._remove_namespaces),
            ("event ids", self.ingestion.forget_old_ids),
            ("streams", self.ingestion.forget_old_streams),
            ("operations", stored.remove_old),
            ("audit events", self.audit.remove_old),
            ("rate buckets", claims.remove_full),
            ("engines", self._remove_deleted_engines),
            ("totals of gone engines", repository.remove_gone_totals),
            ("totals", totals.add_up),
            ("memories without traits", ledger.learn_traits),
        ):
            await _swept(name, self._in_batches(remove))

    async def take_tick(self, name: str) -> bool:
        """Take the present slot of a periodic task for this process."""
        interval = timedelta(seconds=self.memories.settings.sweep_interval_seconds)
        async with self.memories.db.transaction() as session:
            return await ticks.take_tick(session, name, interval)

    async def _in_batches(self, remove: Callable[[Session, int], Awaitable[int]]) -> int:
        limit = self.memories.settings.sweep_batch_rows
        total = 0
        while True:
            async with self.memories.db.transaction() as session:
                count = await remove(session, limit)
            total += count
            if count < limit:
                return total

    async def _remove_namespaces(self, session: Session, limit: int) -> int:
        return await artifacts.remove_expired_namespaces(session, self._grace, limit)

    @property
    def _grace(self) -> timedelta:
        """How long ago that of task memory has expired which nobody can be about to revive."""
        return timedelta(seconds=self.memories.settings.task_sweep_grace_seconds)

    @staticmethod
    async def _remove_deleted_engines(session: Session, limit: int) -> int:
        """Go on with the removal of hidden engines, whatever became of their operations."""
        hidden = await engines.list_deleted(session, 1)
        for engine_id in hidden:
            await remove_engine_batch(session, engine_id, limit)
        # As many as asked for means that there may be more to do.
        return limit if hidden else 0

    @staticmethod
    async def _remove_gone(session: Session, limit: int) -> int:
        count = 0
        for engine_id, ids in (await repository.list_gone(session, limit)).items():
            erased = await ledger.erase_gone(session, engine_id, ids)
            count += erased.memories
        return count


async def _swept(name: str, removing: Awaitable[int]) -> None:
    """Await a sweep. One that fails must not keep the others from freeing their space."""
    try:
        removed = await removing
    except ServiceError as error:
        log.warning("sweep.failed", what=name, reason=error.reason)
        return
    if removed:
        log.info("sweep.done", what=name, rows=removed)


async def _has_children(session: Session, engine_id: int, now: datetime) -> bool:
    """Say whether an engine has anything that its deletion needs `force` for."""
    return (
        await memories.exists_any(session, engine_id, now)
        or await sessions.exists_any(session, engine_id, now)
        or await streams.exists_pending(session, engine_id)
        or await tasks.exists_any(session, engine_id, now)
    )


async def _remove_memories(session: Session, engine_id: int, limit: int) -> int:
    ids = await repository.list_ids(session, engine_id, limit)
    if ids:
        await ledger.erase_with_engine(session, engine_id, ids)
    return len(ids)


_CHILDREN: tuple[Callable[[Session, int, int], Awaitable[int]], ...] = (
    _remove_memories,
    session_erasure.remove_of_engine,
    ingested.remove_of_engine,
    artifacts.remove_of_engine,
    usage.remove_of_engine,
)
"""What removes up to a number of rows below an engine, and says how many went."""


async def remove_engine_batch(session: Session, engine_id: int, limit: int) -> bool:
    """Remove up to `limit` rows below a hidden engine; with none left, the engine itself.

    Takes part in the caller's transaction. Returns whether the engine is gone.
    """
    for remove in _CHILDREN:
        if await remove(session, engine_id, limit):
            return False
    await engines.remove(session, engine_id)
    return True
