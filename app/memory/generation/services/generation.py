"""Start of a generation: the check of its request and source, and its operation in the queue.

A source session may be in another engine of the same project and location. Without access to that,
it is reported as not found. Previews are read here, too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from typing import Any, Final

from prometheus_client import Counter

from app.adapters.db.session import Session, note, reaches_engine
from app.adapters.llm.models import TextModels
from app.adapters.llm.ports import Meter, TextModel
from app.adapters.resources import Resources
from app.kernel.changes import IdempotencyKey
from app.kernel.clock import Clock
from app.kernel.errors import InvalidArgument, NotFound
from app.kernel.ids import scope_hash
from app.kernel.limits import Counted
from app.kernel.names import EngineName, MemoryName, SessionName
from app.kernel.wire.privacy_config import Place
from app.kernel.wire.scalars import parse_timestamp
from app.language.facts import ENGINE
from app.memory.generation.schemas import (
    ContentEvent,
    GenerateMemoriesRequest,
    VertexSessionSource,
)
from app.memory.generation.services.turns import files_of
from app.memory.generation.store import repository
from app.memory.memories.schemas.memories import MAX_SCOPE_VALUE_CHARS
from app.memory.memories.services.listing import find_version
from app.memory.memories.services.memories import MemoryService
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.engines.store.tables import EngineRow, config_of, name_of
from app.platform.limits.services.quotas import check_metadata_size, check_more, check_scope_size
from app.platform.operations.schemas import OperationSource, given
from app.platform.operations.services.mutation import Method, mutate
from app.platform.operations.services.operations import not_kept
from app.platform.operations.store import repository as operations
from app.platform.operations.store.idempotency import record_of
from app.platform.operations.store.repository import NewOperation
from app.platform.operations.store.tables import OperationRow
from app.platform.privacy.logic import noted
from app.platform.sessions.store import repository as sessions
from app.platform.sessions.store.tables import SessionRow
from app.platform.usage import logic as costs
from app.platform.usage.service import UsageService
from app.settings.settings import Settings

MODEL_ENTRIES = Counter(
    "memory_bank_model_entries_total",
    "Entries that models wrote for generations, by list (facts, fields, verdicts) and reading:"
    " SOUND, MENDED where it was malformed but could be read, UNREADABLE where it was lost.",
    ["model", "list", "reading"],
)
"""Declared here because servers load this module too: all processes have the same metrics."""
GENERATE: Final = "generation.generate"
"""Kind of the operation that generates memories."""
MASKED_FIELDS = {
    "direct_contents_source",
    "direct_memories_source",
    "metadata",
    "revision_labels",
}
"""Fields of a request that hold texts of users; names and ids are not masked."""
_PREVIEWED = ("fact", "topics", "structuredContent")
"""Fields of a memory in a preview."""
PREVIEW: Final = operations.PREVIEW
"""Kind of the operation that only previews a generation."""


@dataclass(frozen=True)
class SourceSession:
    """A session that is the source of a generation, perhaps of another engine (`is_elsewhere`)."""

    name: SessionName
    engine: EngineRow
    row: SessionRow
    is_elsewhere: bool

    def is_named_in(self, scope: Mapping[str, str]) -> bool:
        """Return True if an operation on a scope may name the session as its source."""
        # The scope must hold the session's user, since its readers may not know other
        # users' sessions. The removal of a session of another engine would not reach the
        # operation.
        return not self.is_elsewhere and self.row.user_id in scope.values()


async def start(
    resources: Resources,
    name: EngineName,
    request: GenerateMemoriesRequest,
    once: IdempotencyKey | None,
) -> OperationRow:
    """Queue a generation; the generations of one scope run one after another.

    The fast path sends one statement. If it does not apply or changes nothing, the generation is
    queued step by step.

    Raises:
        NotFound: the engine, or the session named as the source, does not exist.
        InvalidArgument: the engine refuses a value in the request.
        ResourceExhausted: the engine has used up its tokens of today, or has reached its limit
            of waiting operations.
    """
    service, now = MemoryService.of(resources), resources.clock.now()
    check_metadata_size(resources.settings, request.metadata)
    _check_length(resources.settings, request)
    place = Place.GENERATION if request.direct_memories_source is None else Place.DIRECT
    request, masked = await service.privacy.admit(name, place, request, MASKED_FIELDS)
    method = Method(PREVIEW if request.validate_only else GENERATE, "GenerateMemories")
    new_generation = _NewGeneration(resources, service, request, noted(masked), now)
    known = service.known.find(name)
    done = None if known is None else await new_generation.queue_at_once(known, method, once)
    if known is not None and done is not None:
        # The write has confirmed the cached engine.
        service.known.note(known)
        return done
    async with mutate(service, engines.locked(name), method, once, now=now) as change:
        if change.replayed is not None:
            return change.replayed
        session, engine = change.session, change.engine
        await change.check_queue()
        read = request.vertex_session_source
        origin = None if read is None else await admit_source(session, engine, read, now)
        scope = _scope(request, origin)
        check_scope_size(resources.settings, scope)
        change.concerns(scope)
        await _check_budget(resources, session, engine, has_facts=new_generation.has_facts)
        change.operation = new_generation.operation(engine, change.operation, scope, origin)
        return await change.queue(change.operation.key, change.operation.request or {})


@dataclass(frozen=True)
class _NewGeneration:
    resources: Resources
    service: MemoryService
    request: GenerateMemoriesRequest
    details: Mapping[str, Any]
    now: datetime

    @property
    def has_facts(self) -> bool:
        return self.request.direct_memories_source is not None

    async def queue_at_once(
        self, engine: EngineRow, method: Method, once: IdempotencyKey | None
    ) -> OperationRow | None:
        """Queue it at once; return None if that did nothing or does not apply."""
        # A cluster has hints in place of notifications, so there the reference path serves.
        scope, db = self.request.scope, self.service.db
        audit = None if scope is None else db.audit_within(scope)
        has_budget = self.resources.settings.daily_max_tokens is not None
        is_limited = has_budget and _needs_model(self.resources, engine, has_facts=self.has_facts)
        if scope is None or audit is None or self.request.vertex_session_source:
            return None
        if is_limited or db.is_distributed:
            return None
        new = self.service.operation(engine, method.kind, method.name, self.now)
        try:
            check_scope_size(self.resources.settings, scope)
            new = self.operation(engine, new.concerning(scope), scope, None)
        except InvalidArgument:
            # A retry gets its response even if its times have passed: the reference path decides.
            return None
        columns = operations.pending_columns(replace(new, caller=db.caller))
        rows = {"operation": columns, "event": audit({"operation": new.name})}
        if once is not None:
            rows["request"] = record_of(once, engine.engine_id, self.now, new)
        most = self.resources.settings.engine_max_queued_operations
        is_queued = await repository.queue(db, engine, rows, most)
        return OperationRow(**columns) if is_queued else None

    def operation(
        self,
        engine: EngineRow,
        new: NewOperation,
        scope: dict[str, str],
        origin: SourceSession | None,
    ) -> NewOperation:
        """Return the complete operation; raise InvalidArgument for an expired revision lifetime."""
        request = self.request
        # A revision lifetime that ends in the past is the caller's error, so check it here.
        self.service.writing(engine, new, request)
        model = model_of(self.resources.models, engine)
        source = request.direct_contents_source
        queued = request.queued(
            scope,
            self.now,
            None if origin is None else origin.row.create_time,
            keeps_files=reads_files(model, source.events if source is not None else []),
            is_told=self.service.privacy.is_told,
        )
        # Set from the start, so the metadata include the author even if the work fails.
        new = new.noting(**untouched(model, self.resources.settings), **self.details)
        new = new.noting(**_source_of(request, origin, scope))
        # A preview writes nothing, so it does not have to wait for generations that write.
        return new.queued(None if request.validate_only else scope_hash(scope).hex(), queued)


async def retry(
    resources: Resources, session: Session, failed: OperationRow, new: NewOperation
) -> NewOperation:
    """Complete the retry of a failed generation.

    Raises:
        FailedPrecondition: its revisions would have expired already.
        NotFound: the engine, or for this caller the source session, does not exist.
        ResourceExhausted: the engine is at its limit of memories, or has used up its tokens.
    """
    engine = await engines.get(session, EngineName.parse(failed.engine_name), Lock.SHARED)
    request = failed.request or {}
    expires = request.get("revisionExpireTime")
    if expires is not None and parse_timestamp(expires) <= new.now:
        raise not_kept(failed)
    if (read := request.get("vertexSessionSource")) is not None:
        # The first attempt may have been requested by a caller with wider read access.
        await admit_source(session, engine, VertexSessionSource.model_validate(read), new.now)
    await check_more(session, resources.settings, engine.engine_id, Counted.MEMORIES)
    has_facts = "directMemoriesSource" in request
    await _check_budget(resources, session, engine, has_facts=has_facts)
    return new.noting(**untouched(model_of(resources.models, engine), resources.settings))


async def _check_budget(
    resources: Resources, session: Session, engine: EngineRow, *, has_facts: bool
) -> None:
    if _needs_model(resources, engine, has_facts=has_facts):
        await UsageService.of(resources).check_budget(session, engine.engine_id)


def _needs_model(resources: Resources, engine: EngineRow, *, has_facts: bool) -> bool:
    # Given facts may need no model; if they do, the worker checks the budget.
    return model_of(resources.models, engine) is not None and not has_facts


def _check_length(settings: Settings, request: GenerateMemoriesRequest) -> None:
    source = request.direct_contents_source
    if source is None:
        return
    parts = chain.from_iterable(event.content.parts or () for event in source.events)
    length = sum(len(part.text or "") for part in parts)
    if length > settings.max_generation_chars:
        raise InvalidArgument.of_field(
            "directContentsSource.events",
            f"must have at most {settings.max_generation_chars} characters of text in all;"
            f" got {length}.",
        )


def model_of(models: TextModels, engine: EngineRow) -> TextModel | None:
    """Return the model that writes for an engine, or None for the built-in rules."""
    generation = config_of(engine).generation_config
    return models.choose(generation.model if generation is not None else None)


def untouched(model: TextModel | None, settings: Settings) -> dict[str, Any]:
    """Return the metadata of work that has not begun: its author, and costs of zero."""
    author = ENGINE if model is None else model.model_id
    return {"author": author, **costs.details(Meter(), settings)}


def _source_of(
    request: GenerateMemoriesRequest, origin: SourceSession | None, scope: Mapping[str, str]
) -> dict[str, Any]:
    facts, contents = request.direct_memories_source, request.direct_contents_source
    if facts is not None:
        return given(len(facts.direct_memories))
    if contents is not None:
        source = OperationSource(direct_events=len(contents.events))
    elif origin is not None and origin.is_named_in(scope):
        source = OperationSource(session=str(origin.name))
    else:
        return {}
    return {"source": source.wire()}


def _scope(request: GenerateMemoriesRequest, origin: SourceSession | None) -> dict[str, str]:
    """Return the request's scope, or the session user's; raise InvalidArgument for an unfit id."""
    if request.scope is not None:
        return request.scope
    assert origin is not None
    user_id = origin.row.user_id
    if "*" in user_id or len(user_id) > MAX_SCOPE_VALUE_CHARS:
        raise InvalidArgument.of_field(
            "scope", "is required: the session's user id cannot be a value of a scope."
        )
    return {"user_id": user_id}


def reads_files(model: TextModel | None, events: Sequence[ContentEvent]) -> bool:
    """Return True if the model reads any file in the events, so the files must be kept."""
    if model is None:
        return False
    files = (file for event in events for file in files_of(event))
    return any(file.data is not None and model.reads(file) for file in files)


async def find_source(
    session: Session, target: EngineRow, source: VertexSessionSource, now: datetime
) -> SourceSession:
    """Return the session of a source; `target` is the engine of the memories.

    Raises:
        FailedPrecondition: the engine of the session is being restored.
        InvalidArgument: the name is invalid.
        NotFound: the session does not exist for the caller.
    """
    own = name_of(target)
    name = source.name_beside(own)
    is_elsewhere = name.engine != own
    engine = await _other_engine(session, target, name) if is_elsewhere else target
    return SourceSession(name, engine, await sessions.get(session, name, now), is_elsewhere)


async def admit_source(
    session: Session, target: EngineRow, source: VertexSessionSource, now: datetime
) -> SourceSession:
    """Find the session for a caller, and hold it until the operation names it as its source.

    Reading another engine is also noted in the audit log. Raises the errors of `find_source`.
    """
    origin = await find_source(session, target, source, now)
    if origin.is_elsewhere:
        note(session, resource=str(origin.name.engine), read=str(origin.name))
    elif not await sessions.hold(session, origin.name, origin.row.create_time):
        raise NotFound.of(origin.name)
    return origin


async def _other_engine(session: Session, target: EngineRow, name: SessionName) -> EngineRow:
    # A cluster has engines on several nodes, so each one is read by its own statement.
    is_near = name.engine.parent == name_of(target).parent
    if not is_near or not reaches_engine(session, name.engine.engine):
        raise NotFound.of(name)
    try:
        return await engines.get(session, name.engine)
    except NotFound:
        raise NotFound.of(name) from None


async def read_preview(session: Session, stored: Mapping[str, Any], clock: Clock) -> dict[str, Any]:
    """Add the present text of each memory that still has the version of the plan."""
    changes = [
        await _with_before(session, change, clock) for change in stored.get("plannedChanges", [])
    ]
    return {**stored, **({"plannedChanges": changes} if changes else {})}


async def _with_before(
    session: Session, planned: Mapping[str, Any], clock: Clock
) -> dict[str, Any]:
    if "memory" not in planned:
        return dict(planned)
    name, version = MemoryName.parse(planned["memory"]["name"]), int(planned["etag"])
    before = await find_version(session, name, version, clock.now())
    if before is None:
        return dict(planned)
    wire = before.wire()
    return {**planned, "before": {key: wire[key] for key in _PREVIEWED if key in wire}}
