"""Use cases of engines: create, list, update. `retention` deletes them: it knows children."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any

import structlog

from app.adapters.db.errors import unavailable
from app.adapters.db.lists import list_page
from app.adapters.db.nodes import working_for
from app.adapters.db.session import Database, Session, note
from app.adapters.llm.models import TextModels, check_policy, check_writer
from app.adapters.resources import Resources
from app.kernel.auth import Reach
from app.kernel.changes import IdempotencyKey, check, check_etag, parse_mask
from app.kernel.clock import Clock
from app.kernel.errors import InvalidArgument, NotFound, ServiceError, Unavailable
from app.kernel.ids import NO_BUCKET, new_id
from app.kernel.names import WILDCARD, EngineName, LocationName
from app.kernel.paging import PageRequest
from app.platform.engines.logic.config import MemoryBankConfig
from app.platform.engines.schemas import (
    ListReasoningEnginesResponse,
    ReasoningEngine,
    ReasoningEngineRequest,
    check_served,
)
from app.platform.engines.services.engine_cache import EngineCache
from app.platform.engines.store import repository
from app.platform.engines.store.repository import Lock
from app.platform.engines.store.tables import EngineRow, config_of, name_of
from app.platform.operations.logic.states import type_url
from app.platform.operations.services.mutation import (
    Method,
    Mutation,
    UnlockedEngine,
    mutate,
    unlocked,
)
from app.platform.operations.store.tables import OperationRow
from app.settings.settings import Settings

log = structlog.get_logger()

DEFAULT_LOCATION = LocationName("default", "local")
"""The location of engines whose path names no project."""
FIRST_ENGINE = EngineName(DEFAULT_LOCATION.project, DEFAULT_LOCATION.location, 1)
"""The engine that exists from the first start."""

_BANK_PATH = "context_spec.memory_bank_config"
_MASKABLE = frozenset({"display_name", "description", "labels", "context_spec", _BANK_PATH})
_POLICY_FIELD = "contextSpec.memoryBankConfig.memoryPolicy"
_MODEL_FIELD = "contextSpec.memoryBankConfig.generationConfig.model"
_CREATE = Method("engines.create", "CreateReasoningEngine", names_engine=False)
_UPDATE = Method("engines.update", "UpdateReasoningEngine")
_MOST_LOGGED = 20
"""Engines that a line of the log names."""
_MOST_IDS = 30
"""Ids that a creation tries; of two nodes, one of which is away, all miss once in a billion."""
_MODEL_HELP = (
    "Searches of its engines match only words. Open the model or re-embed the engines: see"
    " docs/operations/re-embedding.md."
)


@dataclass(frozen=True)
class EngineService:
    """Engines, the parents of memories."""

    db: Database
    clock: Clock
    settings: Settings
    models: TextModels = field(default_factory=TextModels)
    known: EngineCache = field(default_factory=EngineCache)

    @classmethod
    def of(cls, resources: Resources) -> "EngineService":
        """Build the service from the process's resources."""
        known = EngineCache.of(resources)
        return cls(resources.db, resources.clock, resources.settings, resources.models, known)

    async def ensure_first(self) -> None:
        """Create the first engine of an unused database; a removed one would be created again."""
        async with self.db.transaction() as session:
            values = _new_values(FIRST_ENGINE, ReasoningEngineRequest(), self.clock.now())
            await repository.insert_once(session, values)

    async def warn_of_encryption(self) -> None:
        """Log which engines have encryption settings without effect; no start depends on it."""
        list_first = partial(repository.list_with_encryption, limit=_MOST_LOGGED + 1)
        try:
            encrypted = await self.db.read_all(list_first)
        except ServiceError as error:
            log.warning("engine.encryption_specs_not_read", reason=error.reason)
            return
        if encrypted:
            warn_of_encryption(encrypted[:_MOST_LOGGED], has_more=len(encrypted) > _MOST_LOGGED)

    async def warn_of_models(self, opened: Collection[str]) -> None:
        """Log the models whose vectors serve engines and that are not opened here."""
        try:
            served = await self.db.read_all(repository.list_models)
        except ServiceError as error:
            log.warning("engine.models_not_read", reason=error.reason)
            return
        for model_id in sorted({*served} - {*opened}):
            log.warning("engine.model_not_open", model_id=model_id, help=_MODEL_HELP)

    async def create(
        self,
        location: LocationName,
        request: ReasoningEngineRequest,
        once: IdempotencyKey | None,
        reach: Reach,
    ) -> OperationRow:
        """Create an engine within the caller's reach; the operation is done.

        Raises:
            InvalidArgument: the path names a project but any location, or vice versa; or the
                configuration names an unknown model or counter.
            NotFound: the path names neither, and the caller does not reach the default location.
        """
        now = self.clock.now()
        self._check_policy(request)
        self._check_model(request)
        parent = _parent_of_new(location)
        if not reach.has_project(parent.project):
            raise NotFound.of(parent)
        while True:
            name = EngineName(parent.project, parent.location, await self._free_id(now))
            is_written = False
            try:
                await self.db.nodes.check(name.engine)
                opened = mutate(self, unlocked(name), _CREATE, once, now=now)
                with working_for(name.engine):
                    async with opened as change:
                        operation = change.replayed or await _insert(change, name, request)
                        is_written = True
            except Unavailable:
                # Not if it may be committed.
                if is_written or not await self.db.nodes.has_lost(name.engine):
                    raise
            else:
                return operation

    async def _free_id(self, now: datetime) -> int:
        await self.db.nodes.look(age_seconds=0)
        count = _MOST_IDS if self.db.nodes.away else 1
        ids = [new_id(now, NO_BUCKET) for _ in range(count)]
        for engine_id in await self.db.nodes.reached(ids):
            return engine_id
        raise unavailable()

    async def update(
        self,
        name: EngineName,
        request: ReasoningEngineRequest,
        mask: str | None,
        etag: str | None,
        once: IdempotencyKey | None,
    ) -> OperationRow:
        """Change the masked fields; without a mask, the fields sent.

        Raises:
            Aborted: the etag is stale.
            InvalidArgument: the configuration names an unknown model or counter. A model that the
                engine already has may stay.
        """
        now = self.clock.now()
        changed = self._changed(request, mask)
        locked = repository.locked(name, Lock.UPDATE)
        async with mutate(self, locked, _UPDATE, once, now=now) as change:
            if change.replayed is not None:
                return change.replayed
            row = change.engine
            check_etag(row.version, etag)
            self._check_model(request, row)
            values = _keeping_own(_values(request, changed), request, row)
            values["update_time"] = now
            row = await repository.update_engine(change.session, row.engine_id, values)
            operation = await change.done(_response(row))
        self.known.forget(name.engine)
        return operation

    async def validate(
        self, name: EngineName, request: ReasoningEngineRequest, mask: str | None
    ) -> None:
        """Check an update: raise InvalidArgument if it would be refused."""
        self._changed(request, mask)
        async with self.db.snapshot() as session:
            self._check_model(request, await repository.get(session, name))

    async def list_reachable(
        self, location: LocationName, reach: Reach, filter_text: str | None, page: PageRequest
    ) -> tuple[ListReasoningEnginesResponse, Collection[str]]:
        """Return a page of `list_engines` without the engines of absent nodes, and these nodes."""
        list_engines = partial(self.list_engines, location, reach, filter_text, page)
        if not self.db.nodes.away:
            try:
                return await list_engines(), ()
            except Unavailable:
                if not await self.db.nodes.look(age_seconds=0):
                    raise
        away = self.db.nodes.away
        return await list_engines(away), away

    async def list_engines(
        self,
        location: LocationName,
        reach: Reach,
        filter_text: str | None,
        page: PageRequest,
        away: Collection[str] = (),
    ) -> ListReasoningEnginesResponse:
        """Return a page of the engines within a caller's reach, newest first; not those `away`."""
        engines = repository.ENGINES
        asked = engines.filtered_page(page, self.settings, filter_text, parent=str(location))

        async def read(session: Session) -> tuple[Sequence[EngineRow], str | None]:
            there = await repository.is_elsewhere(session, away)
            statement = repository.select_engines(location, reach, there)
            return await list_page(session, statement, asked)

        rows, token = await self.db.read_all(read)
        return ListReasoningEnginesResponse(
            reasoning_engines=[ReasoningEngine.from_row(row) for row in rows],
            next_page_token=token,
        )

    def _changed(self, request: ReasoningEngineRequest, mask: str | None) -> frozenset[str]:
        paths = parse_mask(mask)
        check_served(paths or ())
        changed = _sent_fields(request) if paths is None else check(paths, _MASKABLE)
        self._check_policy(request)
        return changed

    def _check_policy(self, request: ReasoningEngineRequest) -> None:
        config = request.context_spec and request.context_spec.memory_bank_config
        policy = config.memory_policy if config else None
        check_policy(policy, self.models, self.settings, _POLICY_FIELD)

    def _check_model(self, request: ReasoningEngineRequest, row: EngineRow | None = None) -> None:
        spec = request.context_spec
        model = _model_of(spec.memory_bank_config if spec else None)
        if row is None or model != _model_of(config_of(row)):
            check_writer(model, self.models, _MODEL_FIELD)


def warn_of_encryption(engine_ids: Sequence[int], *, has_more: bool = False) -> None:
    """Log that the encryption settings of engines have no effect."""
    log.warning(
        "engine.encryption_spec_ignored",
        engines=[str(engine_id) for engine_id in engine_ids],
        has_more=has_more,
        help="Nothing is encrypted by it: see docs/operations/encryption.md.",
    )


def _model_of(config: MemoryBankConfig | None) -> str | None:
    generation = config and config.generation_config
    return generation.model if generation else None


def _parent_of_new(location: LocationName) -> LocationName:
    named = WILDCARD not in {location.project, location.location}
    if not named and location.project != location.location:
        raise InvalidArgument.of_field(
            "parent", f"must name a project and a location; {WILDCARD} is for lists."
        )
    return location if named else DEFAULT_LOCATION


async def _insert(
    change: Mutation[UnlockedEngine], name: EngineName, request: ReasoningEngineRequest
) -> OperationRow:
    values = _new_values(name, request, change.operation.now)
    row = await repository.insert_engine(change.session, values)
    name = name_of(row)
    note(change.session, resource=str(name), engine=str(name.engine))
    change.operation = replace(change.operation, engine_id=name.engine, engine_name=str(name))
    return await change.done(_response(row))


def _new_values(name: EngineName, request: ReasoningEngineRequest, now: datetime) -> dict[str, Any]:
    return {
        "engine_id": name.engine,
        "project": name.project,
        "location": name.location,
        **_values(request, _MASKABLE),
        "version": 1,
        "create_time": now,
        "update_time": now,
    }


_OWN_FIELDS = {"privacy_config": "privacyConfig", "time_zone": "timeZone"}
"""Fields of a bank that official clients do not know."""


def _keeping_own(
    values: dict[str, Any], request: ReasoningEngineRequest, row: EngineRow
) -> dict[str, Any]:
    """Keep stored fields that a request does not name, since official clients do not know them."""
    config = request.context_spec and request.context_spec.memory_bank_config
    bank, stored = values.get("bank_config"), row.bank_config or {}
    if config is None or bank is None:
        return values
    kept = {
        wire: stored[wire]
        for name, wire in _OWN_FIELDS.items()
        if wire in stored and name not in config.model_fields_set
    }
    return values | {"bank_config": bank | kept}


def _response(row: EngineRow) -> dict[str, Any]:
    return {"@type": type_url("ReasoningEngine"), **ReasoningEngine.from_row(row).wire()}


def _sent_fields(request: ReasoningEngineRequest) -> frozenset[str]:
    """Return the fields that an update without a mask changes: those sent.

    A client that renames a bank sends an empty configuration along, which must not erase the stored
    one. Source: wire specification, section 3.2.
    """
    sent = frozenset(request.model_fields_set) & _MASKABLE
    config = request.context_spec and request.context_spec.memory_bank_config
    return sent if config is not None and config.model_fields_set else sent - {"context_spec"}


def _values(request: ReasoningEngineRequest, changed: frozenset[str]) -> dict[str, Any]:
    config = request.context_spec and request.context_spec.memory_bank_config
    columns: dict[str, Any] = {
        "display_name": request.display_name,
        "description": request.description,
        "labels": request.labels or {},
        "bank_config": config.wire() if config is not None else None,
    }
    wanted = {"bank_config" if path.startswith("context_spec") else path for path in changed}
    return {column: value for column, value in columns.items() if column in wanted}
