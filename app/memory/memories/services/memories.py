"""Use cases of memories: create, update, delete, undelete."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

from app.adapters.db.session import Database, Session
from app.adapters.resources import Resources
from app.kernel.auth import of_one
from app.kernel.changes import IdempotencyKey, changed_fields, check_etag
from app.kernel.clock import Clock
from app.kernel.errors import AlreadyExists, InvalidArgument, Reason
from app.kernel.names import EngineName, MemoryName, check_chosen_id
from app.kernel.wire.privacy_config import Place
from app.memory.memories.logic.policy import Cause, Life, ahead, memory_expiry, revision_expiry
from app.memory.memories.logic.provenance import named_in
from app.memory.memories.schemas.fast_json import memory_json
from app.memory.memories.schemas.memories import (
    CreateMemoryRequest,
    DeleteMemoryRequest,
    DeletionFields,
    MemoryFields,
    RevisionFields,
    UndeleteMemoryRequest,
    UpdateMemoryRequest,
    stored_type,
)
from app.memory.memories.services.embedding import EngineEmbedding
from app.memory.memories.services.listing import find_version
from app.memory.memories.store import ledger, repository
from app.memory.memories.store.changes import (
    Change,
    ChangeContext,
    Creation,
    Hold,
    response_of,
)
from app.memory.memories.store.columns import content_of, wire_names
from app.memory.memories.store.tables import ColumnRole, MemoryRow
from app.memory.memories.store.vectors import Vector
from app.platform.engines.logic.config import MemoryBankConfig, search_language
from app.platform.engines.services.engine_cache import EngineCache
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.engines.store.tables import EngineRow, config_of, name_of
from app.platform.limits.services.quotas import check_metadata_size, check_scope_size
from app.platform.operations.logic.states import EMPTY, OperationState
from app.platform.operations.schemas import given
from app.platform.operations.services.mutation import Method, Mutation, mutate
from app.platform.operations.store.repository import NewOperation
from app.platform.operations.store.tables import OperationRow
from app.platform.privacy.logic import noted
from app.platform.privacy.service import PrivacyService
from app.settings.settings import Settings

_EXPIRY_FIELDS = frozenset({"ttl", "expire_time"})
# Columns by their names in a field mask.
_COLUMNS = wire_names(MemoryRow, ColumnRole.CONTENT)
_IMMUTABLE = frozenset({"scope", *wire_names(MemoryRow, ColumnRole.KEPT)})
_MASKABLE = (
    frozenset(_COLUMNS) | _EXPIRY_FIELDS | _IMMUTABLE | frozenset(RevisionFields.model_fields)
)

_STATED = frozenset({"fact", "structured_content"})
"""The fields that hold the statement of a memory."""

TEXT_FIELDS = {*_COLUMNS, "revision_labels"}
"""Fields of a memory that hold texts of users; scopes, names and ids are not masked."""
UNDELETE = "memories.undelete"
"""Kind of the operation that undeletes a memory."""
_CREATE = Method("memories.create", "CreateMemory")
_UPDATE = Method("memories.update", "UpdateMemory")
_DELETE = Method("memories.delete", "DeleteMemory")
_UNDELETE = Method(UNDELETE, "UndeleteMemory")
ANSWERED_WITH_MEMORY = ("memories.create", "memories.update", "memories.rollback", UNDELETE)
"""The kinds of operations that respond with a memory."""

Labelled = TypeVar("Labelled", bound=DeletionFields)


@dataclass(frozen=True)
class Created:
    """The finished operation of a new memory; `response` is None if it must still be read."""

    row: OperationRow
    response: dict[str, Any] | None = None


@dataclass(frozen=True)
class _NewMemory:
    memory_id: str | None
    request: CreateMemoryRequest
    vector: Vector | None
    now: datetime
    details: dict[str, Any]

    def creation(self, config: MemoryBankConfig) -> Creation:
        request = self.request
        requested = _requested_expiry(request, self.now)
        return Creation(
            memory_id=self.memory_id,
            scope=request.scope,
            memory_type=stored_type(request.memory_type),
            content=request.content(),
            expire_time=memory_expiry(config, Cause.CREATE, self.now, requested, None),
            vector=self.vector,
        )


@dataclass(frozen=True)
class MemoryService:
    """Direct writes of memories by users; generation writes through the same ledger."""

    db: Database
    clock: Clock
    embedding: EngineEmbedding
    settings: Settings
    known: EngineCache
    privacy: PrivacyService

    @classmethod
    def of(cls, resources: Resources) -> "MemoryService":
        """Build the service from the process's resources."""
        return cls(
            resources.db,
            resources.clock,
            EngineEmbedding.of(resources),
            resources.settings,
            EngineCache.of(resources),
            PrivacyService.of(resources),
        )

    async def create(
        self,
        name: EngineName,
        memory_id: str | None,
        request: CreateMemoryRequest,
        once: IdempotencyKey | None,
    ) -> Created:
        """Create a memory exactly as given, without extraction or consolidation.

        Raises:
            AlreadyExists: the chosen id is taken.
        """
        now = self.clock.now()
        if memory_id is not None:
            check_chosen_id("memoryId", memory_id)
        check_scope_size(self.settings, request.scope)
        check_metadata_size(self.settings, request.metadata)
        request, masked = await self.privacy.admit(name, Place.DIRECT, request, TEXT_FIELDS)
        vector = await self.embedding.fact(name.engine, request.fact)
        new_memory = _NewMemory(memory_id, request, vector, now, {**noted(masked), **given(1)})
        known = self.known.find(name)
        done = None if known is None else await self._create_fast(known, new_memory, once)
        if known is not None and done is not None:
            # The write has confirmed the cached engine.
            self.known.note(known)
            return done
        opened = mutate(
            self,
            engines.locked(name),
            _CREATE,
            once,
            scopes=of_one(request.scope),
            details=new_memory.details,
            now=now,
        )
        async with opened as change:
            if change.replayed is not None:
                return Created(change.replayed)
            engine = change.engine
            writing = self.writing(engine, await change.reserved(), request)
            creation = new_memory.creation(config_of(engine))
            written = await ledger.create(change.session, writing, creation)
            row = await finish_with_memory(change, writing, written.row)
        self.known.note(engine)
        return Created(row)

    async def _create_fast(
        self, engine: EngineRow, new_memory: "_NewMemory", once: IdempotencyKey | None
    ) -> Created | None:
        new = self.operation(engine, _CREATE.kind, _CREATE.name, new_memory.now)
        new = new.concerning(new_memory.request.scope).noting(**new_memory.details)
        new = replace(new, caller=self.db.caller)
        try:
            writing = self.writing(engine, new, new_memory.request)
            creation = new_memory.creation(config_of(engine))
        except InvalidArgument:
            # A retry gets its response even if its times have passed; the slow path handles that.
            return None
        row = await ledger.create_at_once(self.db, engine, writing, creation, new, once)
        if row is None:
            return None
        response = response_of(writing, row)
        done = OperationRow(**new.columns(OperationState.SUCCEEDED, response))
        return Created(done, {**response, **memory_json(writing.engine, row)})

    async def update(
        self,
        name: MemoryName,
        request: UpdateMemoryRequest,
        mask: str | None,
        etag: str | None,
        once: IdempotencyKey | None,
    ) -> OperationRow:
        """Change the fields in the mask, or without a mask the fields that were sent.

        Raises:
            Aborted: the etag is stale.
        """
        now = self.clock.now()
        changed = changed_fields(mask, request.model_fields_set, _MASKABLE)
        check_metadata_size(self.settings, request.metadata)
        fields = TEXT_FIELDS & (changed | {"revision_labels"})
        request, masked = await self.privacy.admit(name.engine, Place.DIRECT, request, fields)
        fact = request.fact if "fact" in changed else None
        vector = await self.embedding.fact(name.engine.engine, fact)
        locked = engines.locked(name.engine)
        async with mutate(self, locked, _UPDATE, once, details=noted(masked), now=now) as change:
            if change.replayed is not None:
                return change.replayed
            session, engine = change.session, change.engine
            row = await repository.get(session, name, repository.is_live(now), for_update=True)
            change.concerns(row.scope)
            check_etag(row.version, etag)
            _check_immutable(row, request)
            requested = _requested_expiry(request, now)
            wanted = Change(
                row=row,
                content=_merged_content(row, request, changed),
                expire_time=_new_expiry(row, config_of(engine), changed, now, requested),
                vector=vector,
                hold=_hold(request, changed),
            )
            writing = self.writing(engine, await change.reserved(), request)
            written = await ledger.change(session, writing, wanted)
            return await finish_with_memory(change, writing, written.row)

    async def delete(
        self,
        name: MemoryName,
        request: DeleteMemoryRequest,
        etag: str | None,
        once: IdempotencyKey | None,
        *,
        permanent: bool,
    ) -> OperationRow:
        """Delete a memory; unless `permanent`, it can be recovered for a while.

        A permanent deletion also accepts a deleted memory. It removes every derived row in this
        transaction; the operation's metadata counts the rows.

        Raises:
            Aborted: the etag is stale.
            InvalidArgument: a permanent deletion, which leaves no revision, has fields for it.
        """
        now = self.clock.now()
        request.check_kept(permanent=permanent)
        request, details = await self.admit_labels(name.engine, request)
        visible = repository.is_known(now) if permanent else repository.is_live(now)
        locked = engines.locked(name.engine, Lock.UPDATE if permanent else Lock.SHARED)
        async with mutate(self, locked, _DELETE, once, details=details, now=now) as change:
            if change.replayed is not None:
                return change.replayed
            session = change.session
            row = await repository.get(session, name, visible, for_update=True)
            change.concerns(row.scope)
            change.operation = replace(change.operation, memory_id=row.memory_id)
            check_etag(row.version, etag)
            if permanent:
                erased = await ledger.erase(session, row.engine_id, [row.memory_id])
                change.note(erased=asdict(erased))
            else:
                writing = self.writing(change.engine, await change.reserved(), request)
                await ledger.delete(session, writing, [row])
                note_revisions(change, writing)
            return await change.done(EMPTY)

    async def read_response(self, session: Session, stored: Mapping[str, Any]) -> dict[str, Any]:
        """Complete the response of an operation with the memory as the operation left it.

        Only the name remains if that state is unknown: the memory is erased or has expired, its
        engine is deleted, or no revision was kept.
        """
        name, version = MemoryName.parse(stored["name"]), int(stored["etag"])
        unknown = {key: stored[key] for key in ("@type", "name", "etag")}
        memory = await find_version(session, name, version, self.clock.now())
        if memory is None:
            return unknown
        wire = memory.wire()
        # A memory that was erased and created again under the same id is another memory.
        return {**stored, **wire} if wire["updateTime"] == stored["updateTime"] else unknown

    async def admit_labels(
        self, name: EngineName, request: Labelled
    ) -> tuple[Labelled, dict[str, Any]]:
        """Return a request with masked labels, its only texts, and metadata about the masking."""
        if not request.revision_labels:
            return request, {}
        fields = {"revision_labels"}
        request, masked = await self.privacy.admit(name, Place.DIRECT, request, fields)
        return request, noted(masked)

    def operation(self, engine: EngineRow, kind: str, method: str, now: datetime) -> NewOperation:
        """Return a new operation for a request on an engine's memories."""
        return NewOperation.of(
            name_of(engine), kind, method, now, self.settings.operation_retention
        )

    def writing(
        self, engine: EngineRow, new: NewOperation, request: DeletionFields
    ) -> ChangeContext:
        """Return the context that all changes of a request share."""
        return self.writing_for(engine, new.operation_id, new.now, request, self.db.caller)

    def writing_for(
        self,
        engine: EngineRow,
        operation_id: str,
        now: datetime,
        request: DeletionFields,
        caller: str | None,
    ) -> ChangeContext:
        """Return the context that all changes of an operation share; `caller` requested it."""
        config = config_of(engine)
        names = ("revisionTtl", "revisionExpireTime")
        life = Life(request.revision_ttl, request.revision_expire_time, names)
        ends = revision_expiry(config, now, life.end(now), self.settings.revision_ttl)
        return ChangeContext(
            engine=name_of(engine),
            now=now,
            operation_id=operation_id,
            caller=caller,
            model_id=self.embedding.serving(engine),
            adopts_model=engine.embedding_model is None,
            recovery=self.settings.recovery_window,
            revision_expire_time=ends,
            labels=request.revision_labels or {},
            keeps_revisions=request.keeps_revisions and not config.disable_memory_revisions,
            language=search_language(config),
        )


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
    fact, vector = await _deleted_fact(service, name, now)
    locked = engines.locked(name.engine)
    async with mutate(service, locked, _UNDELETE, once, details=details, now=now) as change:
        if change.replayed is not None:
            return change.replayed
        session, engine = change.session, change.engine
        row = await repository.get(session, name, repository.is_known(now), for_update=True)
        change.concerns(row.scope)
        if row.delete_time is None:
            raise AlreadyExists(f"{name} is not deleted.", Reason.NOT_DELETED)
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


async def finish_with_memory(
    change: Mutation[EngineRow], writing: ChangeContext, row: MemoryRow
) -> OperationRow:
    """End a change of one memory; the response keeps names, the text is read later."""
    note_revisions(change, writing)
    return await change.done(response_of(writing, row))


def note_revisions(change: Mutation[EngineRow], writing: ChangeContext) -> None:
    """Note in the operation's metadata that a change kept no revision and cannot be undone."""
    if not writing.keeps_revisions:
        change.note(revisionsDisabled=True)


async def _deleted_fact(
    service: MemoryService, name: MemoryName, now: datetime
) -> tuple[str | None, Vector | None]:
    async with service.db.snapshot() as session:
        row = await repository.find(session, name, repository.is_known(now))
    fact = None if row is None or row.delete_time is None else row.fact
    return fact, await service.embedding.fact(name.engine.engine, fact)


def _requested_expiry(request: MemoryFields, now: datetime) -> datetime | None:
    return Life(request.ttl, request.expire_time, ("ttl", "expireTime")).end(now)


def _check_immutable(row: MemoryRow, request: UpdateMemoryRequest) -> None:
    if request.scope is not None and request.scope != row.scope:
        raise InvalidArgument.of_field("scope", "must be omitted or equal the present value.")
    if request.memory_type is not None and stored_type(request.memory_type) != row.memory_type:
        raise InvalidArgument.of_field("memoryType", "must be omitted or equal the present value.")


def _merged_content(
    row: MemoryRow, request: UpdateMemoryRequest, changed: frozenset[str]
) -> dict[str, Any]:
    new = request.content()
    sent = {column: new[column] for name, column in _COLUMNS.items() if name in changed}
    # Provenance from the present metadata is removed with them; the ledger reads the new metadata.
    own = dict.fromkeys(named_in(row.user_metadata))
    content = {**content_of(row), **own, **sent}
    if content["fact"] is None and content["structured_content"] is None:
        raise InvalidArgument.of_field("fact", "is required, unless there is structuredContent.")
    return content


def _hold(request: UpdateMemoryRequest, changed: frozenset[str]) -> Hold:
    # Metadata with a time take precedence over the change.
    metadata = request.content()["user_metadata"]
    if "metadata" in changed and "event_time" in named_in(metadata):
        return Hold.CLEAR
    return Hold.SET if changed & _STATED else Hold.KEEP


def _new_expiry(
    row: MemoryRow,
    config: MemoryBankConfig,
    changed: frozenset[str],
    now: datetime,
    requested: datetime | None,
) -> datetime | None:
    # A mask that names the expiry without a value removes the present one. The bank's default,
    # if it has one, then applies as for any update.
    if changed & _EXPIRY_FIELDS:
        return memory_expiry(config, Cause.UPDATE, now, requested, None)
    return memory_expiry(config, Cause.UPDATE, now, None, row.expire_time)
