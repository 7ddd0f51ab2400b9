"""Start of a generation: the check of its request, and its operation in the queue."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from prometheus_client import Counter

from app.adapters.db.session import Session
from app.adapters.llm.models import TextModels
from app.adapters.llm.ports import Meter, TextModel
from app.adapters.resources import Resources
from app.kernel.errors import InvalidArgument
from app.kernel.idempotency import IdempotencyKey
from app.kernel.limits import Counted
from app.kernel.names import EngineName
from app.kernel.scopes import scope_hash
from app.kernel.wire.privacy_config import Place
from app.kernel.wire.scalars import parse_timestamp
from app.language.facts import ENGINE
from app.memory.generation.schemas import (
    ContentEvent,
    GenerateMemoriesRequest,
    VertexSessionSource,
)
from app.memory.generation.services.origins import SourceSession, admit
from app.memory.generation.services.turns import files_of
from app.memory.memories.schemas.memories import MAX_SCOPE_VALUE_CHARS
from app.memory.memories.services.memories import MemoryService
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.engines.store.tables import EngineRow, config_of
from app.platform.limits.services.quotas import check_more
from app.platform.limits.services.sizes import check_metadata_size, check_scope_size
from app.platform.operations.services.mutation import Method, mutate
from app.platform.operations.services.retries import not_kept
from app.platform.operations.store import repository as operations
from app.platform.operations.store.repository import NewOperation
from app.platform.operations.store.tables import OperationRow
from app.platform.privacy.logic.guard import noted
from app.platform.privacy.service import PrivacyService
from app.platform.usage.logic import costs
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
PREVIEW: Final = operations.PREVIEW
"""Kind of the operation that only previews a generation."""


@dataclass(frozen=True)
class GenerationService:
    """Queues generations; `jobs.py` runs them."""

    memories: MemoryService
    models: TextModels
    usage: UsageService
    privacy: PrivacyService

    @classmethod
    def of(cls, resources: Resources) -> "GenerationService":
        """Build the service from the process's resources."""
        return cls(
            MemoryService.of(resources),
            resources.models,
            UsageService.of(resources),
            PrivacyService.of(resources),
        )

    async def start(
        self, name: EngineName, request: GenerateMemoriesRequest, once: IdempotencyKey | None
    ) -> OperationRow:
        """Queue a generation; the generations of one scope run one after another.

        Raises:
            NotFound: the engine, or the session named as the source, does not exist.
            InvalidArgument: the engine refuses a value in the request.
            ResourceExhausted: the engine has used up its tokens of today, or has reached its limit
                of waiting operations.
        """
        service = self.memories
        now = service.clock.now()
        check_metadata_size(service.settings, request.metadata)
        _check_length(service.settings, request)
        place = Place.GENERATION if request.direct_memories_source is None else Place.DIRECT
        request, masked = await self.privacy.admit(name, place, request, MASKED_FIELDS)
        kind = PREVIEW if request.validate_only else GENERATE
        method = Method(kind, "GenerateMemories")
        async with mutate(service, engines.locked(name), method, once, now=now) as change:
            if change.replayed is not None:
                return change.replayed
            session, engine = change.session, change.engine
            await change.check_queue()
            read = request.vertex_session_source
            origin = None if read is None else await admit(session, engine, read, now)
            scope = _scope(request, origin)
            check_scope_size(service.settings, scope)
            change.concerns(scope)
            # A revision lifetime that ends in the past is the caller's error, so check it here.
            service.writing(engine, change.operation, request)
            model = model_of(self.models, engine)
            has_facts = request.direct_memories_source is not None
            change.operation = await self._affordable(
                session, engine, change.operation, has_facts=has_facts
            )
            change.note(**noted(masked))
            # A preview writes nothing, so it does not have to wait for generations that write.
            key = None if request.validate_only else scope_hash(scope).hex()
            source = request.direct_contents_source
            keeps_files = reads_files(model, source.events if source is not None else [])
            made = None if origin is None else origin.row.create_time
            told = self.privacy.is_told
            queued = request.queued(scope, now, made, keeps_files=keeps_files, is_told=told)
            return await change.queue(key, queued)

    async def renew(
        self, session: Session, failed: OperationRow, new: NewOperation
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
            await admit(session, engine, VertexSessionSource.model_validate(read), new.now)
        settings = self.memories.settings
        await check_more(session, settings, engine.engine_id, Counted.MEMORIES)
        has_facts = "directMemoriesSource" in request
        return await self._affordable(session, engine, new, has_facts=has_facts)

    async def _affordable(
        self, session: Session, engine: EngineRow, new: NewOperation, *, has_facts: bool
    ) -> NewOperation:
        """Check the budget, and return the operation with its author and no costs yet.

        Raises:
            ResourceExhausted: the engine has used up its tokens of today.
        """
        model = model_of(self.models, engine)
        # Given facts may need no model; if they do, the worker checks the budget.
        if model is not None and not has_facts:
            await self.usage.check_budget(session, engine.engine_id)
        # Set from the start, so the metadata include the author even if the work fails.
        return new.noting(**untouched(model, self.memories.settings))


def _check_length(settings: Settings, request: GenerateMemoriesRequest) -> None:
    """Check the length of a conversation in the request.

    Raises:
        InvalidArgument: the conversation is too long for one generation.
    """
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


async def retry(
    resources: Resources, session: Session, failed: OperationRow, new: NewOperation
) -> NewOperation:
    """Complete the retry of a failed generation."""
    return await GenerationService.of(resources).renew(session, failed, new)


def model_of(models: TextModels, engine: EngineRow) -> TextModel | None:
    """Return the model that writes for an engine, or None for the built-in rules."""
    generation = config_of(engine).generation_config
    return models.choose(generation.model if generation is not None else None)


def untouched(model: TextModel | None, settings: Settings) -> dict[str, Any]:
    """Return the metadata of work that has not begun: its author, and costs of zero."""
    author = ENGINE if model is None else model.model_id
    return {"author": author, **costs.details(Meter(), settings)}


def _scope(request: GenerateMemoriesRequest, origin: SourceSession | None) -> dict[str, str]:
    """Return the scope of the request, or else of the session's user.

    Raises:
        InvalidArgument: the user's id cannot be a value of a scope.
    """
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
