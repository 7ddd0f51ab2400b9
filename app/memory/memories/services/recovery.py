"""Undeletion of memories."""

from datetime import datetime

from app.adapters.resources import Resources
from app.kernel.etags import check_etag
from app.kernel.idempotency import IdempotencyKey
from app.kernel.names import MemoryName
from app.memory.memories.logic.policy import Cause, ahead, memory_expiry
from app.memory.memories.logic.refusals import not_deleted
from app.memory.memories.schemas.deletions import UndeleteMemoryRequest
from app.memory.memories.services.memories import UNDELETE, MemoryService, finish_with_memory
from app.memory.memories.store import ledger, repository
from app.memory.memories.store.changes import Change, Hold
from app.memory.memories.store.columns import content_of
from app.memory.memories.store.vectors import Vector
from app.platform.engines.store import repository as engines
from app.platform.engines.store.tables import config_of
from app.platform.operations.services.mutation import Method, mutate
from app.platform.operations.store.tables import OperationRow

_METHOD = Method(UNDELETE, "UndeleteMemory")


async def undelete(
    resources: Resources,
    name: MemoryName,
    request: UndeleteMemoryRequest,
    etag: str | None,
    once: IdempotencyKey | None,
) -> OperationRow:
    """Restore a deleted memory to its last state, with or without revisions.

    Raises:
        Aborted: the etag is stale.
        AlreadyExists: the memory is live.
        NotFound: the memory does not exist, or its recovery window has passed.
    """
    service = MemoryService.of(resources)
    now = service.clock.now()
    request, details = await service.admit_labels(name.engine, request)
    fact, vector = await _embedded(service, name, now)
    locked = engines.locked(name.engine)
    async with mutate(service, locked, _METHOD, once, details=details, now=now) as change:
        if change.replayed is not None:
            return change.replayed
        session, engine = change.session, change.engine
        row = await repository.get(session, name, repository.is_known(now), for_update=True)
        change.concerns(row.scope)
        if row.delete_time is None:
            raise not_deleted(name)
        check_etag(row.version, etag)
        expiry = ahead(row.expire_time, now)
        wanted = Change(
            row=row,
            content=content_of(row),
            expire_time=memory_expiry(config_of(engine), Cause.UPDATE, now, None, expiry),
            # A scan may have masked the fact meanwhile; then it is queued for embedding.
            vector=vector if row.fact == fact else None,
            is_undeletion=True,
            hold=Hold.SET,
        )
        writing = service.writing(engine, await change.reserved(), request)
        written = await ledger.change(session, writing, wanted)
        return await finish_with_memory(change, writing, written.row)


async def _embedded(
    service: MemoryService, name: MemoryName, now: datetime
) -> tuple[str | None, Vector | None]:
    """Return the fact of a deleted memory with its vector, outside any transaction."""
    async with service.db.snapshot() as session:
        row = await repository.find(session, name, repository.is_known(now))
    fact = None if row is None or row.delete_time is None else row.fact
    return fact, await service.embedding.fact(name.engine.engine, fact)
