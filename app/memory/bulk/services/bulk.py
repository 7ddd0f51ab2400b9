"""Creation of many memories in one transaction: each is parsed (pure) and has a result."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

from pydantic import ValidationError

from app.adapters.concurrency import each
from app.adapters.db.conditions import check_scope, scopes_of
from app.adapters.db.session import Session
from app.adapters.resources import Resources
from app.kernel.auth import Scopes, of_one
from app.kernel.changes import IdempotencyKey
from app.kernel.errors import (
    AlreadyExists,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    Reason,
    ServiceError,
)
from app.kernel.limits import Counted
from app.kernel.names import EngineName, MemoryName, check_chosen_id
from app.kernel.permissions import Permission
from app.kernel.wire.privacy_config import Place
from app.kernel.wire.reading import read_object
from app.kernel.wire.scalars import format_timestamp
from app.kernel.wire.violations import invalid_fields
from app.memory.bulk import store
from app.memory.bulk.logic import MAX_LINE_BYTES, ImportLine
from app.memory.bulk.schemas import (
    MIN_ERRORS,
    BatchCreateMemoriesRequest,
    ImportedMemory,
    NewMemory,
)
from app.memory.memories.logic.policy import Cause, Life, memory_expiry
from app.memory.memories.schemas.memories import (
    CreateMemoryRequest,
    Memory,
    RevisionFields,
    stored_type,
)
from app.memory.memories.services.memories import TEXT_FIELDS, MemoryService
from app.memory.memories.store import ledger
from app.memory.memories.store import repository as memories
from app.memory.memories.store.changes import (
    Change,
    ChangeContext,
    Creation,
    Hold,
    Times,
    time_said,
)
from app.memory.memories.store.tables import MemoryRow
from app.memory.memories.store.vectors import Vector
from app.platform.engines.logic.config import MemoryBankConfig
from app.platform.engines.store import repository as engines
from app.platform.engines.store.tables import EngineRow, config_of
from app.platform.limits.services.quotas import check_metadata_size, check_room, check_scope_size
from app.platform.operations.logic.states import type_url
from app.platform.operations.schemas import given
from app.platform.operations.services.mutation import Method, mutate
from app.platform.operations.store.repository import NewOperation
from app.platform.operations.store.tables import OperationRow
from app.platform.privacy.logic import noted
from app.settings.settings import Settings

_AHEAD = timedelta(minutes=5)
"""Tolerance for a clock of another service that is ahead."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class ImportOptions:
    """Options of an import; `work` is the key of an operation that several requests share.

    With `validate_only`, lines are counted, and nothing is written.
    """

    work: IdempotencyKey | None = None
    overwrite: bool = False
    validate_only: bool = False
    max_errors: int = MIN_ERRORS
    may_set_times: bool = False
    may_restore: bool = False


@dataclass(frozen=True)
class BulkItem:
    """A requested memory.

    Attributes:
        place: the index in a batch, or the line number in an import.
        times: the times of the memory at its source; None: the memory is new.
        prefix: the path of its fields in errors; empty for a line.
    """

    place: int
    request: CreateMemoryRequest
    memory_id: str | None
    times: Times | None = None
    prefix: str = ""

    @property
    def memory_prefix(self) -> str:
        """The path of the memory's fields in errors; empty if the memory is the whole line."""
        return f"{self.prefix}memory." if self.prefix else ""

    def is_expired(self, now: datetime) -> bool:
        """Return True if the requested expiry time has passed."""
        end = self.request.expire_time
        return end is not None and end <= now


Read = BulkItem | ServiceError
"""Requested memory, or its error."""


def read_new(settings: Settings, place: int, sent: Any) -> Read:  # noqa: ANN401 - any JSON value
    """Parse one memory of a batch; errors name its fields below `requests[place]`."""
    try:
        new = NewMemory.model_validate(sent)
    except ValidationError as error:
        # Without the input, which may contain the text of a memory.
        listed = error.errors(include_url=False, include_input=False, include_context=False)
        return invalid_fields(listed, NewMemory, where=("requests", place))
    prefix = f"requests[{place}]."
    return _checked(settings, BulkItem(place, new.memory, new.memory_id, prefix=prefix))


def read_line(settings: Settings, options: ImportOptions, now: datetime, line: ImportLine) -> Read:
    """Parse a line of an import; errors name fields, but contain no content."""
    if line.text is None:
        message = f"The line is longer than {MAX_LINE_BYTES} bytes."
        return InvalidArgument(message, Reason.BODY_TOO_LARGE)
    try:
        imported = ImportedMemory.model_validate(read_object(line.text, "line"))
        times = _times(imported, options, now)
    except (InvalidArgument, PermissionDenied) as error:
        return error
    except ValidationError as error:
        listed = error.errors(include_url=False, include_input=False, include_context=False)
        return invalid_fields(listed)
    return _checked(settings, BulkItem(line.number, imported, imported.memory_id, times))


def _times(imported: ImportedMemory, options: ImportOptions, now: datetime) -> Times | None:
    created, updated, said = imported.create_time, imported.update_time, imported.event_time
    if said is not None and said > now + _AHEAD:
        raise InvalidArgument.of_field("eventTime", "must be at most 5 minutes ahead.")
    field = "createTime" if updated is None else "updateTime"
    if created is None and updated is None:
        return None
    if not options.may_set_times:
        permission = Permission.MEMORIES_IMPORT
        raise PermissionDenied(
            f"{field}: needs the permission {permission}.",
            Reason.PERMISSION_MISSING,
            metadata={"permission": permission.value},
        )
    if created is None:
        raise InvalidArgument.of_field("updateTime", "needs createTime as well.")
    updated = created if updated is None else updated
    if created < _EPOCH:
        raise InvalidArgument.of_field("createTime", "must not be before 1970.")
    if updated < created:
        raise InvalidArgument.of_field("updateTime", "must not be before createTime.")
    if updated > now + _AHEAD:
        raise InvalidArgument.of_field(field, "must be at most 5 minutes ahead.")
    return Times(created, updated)


def _checked(settings: Settings, item: BulkItem) -> Read:
    try:
        if item.memory_id is not None:
            check_chosen_id("memoryId", item.memory_id)
    except InvalidArgument as error:
        return placed(error, item.prefix)
    try:
        check_scope_size(settings, item.request.scope)
        check_metadata_size(settings, item.request.metadata)
    except InvalidArgument as error:
        return placed(error, item.memory_prefix)
    return item


def placed(error: ServiceError, prefix: str) -> ServiceError:
    """Convert a memory's error to an error of the request, with fields below `prefix`."""
    if not prefix or not isinstance(error, InvalidArgument):
        return error
    violations = [
        replace(violation, field=f"{prefix}{violation.field}") for violation in error.violations
    ]
    return InvalidArgument(f"{prefix}{error.message}", error.reason, violations=violations)


def repeated(items: Sequence[BulkItem]) -> Iterator[BulkItem]:
    """Yield the items that repeat the chosen id of an earlier item."""
    known: set[str] = set()
    for item in items:
        if item.memory_id in known:
            yield item
        elif item.memory_id is not None:
            known.add(item.memory_id)


BATCH_CREATE = "memories.batchCreate"
"""Kind of a batch's operation."""
_METHOD = Method(BATCH_CREATE, "BatchCreateMemories")
_MAX_SCOPES = 100
"""Maximum number of scope values in an operation; with more, it covers all reachable scopes."""

_Prepared = tuple[Creation, ChangeContext]
Outcome = MemoryRow | ServiceError
"""Created memory, or the error that prevented its creation."""


@dataclass(frozen=True)
class BulkService:
    """Creation of many memories from their final content, without generation."""

    memories: MemoryService

    @classmethod
    def of(cls, resources: Resources) -> "BulkService":
        """Build the service from the process's resources."""
        return cls(MemoryService.of(resources))

    async def batch_create(
        self, name: EngineName, request: BatchCreateMemoriesRequest, once: IdempotencyKey | None
    ) -> OperationRow:
        """Create memories from the given content: all or none, or each valid one.

        Raises:
            AlreadyExists: a chosen id of an atomic batch is taken.
            InvalidArgument: a memory of an atomic batch is invalid.
            NotFound: the caller has no access to the engine or to a scope of an atomic batch.
            ResourceExhausted: the engine has no room for all memories.
        """
        settings = self.memories.settings
        read = await each(
            list(enumerate(request.requests)), lambda numbered: read_new(settings, *numbered)
        )
        read, masked = await self.admitted(name, read)
        _refuse_repeated(read)
        if request.atomic:
            _raise_first(read)
        items = [entry for entry in read if isinstance(entry, BulkItem)]
        vectors = await self.embedded(name.engine, items)
        opened = mutate(
            self.memories,
            engines.locked(name),
            _METHOD,
            once,
            scopes=_one_scope(items),
            details={**noted(masked), **given(len(request.requests))},
        )
        async with opened as change:
            if change.replayed is not None:
                return change.replayed
            session, new = change.session, await change.reserved()
            creating = Creating(self.memories, session, change.engine, new, vectors)
            outcomes = iter(await creating.create(items))
            results = [next(outcomes) if isinstance(entry, BulkItem) else entry for entry in read]
            if request.atomic:
                _raise_first(results)
            change.operation = replace(new, scopes=_scopes(session, results))
            if creating.keeps_no_revisions:
                change.note(revisionsDisabled=True)
            engine = EngineName.parse(new.engine_name)
            response = _response(engine, results, is_atomic=request.atomic)
            return await change.done(response)

    async def admitted(
        self, name: EngineName, read: Sequence[Read]
    ) -> tuple[list[Read], Mapping[str, int]]:
        """Return masked memories or errors, and the number of masked values by kind."""
        items = [entry for entry in read if isinstance(entry, BulkItem)]
        requests = [(item.memory_prefix.removesuffix("."), item.request) for item in items]
        privacy = self.memories.privacy
        done, masked = await privacy.admit_each(name, Place.DIRECT, requests, TEXT_FIELDS)
        admitted: dict[int, Read] = {
            item.place: result
            if isinstance(result, InvalidArgument)
            else replace(item, request=result)
            for item, result in zip(items, done, strict=True)
        }
        return [
            admitted[entry.place] if isinstance(entry, BulkItem) else entry for entry in read
        ], masked

    async def embedded(self, engine_id: int, items: Sequence[BulkItem]) -> dict[str, Vector]:
        """Return the vector of each fact. Callers must not be inside a transaction."""
        facts = [item.request.fact for item in items if item.request.fact is not None]
        return await self.memories.embedding.facts(engine_id, list(dict.fromkeys(facts)))

    async def read_response(self, session: Session, stored: Mapping[str, Any]) -> dict[str, Any]:
        """Fill the response of a batch with its memories as created, if they are still known."""
        named: Sequence[Mapping[str, Any]] = stored["memories"]
        names = [MemoryName.parse(entry["name"]) for entry in named]
        wires = await self._as_created(session, names)
        # A different update time means that the memory was erased and its id used again.
        filled = [
            dict(entry) if wire is None or wire["updateTime"] != entry["updateTime"] else wire
            for entry, wire in zip(named, wires, strict=True)
        ]
        return {**stored, "memories": filled}

    async def _as_created(
        self, session: Session, names: Sequence[MemoryName]
    ) -> list[dict[str, Any] | None]:
        """Return memories of one engine in their state after creation; None for unknown ones."""
        if not names or not await engines.is_live(session, names[0].engine.engine):
            return [None] * len(names)
        engine, now = names[0].engine, self.memories.clock.now()
        ids = [name.memory for name in names]
        rows = await store.find_all(session, engine.engine, ids, memories.is_known(now))
        changed = [memory_id for memory_id in rows if rows[memory_id].version != 1]
        first = await store.find_creations(session, engine.engine, changed, now)

        def left(name: MemoryName) -> dict[str, Any] | None:
            row, revision = rows.get(name.memory), first.get(name.memory)
            if row is None or (row.version != 1 and revision is None):
                return None
            memory = Memory.from_row(engine, row)
            return (memory if revision is None else Memory.from_revision(memory, revision)).wire()

        return await each(names, left)


@dataclass
class Creating:
    """Creation and change of memories for one operation, in one transaction."""

    memories: MemoryService
    session: Session
    engine: EngineRow
    new: NewOperation
    vectors: Mapping[str, Vector]
    _writings: dict[object, ChangeContext] = field(default_factory=dict)

    async def create(self, items: Sequence[BulkItem]) -> list[Outcome]:
        """Create memories with distinct ids; raise ResourceExhausted without room for all."""
        engine_id = self.engine.engine_id
        await check_room(
            self.session, self.memories.settings, engine_id, Counted.MEMORIES, len(items)
        )
        all_prepared = await each(items, self._prepare)
        wanted = [prepared for prepared in all_prepared if not isinstance(prepared, ServiceError)]
        writing = self.memories.writing(self.engine, self.new, RevisionFields())
        written = iter(await ledger.create_free(self.session, writing, wanted))
        outcomes: list[Outcome] = []
        for item, prepared in zip(items, all_prepared, strict=True):
            done = prepared if isinstance(prepared, ServiceError) else next(written)
            if done is None:
                outcomes.append(id_taken(f"{item.prefix}memoryId"))
            else:
                outcomes.append(done if isinstance(done, ServiceError) else done.row)
        return outcomes

    async def change(self, wanted: Sequence[tuple[BulkItem, MemoryRow]]) -> list[Outcome]:
        """Change distinct, locked memories and restore deleted ones, or raise ResourceExhausted."""
        deleted = sum(row.delete_time is not None for _, row in wanted)
        await check_room(
            self.session, self.memories.settings, self.engine.engine_id, Counted.MEMORIES, deleted
        )
        outcomes: list[Outcome] = []
        changes: dict[int, tuple[ChangeContext, list[Change]]] = {}
        for item, row in wanted:
            prepared = self._prepare(item)
            if isinstance(prepared, ServiceError):
                outcomes.append(prepared)
                continue
            creation, writing = prepared
            changes.setdefault(id(writing), (writing, []))[1].append(_changing(row, creation))
            outcomes.append(row)
        for writing, alike in changes.values():
            await ledger.apply(self.session, writing, alike)
        return outcomes

    async def faults(self, items: Sequence[BulkItem]) -> dict[int, ServiceError]:
        """Return the errors of items that could not be written, by place."""
        all_prepared = await each(items, self._prepare)
        return {
            item.place: prepared
            for item, prepared in zip(items, all_prepared, strict=True)
            if isinstance(prepared, ServiceError)
        }

    @property
    def keeps_no_revisions(self) -> bool:
        """True if there are changes, but no revisions of them, so they cannot be undone."""
        kept = [writing.keeps_revisions for writing in self._writings.values()]
        return bool(kept) and not any(kept)

    def _prepare(self, item: BulkItem) -> _Prepared | ServiceError:
        request, now = item.request, self.new.now
        try:
            check_scope(self.session, request.scope)
            ends = Life(request.ttl, request.expire_time, ("ttl", "expireTime")).end(now)
            creation = Creation(
                memory_id=item.memory_id,
                scope=request.scope,
                memory_type=stored_type(request.memory_type),
                content=request.content(),
                expire_time=memory_expiry(self._config, Cause.CREATE, now, ends, None),
                vector=None if request.fact is None else self.vectors.get(request.fact),
                times=item.times,
            )
            return creation, self._writing(request)
        except (InvalidArgument, NotFound) as error:
            return placed(error, item.memory_prefix)

    @cached_property
    def _config(self) -> MemoryBankConfig:
        return config_of(self.engine)

    def _writing(self, request: RevisionFields) -> ChangeContext:
        # Usually all items have the same options, and so one context.
        options = (
            frozenset((request.revision_labels or {}).items()),
            request.revision_ttl,
            request.revision_expire_time,
            request.disable_memory_revisions,
        )
        writing = self._writings.get(options)
        if writing is None:
            writing = self.memories.writing(self.engine, self.new, request)
            self._writings[options] = writing
        return writing


def _changing(row: MemoryRow, wanted: Creation) -> Change:
    is_said = time_said(wanted.content) is not None
    return Change(
        row=row,
        content=wanted.content,
        expire_time=wanted.expire_time,
        vector=wanted.vector,
        is_undeletion=row.delete_time is not None,
        times=wanted.times,
        hold=Hold.CLEAR if is_said else Hold.SET,
    )


def id_taken(field_name: str) -> AlreadyExists:
    """Return the error of a chosen id that is in use."""
    message = "this id exists, or was deleted and can still be recovered; use another."
    return AlreadyExists(f"{field_name}: {message}", Reason.ID_TAKEN)


def _refuse_repeated(read: list[Read]) -> None:
    for item in repeated([entry for entry in read if isinstance(entry, BulkItem)]):
        read[item.place] = InvalidArgument.of_field(
            f"{item.prefix}memoryId",
            "was chosen for another memory of this batch, too; use another id.",
        )


def _raise_first(results: Sequence[object]) -> None:
    for result in results:
        if isinstance(result, ServiceError):
            raise result


def _one_scope(items: Sequence[BulkItem]) -> Scopes | None:
    scopes = [item.request.scope for item in items]
    if not scopes or any(scope != scopes[0] for scope in scopes):
        return None
    return of_one(scopes[0])


def _scopes(session: Session, results: Sequence[Outcome | Read]) -> Scopes | None:
    scopes = [row.scope for row in results if isinstance(row, MemoryRow)]
    keys = set(scopes[0]).intersection(*scopes) if scopes else set()
    named = {key: sorted({scope[key] for scope in scopes}) for key in sorted(keys)}
    if not named or sum(map(len, named.values())) > _MAX_SCOPES:
        return scopes_of(session)
    return named


def _response(
    engine: EngineName, results: Sequence[Outcome | Read], *, is_atomic: bool
) -> dict[str, Any]:
    """Return the stored response: names, and the errors of memories that were not created."""
    rows = [row for row in results if isinstance(row, MemoryRow)]
    response: dict[str, Any] = {
        "@type": type_url("BatchCreateMemoriesResponse"),
        "memories": [_named(engine, row) for row in rows],
    }
    if not is_atomic:
        response["results"] = [
            {"memory": {"name": str(MemoryName(engine, result.memory_id))}}
            if isinstance(result, MemoryRow)
            else {"error": _status(result)}
            for result in results
        ]
    return response


def _named(engine: EngineName, row: MemoryRow) -> dict[str, str]:
    return {
        "name": str(MemoryName(engine, row.memory_id)),
        "updateTime": format_timestamp(row.update_time),
        "etag": str(row.version),
    }


def _status(error: object) -> dict[str, object]:
    assert isinstance(error, ServiceError)
    return error.as_operation_error()
