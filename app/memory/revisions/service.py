"""Use cases of revisions: list, export, get, and rollback."""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic.alias_generators import to_camel

from app.adapters.db.lists import ReadRows, Slice, exported
from app.adapters.db.session import Session
from app.adapters.db.transaction_settings import limited
from app.adapters.resources import Resources
from app.kernel.changes import IdempotencyKey, check_etag
from app.kernel.clock import Clock
from app.kernel.errors import FailedPrecondition, InvalidArgument, NotFound, Reason
from app.kernel.names import EngineName, MemoryName, RevisionName, parse_revision_id
from app.kernel.paging import PageRequest
from app.kernel.wire.objects import MAX_LABEL_CHARS, MAX_REVISION_LABEL_CHARS
from app.memory.memories.logic.policy import Cause, ahead, memory_expiry
from app.memory.memories.schemas.memories import Memory
from app.memory.memories.services.embedding import EngineEmbedding
from app.memory.memories.services.listing import find_known, find_version
from app.memory.memories.services.memories import MemoryService, finish_with_memory
from app.memory.memories.store import ledger
from app.memory.memories.store import repository as memories
from app.memory.memories.store.changes import Action, Change, Hold
from app.memory.memories.store.columns import content_of, wire_names
from app.memory.memories.store.tables import ColumnRole, MemoryRow, RevisionRow
from app.memory.memories.store.vectors import Vector
from app.memory.revisions import store
from app.memory.revisions.schemas import (
    ListMemoryRevisionsResponse,
    ListRevisionLabelsResponse,
    MemoryRevision,
    RevisionLabel,
    RollbackMemoryRequest,
)
from app.memory.revisions.store import ReadRevision, WantedLabels
from app.platform.engines.store import repository as engines
from app.platform.engines.store.tables import config_of, name_of
from app.platform.operations.logic.states import type_url
from app.platform.operations.services.mutation import Method, mutate
from app.platform.operations.store.tables import OperationRow

PREVIEW = "revisions.preview"
"""Kind of the operation that previews a rollback."""
_RESTORED = [to_camel(name) for name in wire_names(MemoryRow, ColumnRole.CONTENT)]
ALL_MEMORIES = "-"
"""Path segment for all memories of an engine in a list (AIP-159)."""


async def list_revisions(
    resources: Resources, parent: MemoryName, filter_text: str | None, page: PageRequest
) -> ListMemoryRevisionsResponse:
    """Return a page of a memory's revisions, newest first; the id `-` means all memories.

    Raises:
        InvalidArgument: the filter or the token is unreadable, or the filter takes too long.
    """
    now = resources.clock.now()
    memory_id = None if parent.memory == ALL_MEMORIES else parent.memory
    query = {"engine": parent.engine.engine, "memory": parent.memory}
    revisions = store.revisions(parent.engine, memory_id)
    wanted = revisions.filtered_page(page, resources.settings, filter_text, **query)
    async with resources.db.snapshot() as session:
        engine = name_of(await engines.get(session, parent.engine))
        if memory_id is not None:
            await memories.get(session, parent, memories.is_known(now))
        rows = await store.read_revisions(session, engine.engine, memory_id, now, wanted)
    shown, token = wanted.cut(rows)
    return ListMemoryRevisionsResponse(
        memory_revisions=[MemoryRevision.from_row(engine, revision) for revision in shown],
        next_page_token=token,
    )


async def export(
    resources: Resources, name: EngineName, filter_text: str | None
) -> AsyncIterator[Sequence[MemoryRevision]]:
    """Yield the present revisions of all memories in small batches, oldest first.

    Raises:
        InvalidArgument: the filter is unreadable or takes too long.
    """
    clock, db = resources.clock, resources.db
    listed = store.revisions(name, None)
    first = listed.export(resources.settings, filter_text, clock.now())
    async with db.snapshot() as session:
        engine = name_of(await engines.get(session, name))

    async def read(page: Slice) -> ReadRows[ReadRevision]:
        async with db.snapshot() as session:
            return await store.read_revisions(session, engine.engine, None, clock.now(), page)

    async for revisions in exported(first, read):
        yield [MemoryRevision.from_row(engine, revision) for revision in revisions]


async def list_labels(
    resources: Resources, name: EngineName, key: str | None, prefix: str, page: PageRequest
) -> ListRevisionLabelsResponse:
    """Return a page of the keys of labels in use, or of the values of a key.

    Raises:
        InvalidArgument: the key or prefix is too long, the token is unreadable, or the query
            takes too long, since it skips too many labels of other scopes.
    """
    _check_length("key", key or "", MAX_LABEL_CHARS)
    _check_length("prefix", prefix, MAX_REVISION_LABEL_CHARS if key else MAX_LABEL_CHARS)
    listed = store.VALUES if key else store.KEYS
    asked = listed.page(page, engine=name.engine, key=key, prefix=prefix)
    wanted = WantedLabels(name.engine, key or None, prefix, resources.clock.now())
    async with resources.db.snapshot() as session:
        await engines.get(session, name)
        async with limited(session, resources.settings.filter_timeout_seconds, "prefix"):
            rows, token = asked.cut(await store.read_labels(session, wanted, asked))
    shown = [
        RevisionLabel(key=key, value=row.value) if key else RevisionLabel(key=row.key)
        for row in rows
    ]
    return ListRevisionLabelsResponse(labels=shown, next_page_token=token)


async def get(resources: Resources, name: RevisionName) -> MemoryRevision:
    """Return a revision of a live or recoverable memory."""
    now = resources.clock.now()
    async with resources.db.snapshot() as session:
        engine = name_of(await engines.get(session, name.memory.engine))
        memory = await memories.get(session, name.memory, memories.is_known(now))
        row = await store.get(session, name, now)
        revision = ReadRevision(row, memory.scope, memory.fact is not None)
        return MemoryRevision.from_row(engine, revision)


async def roll_back(
    resources: Resources,
    name: MemoryName,
    request: RollbackMemoryRequest,
    etag: str | None,
    once: IdempotencyKey | None,
) -> OperationRow:
    """Restore a live or deleted memory to a revision, or only plan the change.

    Raises:
        Aborted: the etag is stale.
        FailedPrecondition: the revision records a deletion.
        NotFound: the revision does not exist, or can no longer be read.
    """
    service = MemoryService.of(resources)
    now = service.clock.now()
    target = RevisionName(name, _revision_id(name, str(request.target_revision_id)))
    request, details = await service.admit_labels(name.engine, request)
    vector = None if request.validate_only else await _vector(resources, target, now)
    kind = PREVIEW if request.validate_only else "memories.rollback"
    method, locked = Method(kind, "RollbackMemory"), engines.locked(name.engine)
    async with mutate(service, locked, method, once, details=details, now=now) as change:
        if change.replayed is not None:
            return change.replayed
        session, engine = change.session, change.engine
        row = await memories.get(session, name, memories.is_known(now), for_update=True)
        change.concerns(row.scope)
        check_etag(row.version, etag)
        revision = await store.get(session, target, now)
        _check_restorable(target, revision)
        if request.validate_only:
            change.note(validateOnly=True)
            # Called for its checks, too.
            writing = service.writing(engine, change.operation, request)
            return await change.done(_planned(writing.engine, row, revision))
        writing = service.writing(engine, await change.reserved(), request)
        wanted = Change(
            row=row,
            content=content_of(revision),
            expire_time=memory_expiry(
                config_of(engine), Cause.UPDATE, now, None, ahead(row.expire_time, now)
            ),
            vector=vector,
            restores=revision.revision_id,
            hold=Hold.SET,
        )
        written = await ledger.change(session, writing, wanted)
        return await finish_with_memory(change, writing, written.row)


async def _vector(resources: Resources, target: RevisionName, now: datetime) -> Vector | None:
    async with resources.db.snapshot() as session:
        revision = await store.find(session, target, now)
    fact = None if revision is None else revision.fact
    return await EngineEmbedding.of(resources).fact(target.memory.engine.engine, fact)


def _planned(engine: EngineName, row: MemoryRow, revision: RevisionRow) -> dict[str, Any]:
    # Stored with names and empty contents, which are read later.
    memory = MemoryName(engine, row.memory_id)
    known = ("after",) if row.delete_time is not None else ("before", "after")
    change = {
        "action": Action.ROLLED_BACK,
        "memory": {"name": str(memory)},
        "etag": str(row.version),
        "restoredRevision": str(RevisionName(memory, revision.revision_id)),
        **{key: {} for key in known},
    }
    return {"@type": type_url("RollbackMemoryResponse"), "plannedChanges": [change]}


async def read_preview(session: Session, stored: Mapping[str, Any], clock: Clock) -> dict[str, Any]:
    """Fill in the contents before and after a planned rollback, if they are still known."""
    (planned,) = stored["plannedChanges"]
    name, now = MemoryName.parse(planned["memory"]["name"]), clock.now()
    target = RevisionName(name, parse_revision_id(planned["restoredRevision"].rpartition("/")[2]))
    known: dict[str, Memory | None] = {"before": None, "after": None}
    if "before" in planned:
        known["before"] = await find_version(session, name, int(planned["etag"]), now)
    row = await find_known(session, name, now)
    revision = None if row is None else await store.find(session, target, now)
    if row is not None and revision is not None:
        known["after"] = Memory.from_revision(Memory.from_row(name.engine, row), revision)
    names = {key: value for key, value in planned.items() if key not in known}
    texts = {key: _content(memory) for key, memory in known.items() if memory is not None}
    return {**stored, "plannedChanges": [{**names, **texts}]}


def _content(memory: Memory) -> dict[str, Any]:
    wire = memory.wire()
    return {name: wire[name] for name in _RESTORED if name in wire}


def _check_length(field: str, text: str, most: int) -> None:
    if len(text) > most:
        raise InvalidArgument.of_field(field, f"must have at most {most} characters.")


def _check_restorable(target: RevisionName, revision: RevisionRow) -> None:
    if revision.action == Action.DELETED:
        raise FailedPrecondition(
            f"{target} records a deletion and holds nothing to restore; use an earlier one.",
            Reason.REVISION_IS_DELETION,
        )


def _revision_id(memory: MemoryName, text: str) -> int:
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
    # Project and location are optional.
    engine, slash, rest = revisions.rpartition(f"/memories/{memory.memory}/revisions")
    return bool(slash) and not rest and memory.engine.is_named(engine)
