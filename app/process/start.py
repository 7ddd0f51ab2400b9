"""The start of a process: it opens the database and all resources."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import structlog

from app.adapters.allocator import keep_what_is_there
from app.adapters.concurrency import in_background
from app.adapters.db import migrate
from app.adapters.db.engine import connect_arguments, open_engine, plain_url
from app.adapters.db.migrate import SchemaError
from app.adapters.db.readiness import warn_if_short
from app.adapters.db.session import Database
from app.adapters.db.standby import followed_standby
from app.adapters.llm.factory import open_embedder
from app.adapters.postgres.embedded import Holder
from app.adapters.resources import Resources, open_resources
from app.kernel.clock import Clock, SystemClock
from app.kernel.errors import describe
from app.memory.memories.services.embedding import EngineEmbedding
from app.memory.retrieval.services.search import ScopeIndexes
from app.platform.access.logic import is_mistyped
from app.platform.access.services.access import AccessService
from app.platform.engines.services.engines import EngineService
from app.platform.operations.store import leases
from app.process.listening import ALONE, ProcessPlace, ServeError, address_of, port_of
from app.process.migrating import own_database
from app.settings.settings import Settings

log = structlog.get_logger()


@dataclass(frozen=True)
class OpenProcess:
    """A process's resources, and the first API key if this start created it."""

    resources: Resources
    first_key: str | None


@asynccontextmanager
async def open_process(
    settings: Settings, clock: Clock | None = None, place: ProcessPlace = ALONE
) -> AsyncIterator[OpenProcess]:
    """Open the database and the resources; create the first key and the first engine if needed.

    Raises:
        SchemaError: an external database or its standby cannot be used, or the migration failed.
        PostgresStartError: the embedded Postgres cannot start.
        ModelSetupError: a model in the settings cannot be opened.
        ServeError: the administrator's key in the settings is invalid.
    """
    configured = _admin_key(settings)
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(open_database(settings, place))
        resources = await stack.enter_async_context(open_resources(settings, url, clock))
        await stack.enter_async_context(_reading_standby(resources))
        await stack.enter_async_context(in_background(warm(resources)))
        first_key = None
        if place.is_first:
            await warn_if_short(resources.db, settings, place.count)
            first_key = await _begun(resources, configured)
        yield OpenProcess(resources, first_key)


async def _begun(resources: Resources, configured: str | None) -> str | None:
    access = AccessService(resources.db, resources.clock)
    if not await access.has_keys():
        await EngineService.of(resources).ensure_first()
    await EngineService.of(resources).warn_of_encryption()
    await EngineService.of(resources).warn_of_models(resources.embedders.by_id)
    if resources.settings.database_url is None:
        async with resources.db.transaction() as session:
            await leases.release_all(session)
    # Last, because a start that failed after this step would not show the key.
    return await access.ensure_first_key(configured)


def _admin_key(settings: Settings) -> str | None:
    configured = settings.admin_key.get_secret_value() if settings.admin_key else None
    if configured is not None and is_mistyped(configured):
        raise ServeError(
            "MEMORY_BANK_ADMIN_KEY must be a complete key; got a key of this service whose last"
            " six characters are a wrong checksum. Check for a typing error."
        )
    return configured


async def warm(resources: Resources) -> None:
    """Read what the first search needs, load the embedder and check the length of its vectors.

    After a failure the process still serves requests that need no embedder.
    """
    embedder = resources.embedder
    log.info("embedder.opened", model_id=embedder.model_id, understands=embedder.languages)
    try:
        await ScopeIndexes.of(resources).read()
        await embedder.warm()
        await EngineEmbedding.of(resources).check_length(embedder.model_id, embedder.dimensions)
        keep_what_is_there()
    except Exception as error:  # noqa: BLE001 - the next use retries, and reports to its caller
        log.error("embedder.warm_failed", error=describe(error))  # noqa: TRY400 - as in describe


@asynccontextmanager
async def open_database(settings: Settings, place: ProcessPlace) -> AsyncIterator[str]:
    """Open the database of a process and yield its address.

    Raises:
        SchemaError: the database is not ready, or cannot be used with these settings.
        PostgresStartError: the embedded Postgres cannot start.
    """
    if place.database is not None:
        yield place.database
        return
    if settings.database_url is not None:
        yield await _checked(settings)
        return
    address = address_of(settings, port_of(place.api)) if place.api else None
    async with own_database(settings, holder=Holder(address=address)) as url:
        yield url


async def _checked(settings: Settings) -> str:
    assert settings.database_url is not None
    url = settings.database_url.get_secret_value()
    await asyncio.to_thread(migrate.check, url, settings.tuning.database_connect_timeout_seconds)
    if not settings.database_behind_pooler:
        await asyncio.to_thread(migrate.check_direct, url, connect_arguments(settings))
    if settings.listen_url is not None:
        migrate.check_address(settings.listen_url.get_secret_value(), "MEMORY_BANK_LISTEN_URL")
    return plain_url(url)


@asynccontextmanager
async def _reading_standby(resources: Resources) -> AsyncIterator[None]:
    settings, db = resources.settings, resources.db
    if settings.read_url is None:
        yield
        return
    if settings.database_url is None or db.is_distributed:
        kind = "a distributed" if db.is_distributed else "the embedded"
        raise SchemaError(
            f"MEMORY_BANK_READ_URL must be absent with {kind} database; got an address. A standby"
            " follows one server, which MEMORY_BANK_DATABASE_URL names."
        )
    url = settings.read_url.get_secret_value()
    async with followed_standby(url, db.server, resources.database_url, settings) as standby:
        db.standby = standby
        yield


def offline_resources(settings: Settings) -> Resources:
    """Return resources without connections, for the OpenAPI document."""
    database = Database(open_engine("postgresql:///nowhere", settings))
    return Resources(settings, SystemClock(), database, "", open_embedder(settings))
