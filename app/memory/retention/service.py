"""Use case of purge: delete, erase or count the matching memories."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from app.adapters.db.conditions import scopes_of
from app.adapters.db.filters import Clause, read_filter
from app.adapters.db.session import Session
from app.adapters.db.transaction_settings import limited
from app.adapters.resources import Resources
from app.kernel.changes import IdempotencyKey
from app.kernel.clock import Clock
from app.kernel.errors import InvalidArgument
from app.kernel.names import EngineName, MemoryName
from app.kernel.wire.scalars import format_timestamp
from app.memory.ingestion.service import IngestionService
from app.memory.ingestion.store import repository as streams
from app.memory.memories.schemas.memories import Memory
from app.memory.memories.schemas.metadata import metadata_filters
from app.memory.memories.services.memories import MemoryService, note_revisions
from app.memory.memories.store import ledger, listing
from app.memory.memories.store import repository as memories
from app.memory.memories.store.changes import ChangeContext
from app.memory.memories.store.erasure import NOTHING_ERASED, ErasedCounts
from app.memory.memories.store.tables import MemoryRow
from app.memory.retention import store
from app.memory.retention.schemas import PurgeMemoriesRequest
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.engines.store.tables import EngineRow
from app.platform.operations.logic.states import type_url
from app.platform.operations.services.mutation import Method, Mutation, mutate
from app.platform.operations.store import erasure as stored
from app.platform.operations.store import kept_requests
from app.platform.operations.store.tables import OperationRow

PURGE = "memories.purge"
"""Kind of the operation of a purge or its preview."""
_METHOD = Method(PURGE, "PurgeMemories")


@dataclass(frozen=True)
class RetentionService:
    """Bulk removal of memories."""

    memories: MemoryService
    ingestion: IngestionService

    @classmethod
    def of(cls, resources: Resources) -> "RetentionService":
        """Build the service from the process's resources."""
        return cls(MemoryService.of(resources), IngestionService(resources))

    async def purge(
        self, name: EngineName, request: PurgeMemoriesRequest, once: IdempotencyKey | None
    ) -> OperationRow:
        """Delete the matching memories, or count them without `force`; return a done operation."""
        # The official client drops the count if it must poll the operation. The purge
        # therefore ends before the first response. Source: wire specification, section 10.
        service = self.memories
        now = service.clock.now()
        _check_options(request)
        request, details = await service.admit_labels(name, request)
        clause = read_filter(request.filter, memories.FILTER_FIELDS, service.settings)
        groups = memories.metadata_condition(metadata_filters(request.filter_groups))
        # Deleted memories can still be recovered, so a permanent erasure includes them.
        visible = memories.is_known(now) if request.permanent else memories.is_live(now)
        wanted = replace(clause, condition=clause.condition & groups & visible)
        erases = request.force and (request.permanent or self._scopes(request) is not None)
        locked = engines.locked(name, Lock.UPDATE if erases else Lock.SHARED)
        # `writes_vectors=False` lifts the time limit, which a purge of many memories may exceed.
        opened = mutate(
            service, locked, _METHOD, once, details=details, writes_vectors=False, now=now
        )
        async with opened as change:
            if change.replayed is not None:
                return change.replayed
            change.operation = replace(change.operation, scopes=scopes_of(change.session))
            writing = service.writing(change.engine, await change.reserved(), request)
            response: dict[str, Any] = {"@type": type_url("PurgeMemoriesResponse")}
            if request.force:
                response["purgeCount"] = await self._purge(change, writing, request, wanted)
            else:
                response |= await _preview(change.session, writing.engine, request, wanted)
            return await change.done(response)

    def _scopes(self, request: PurgeMemoriesRequest) -> Clause | None:
        """Return the request's filter for streams, if it selects by scope alone; otherwise None."""
        return None if request.filter_groups else self.ingestion.scopes_of(request.filter)

    async def _purge(
        self,
        change: Mutation[EngineRow],
        writing: ChangeContext,
        request: PurgeMemoriesRequest,
        wanted: Clause,
    ) -> int:
        # A second pass takes the memories that events became while this waited for their
        # streams.
        session, engine_id = change.session, writing.engine.engine
        scopes = self._scopes(request)
        if request.permanent:
            erased = await self._erase_matching(session, engine_id, wanted)
            events = await self._erase_events(session, engine_id, scopes, request.filter)
            if scopes is not None:
                erased += await self._erase_matching(session, engine_id, wanted)
            change.note(**events, erased=asdict(erased), deletedCount=erased.memories)
            return erased.memories
        count = await self._delete_matching(session, writing, wanted)
        events = await self._erase_events(session, engine_id, scopes, request.filter)
        if scopes is not None:
            count += await self._delete_matching(session, writing, wanted)
        change.note(**events, deletedCount=count)
        note_revisions(change, writing)
        return count

    async def _erase_events(
        self, session: Session, engine_id: int, scopes: Clause | None, filter_text: str | None
    ) -> dict[str, int]:
        """Erase waiting events and stored requests of whole scopes; return metadata with counts."""
        # Both could restore purged facts later. A purge with any other condition keeps the
        # events, since the memories that they will become are unknown.
        if scopes is None:
            return {"keptEventCount": await streams.count_pending_of(session, engine_id)}
        requests = read_filter(filter_text, kept_requests.FILTER_FIELDS, self.memories.settings)
        await kept_requests.clear(session, engine_id, requests)
        # Quotes in operations are erased permanently, even if the memories can be recovered.
        await stored.withdraw_texts(session, engine_id)
        return {"erasedEventCount": await self.ingestion.erase(session, engine_id, scopes)}

    async def _erase_matching(
        self, session: Session, engine_id: int, wanted: Clause
    ) -> ErasedCounts:
        erased = NOTHING_ERASED
        async for rows in self._matching(session, engine_id, wanted):
            erased += await ledger.erase(session, engine_id, [row.memory_id for row in rows])
        return erased

    async def _delete_matching(
        self, session: Session, writing: ChangeContext, wanted: Clause
    ) -> int:
        count = 0
        async for rows in self._matching(session, writing.engine.engine, wanted):
            await ledger.delete(session, writing, rows)
            count += len(rows)
        return count

    async def _matching(
        self, session: Session, engine_id: int, wanted: Clause
    ) -> AsyncIterator[Sequence[MemoryRow]]:
        """Yield batches of the matching memories, locked and in the order of their ids."""
        # One statement selects the ids and another one locks them, so the time limit of a
        # filter does not include waits for locks.
        limit = self.memories.settings.tuning.sweep_batch_rows
        last = ""
        while True:
            async with limited(session, wanted.seconds):
                ids = await store.list_matching(session, engine_id, wanted.condition, limit, last)
            yield await memories.lock(session, engine_id, ids, wanted.condition)
            if len(ids) < limit:
                return
            last = ids[-1]


def _check_options(request: PurgeMemoriesRequest) -> None:
    request.check_kept(permanent=bool(request.permanent))
    if request.force and request.sample_size:
        raise InvalidArgument.of_field("sampleSize", "must be 0 or absent with force.")


async def _preview(
    session: Session, engine: EngineName, request: PurgeMemoriesRequest, wanted: Clause
) -> dict[str, Any]:
    async with limited(session, wanted.seconds):
        count = await store.count_matching(session, engine.engine, wanted.condition)
        if not request.sample_size:
            return {"purgeCount": count}
        rows = await store.list_newest(
            session, engine.engine, wanted.condition, request.sample_size
        )
    samples = [
        {
            "name": str(MemoryName(engine, row.memory_id)),
            "createTime": format_timestamp(row.create_time),
        }
        for row in rows
    ]
    return {"purgeCount": count, "samples": samples}


async def read_samples(session: Session, stored: Mapping[str, Any], clock: Clock) -> dict[str, Any]:
    """Replace sample names by memories; leave out memories that have been erased."""
    if not stored.get("samples"):
        return dict(stored)
    names = [MemoryName.parse(sample["name"]) for sample in stored["samples"]]
    engine = names[0].engine
    if not await engines.is_live(session, engine.engine):
        return {**stored, "samples": []}
    ids, is_known = [name.memory for name in names], memories.is_known(clock.now())
    rows = await listing.list_named(session, engine.engine, ids, is_known)
    known = {row.memory_id: Memory.from_row(engine, row).wire() for row in rows}
    samples = [known.get(memory_id) for memory_id in ids]
    # A different creation time means that the id was used again for another memory.
    shown = [
        memory
        for memory, sample in zip(samples, stored["samples"], strict=True)
        if memory is not None and memory["createTime"] == sample["createTime"]
    ]
    return {**stored, "samples": shown}
