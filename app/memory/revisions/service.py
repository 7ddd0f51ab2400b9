"""Use cases of revisions: list, get, and roll back to one."""

from dataclasses import dataclass
from datetime import datetime

from app.adapters.db.filters import read_filter
from app.adapters.db.pages import Slice
from app.adapters.resources import Resources
from app.kernel.errors import FailedPrecondition, InvalidArgument, NotFound, Reason
from app.kernel.etags import check_etag
from app.kernel.idempotency import IdempotencyKey
from app.kernel.names import WILDCARD, MemoryName, RevisionName, parse_revision_id
from app.kernel.paging import PageRequest
from app.memory.memories.logic.policy import Cause, ahead, memory_expiry
from app.memory.memories.schemas.memories import RevisionFields, RollbackMemoryRequest
from app.memory.memories.services.memories import MemoryService, finish_with_memory
from app.memory.memories.store import ledger
from app.memory.memories.store import repository as memories
from app.memory.memories.store.changes import Action, Change
from app.memory.memories.store.columns import content_of
from app.memory.memories.store.tables import RevisionRow
from app.memory.revisions.schemas import ListMemoryRevisionsResponse, MemoryRevision
from app.memory.revisions.store import repository
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.engines.store.rows import config_of, name_of
from app.platform.operations.store import idempotency
from app.platform.operations.store.tables import OperationRow

ALL_MEMORIES = "-"
"""Path segment that stands for every memory of an engine in a list (AIP-159)."""


@dataclass(frozen=True)
class RevisionService:
    """The history of memories, live or deleted, for as long as it can be read."""

    memories: MemoryService

    @classmethod
    def of(cls, resources: Resources) -> "RevisionService":
        """Build the service from the process's resources."""
        return cls(MemoryService.of(resources))

    async def list_page(
        self, parent: MemoryName, filter_text: str | None, page: PageRequest
    ) -> ListMemoryRevisionsResponse:
        """Return a page of a memory's revisions, newest first; the id `-` means all memories."""
        now = self.memories.clock.now()
        clause = read_filter(filter_text, repository.FILTER_FIELDS, self.memories.settings)
        query = {
            "list": "revisions",
            "engine": parent.engine.engine,
            "memory": parent.memory,
            "filter": filter_text,
        }
        is_all = parent.memory == ALL_MEMORIES
        key = repository.KEY_IN_ENGINE if is_all else repository.KEY_IN_MEMORY
        asked = Slice.of(page, query, key, is_descending=True)
        async with self.memories.db.snapshot(statement_seconds=clause.seconds) as session:
            engine = name_of(await engines.get(session, parent.engine))
            if is_all:
                rows = await repository.list_of_engine(
                    session, parent.engine.engine, clause.condition, now, asked
                )
            else:
                await memories.get(session, parent, memories.is_known(now))
                rows = await repository.list_of_memory(
                    session, parent, clause.condition, now, asked
                )
        rows, token = asked.cut(rows)
        return ListMemoryRevisionsResponse(
            memory_revisions=[MemoryRevision.from_row(engine, row) for row in rows],
            next_page_token=token,
        )

    async def get(self, name: RevisionName) -> MemoryRevision:
        """Return a revision of a memory that is live or can be recovered."""
        now = self.memories.clock.now()
        async with self.memories.db.snapshot() as session:
            engine = name_of(await engines.get(session, name.memory.engine))
            await memories.get(session, name.memory, memories.is_known(now))
            return MemoryRevision.from_row(engine, await repository.get(session, name, now))

    async def roll_back(
        self,
        name: MemoryName,
        request: RollbackMemoryRequest,
        etag: str | None,
        once: IdempotencyKey | None,
    ) -> OperationRow:
        """Restore a memory to a revision; a deleted memory is brought back.

        Raises:
            FailedPrecondition: the revision records a deletion.
            NotFound: the revision does not exist, or can no longer be read.
        """
        service = self.memories
        now = service.clock.now()
        target = RevisionName(name, _revision_id(name, str(request.target_revision_id)))
        # The revision cannot change, so its fact can be embedded before the transaction.
        fact = await self._fact(target, now)
        vector = await service.embedding.fact(name.engine.engine, fact)
        async with service.db.transaction() as session:
            engine = await engines.get(session, name.engine, Lock.SHARED)
            new = service.operation(engine, "memories.rollback", "RollbackMemory", now)
            if (known := await idempotency.replay_operation(session, new, once)) is not None:
                return known
            row = await memories.get(session, name, memories.is_known(now), for_update=True)
            new = new.concerning(row.scope)
            check_etag(row.version, etag)
            revision = await repository.get(session, target, now)
            _check_restorable(target, revision)
            change = Change(
                row=row,
                content=content_of(revision),
                expire_time=memory_expiry(
                    config_of(engine), Cause.UPDATE, now, None, ahead(row.expire_time, now)
                ),
                vector=vector,
                restores=revision.revision_id,
            )
            writing = service.writing(engine, new, RevisionFields())
            written = await ledger.change(session, writing, change)
            return await finish_with_memory(session, new, writing, written.row)

    async def _fact(self, target: RevisionName, now: datetime) -> str | None:
        """Return the fact of a revision, or None if the revision does not exist."""
        async with self.memories.db.snapshot() as session:
            revision = await repository.find(session, target, now)
        return None if revision is None else revision.fact


def _check_restorable(target: RevisionName, revision: RevisionRow) -> None:
    if revision.action == Action.DELETED:
        raise FailedPrecondition(
            f"{target} records a deletion and holds nothing to restore; use an earlier one.",
            Reason.REVISION_IS_DELETION,
        )


def _revision_id(memory: MemoryName, text: str) -> int:
    """Parse a revision's id, given alone or as the last part of its full name."""
    parent, _, identity = text.rpartition("/")
    if parent and not _is_of(memory, parent):
        raise NotFound.of(f"This revision of {memory}")
    if not identity.isdecimal():
        raise InvalidArgument.of_field(
            "targetRevisionId",
            "must be the id of a revision of this memory, a number, or its full name.",
        )
    return parse_revision_id(identity)


def _is_of(memory: MemoryName, revisions: str) -> bool:
    """Return True if a name, perhaps without project and location, belongs to the memory."""
    engine, slash, rest = revisions.rpartition(f"/memories/{memory.memory}/revisions")
    if not slash or rest:
        return False
    place, _, engine_id = engine.rpartition("/")
    named = place.split("/")[1:4:2]
    known = (memory.engine.project, memory.engine.location)
    fits = all(
        part == other or WILDCARD in {part, other}
        for part, other in zip(named, known, strict=False)
    )
    return fits and engine_id == str(memory.engine.engine)
