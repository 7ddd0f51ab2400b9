"""The processes: a server, alone or with its database and worker, and a separate worker."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from socket import socket

import structlog

from app.adapters.allocator import keep_what_is_there, limit_arenas
from app.adapters.db import migrate
from app.adapters.db.engine import connect_arguments, open_engine
from app.adapters.db.room import room_for, warn_if_short
from app.adapters.db.session import Database
from app.adapters.db.urls import plain_url
from app.adapters.lag import watched
from app.adapters.llm.factory import open_embedder
from app.adapters.postgres.embedded import Holder
from app.adapters.resources import Resources, open_resources
from app.adapters.shared import beside
from app.adapters.tracing import traced
from app.adapters.uvicorn.server import connections_of, served
from app.kernel.clock import Clock, SystemClock
from app.kernel.failures import describe
from app.memory.memories.services.embedding import EngineEmbedding
from app.memory.retrieval.services.lookups import ScopeIndexes
from app.platform.access.logic.credentials import is_mistyped
from app.platform.access.services.access import AccessService
from app.platform.engines.services.engines import EngineService
from app.platform.operations.store import leases
from app.platform.processes.services.processes import ProcessKind, beating
from app.process.announcing import announce
from app.process.build_info import show_build
from app.process.first_key import handed_over
from app.process.listening import (
    SchemaChangedError,
    ServeError,
    address_of,
    bind_worker,
    listen,
    port_of,
)
from app.process.main import create_app, create_metrics_app
from app.process.migrating import own_database
from app.process.place import ALONE, ProcessPlace, bound_place
from app.process.reading_standby import reading_standby
from app.process.reporting import say, tell_new_folder
from app.process.stopping import until_asked, until_signalled
from app.settings.settings import Settings
from app.web.admission import Gate
from app.web.errors import render_last

log = structlog.get_logger()

_OUTDATED_SECONDS = 5.0
"""Time for which the process reports that it must not write any more, before it ends."""


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

    Without a database URL this starts the embedded Postgres and migrates it after a backup.

    Raises:
        SchemaError: an external database or its standby cannot be used, or the migration failed.
        PostgresStartError: the embedded Postgres cannot start.
        ModelSetupError: a model in the settings cannot be opened.
        ServeError: the administrator's key in the settings is invalid.
    """
    configured = _admin_key(settings)
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(_database(settings, place))
        resources = await stack.enter_async_context(open_resources(settings, url, clock))
        await stack.enter_async_context(reading_standby(resources))
        await stack.enter_async_context(beside(_warm(resources)))
        first_key = None
        if place.is_first:
            await warn_if_short(resources.db, settings, place.count)
            first_key = await _begun(resources, configured)
        yield OpenProcess(resources, first_key)


async def _begun(resources: Resources, configured: str | None) -> str | None:
    """Do the tasks of the first process before any process serves; return the first key."""
    access = AccessService(resources.db, resources.clock)
    if not await access.has_keys():
        await EngineService.of(resources).ensure_first()
    await EngineService.of(resources).warn_of_encryption()
    if resources.settings.database_url is None:
        async with resources.db.transaction() as session:
            await leases.release_all(session)
    # Last, because a start that failed after this step would not show the key.
    return await access.ensure_first_key(configured)


def _admin_key(settings: Settings) -> str | None:
    """Return the administrator's key from the settings.

    Raises:
        ServeError: the key has the format of this service but a wrong checksum.
    """
    configured = settings.admin_key.get_secret_value() if settings.admin_key else None
    if configured is not None and is_mistyped(configured):
        raise ServeError(
            "MEMORY_BANK_ADMIN_KEY must be a complete key; got a key of this service whose last"
            " six characters are a wrong checksum. Check for a typing error."
        )
    return configured


async def _warm(resources: Resources) -> None:
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
async def _database(settings: Settings, place: ProcessPlace) -> AsyncIterator[str]:
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
    """Check that the external database is ready for this release; return its address.

    Raises:
        SchemaError: the database is not ready, or cannot be used with these settings.
    """
    assert settings.database_url is not None
    url = settings.database_url.get_secret_value()
    await asyncio.to_thread(migrate.check, url, settings.tuning.database_connect_timeout_seconds)
    if not settings.database_behind_pooler:
        await asyncio.to_thread(migrate.check_direct, url, connect_arguments(settings))
    if settings.listen_url is not None:
        migrate.check_address(settings.listen_url.get_secret_value(), "MEMORY_BANK_LISTEN_URL")
    return plain_url(url)


@dataclass(frozen=True)
class Listening:
    """The port of a server, and the task that ends with the server."""

    port: int
    task: asyncio.Task[None]


@asynccontextmanager
async def serving(
    settings: Settings, resources: Resources, place: ProcessPlace = ALONE
) -> AsyncIterator[Listening]:
    """Serve during the block; with the embedded database, also run the worker.

    The servers and the worker stop concurrently, because each may take the whole grace period.

    Raises:
        ServeError: the address is invalid or in use.
    """
    server, probes, worker = AsyncExitStack(), AsyncExitStack(), AsyncExitStack()
    works = settings.database_url is None and place.works
    kind = ProcessKind.API_AND_WORKER if works else ProcessKind.API
    with bound_place(settings, place) as bound:
        async with beating(resources, kind):
            try:
                await worker.enter_async_context(watched())
                if works:
                    from app.process.worker import working  # noqa: PLC0415 - for workers

                    await worker.enter_async_context(working(resources))
                if bound.probes is not None:
                    await probes.enter_async_context(_probing(resources, bound.probes))
                listening = _listening(settings, resources, bound)
                yield await server.enter_async_context(listening)
            finally:
                resources.stopping.set()
                await asyncio.gather(server.aclose(), probes.aclose(), worker.aclose())


@asynccontextmanager
async def _listening(
    settings: Settings, resources: Resources, place: ProcessPlace
) -> AsyncIterator[Listening]:
    assert place.api is not None
    # In a thread, because it is slow on some machines and the watchdog would report a stall.
    app = await asyncio.to_thread(create_app, resources)
    keep_what_is_there()
    gate: Gate = app.state.gate
    http = connections_of(settings, gate.limits.give_up_body, render_last)
    listen(place.api)
    async with served(app, settings, place.api, http, place.share) as task:
        yield Listening(port_of(place.api), task)


@asynccontextmanager
async def _probing(resources: Resources, listener: socket) -> AsyncIterator[None]:
    """Serve health and metrics without a key during the block."""
    with listener as bound:
        settings = resources.settings
        http = connections_of(settings, _has_no_bodies, render_last)
        listen(bound)
        async with served(create_metrics_app(resources), settings, bound, http):
            yield


async def serve(settings: Settings, place: ProcessPlace = ALONE) -> None:
    """Serve until SIGINT or SIGTERM, then stop everything in order.

    The sockets are bound first: if a port is in use, no key is created.
    """
    with bound_place(settings, place) as bound:
        if settings.database_url is None and place.database is None:
            tell_new_folder(settings.data_dir, sys.stdout)
        async with (
            until_signalled(settings, bound) as stopping,
            traced(),
            open_process(settings, place=bound) as process,
        ):
            # Shown at once, because a later failure would lose the key.
            for line in await asyncio.to_thread(handed_over, process.first_key, settings.data_dir):
                say(line)
            await asyncio.to_thread(show_build, "api")
            async with serving(settings, process.resources, bound) as listening:
                stopping.is_up = True
                if place.is_first:
                    has_key = process.first_key is not None
                    await announce(process.resources, listening.port, has_key=has_key)
                if place.tell_up is not None:
                    place.tell_up()
                await _until_asked(stopping, process.resources, listening.task)


async def _until_asked(
    stopping: asyncio.Event, resources: Resources, *servers: asyncio.Task[None]
) -> None:
    """Wait until the process is asked to stop.

    Raises:
        SchemaChangedError: the process must not write any more, as its probes have reported.
        ServeError: a server ended first.
    """
    asked = asyncio.create_task(stopping.wait())
    outdated = asyncio.create_task(resources.db.fence.closed.wait())
    await asyncio.wait({asked, outdated, *servers}, return_when=asyncio.FIRST_COMPLETED)
    if outdated.done() and not asked.done():
        await asyncio.wait({asked}, timeout=_OUTDATED_SECONDS)
    asked.cancel()
    outdated.cancel()
    if stopping.is_set():
        return
    if resources.db.fence.closed.is_set():
        raise SchemaChangedError(
            "The database has the schema of another release; the process ends, so that its"
            " supervisor starts that release."
        )
    raise ServeError("The server ended by itself; see the log for the reason.")


def _has_no_bodies(*, slow: bool) -> bool:  # noqa: ARG001 - the form of `GivingUp`
    """Return False, because requests for probes have no bodies to abandon."""
    return False


async def work(settings: Settings, clock: Clock | None = None, place: ProcessPlace = ALONE) -> None:
    """Run a worker until SIGINT or SIGTERM, next to servers on the same database.

    Without a `clock`, the process uses the machine's clock.

    Raises:
        SchemaChangedError: the database has the schema of another release.
    """
    async with (
        until_signalled(settings, place) as stopping,
        _database(settings, place) as url,
    ):
        # Set before the port with the metrics opens.
        await asyncio.to_thread(show_build, "worker")
        from app.process.worker import working  # noqa: PLC0415 - for workers

        async with (
            traced(),
            watched(),
            open_resources(settings, url, clock) as resources,
            beating(resources, ProcessKind.WORKER),
            working(resources),
            _worker_port(resources, place),
        ):
            if place.is_first:
                await warn_if_short(resources.db, settings, place.count)
            await _warm(resources)
            stopping.is_up = True
            if place.tell_up is not None:
                place.tell_up()
            await _until_asked(stopping, resources)


async def keep_database(
    settings: Settings, holder: Holder, tell: Callable[[str], None], others: int
) -> None:
    """Run the embedded Postgres for the other processes until they end.

    Args:
        settings: the settings with the data folder.
        holder: the process that holds the data folder.
        tell: called with the address once the database has the schema of this release.
        others: a descriptor that reaches its end when the other processes have ended.
    """
    loop = asyncio.get_running_loop()
    async with until_asked() as ended:

        def end() -> None:
            # Without this, the loop would report the end of the descriptor in every iteration.
            loop.remove_reader(others)
            ended.ask()

        loop.add_reader(others, end)
        try:
            tell_new_folder(settings.data_dir, sys.stdout)
            room = room_for(settings, settings.processes)
            async with own_database(settings, room, holder) as url:
                ended.is_up = True
                tell(url)
                await ended.wait()
        finally:
            loop.remove_reader(others)


@asynccontextmanager
async def _worker_port(resources: Resources, place: ProcessPlace) -> AsyncIterator[None]:
    """Serve health and metrics of a worker during the block, if it has a port."""
    settings = resources.settings
    # A worker with a wrong clock pauses its sweeps and must report that it is not ready.
    resources.registry.needs_right_clock = True
    if not settings.worker_port:
        yield
        return
    async with _probing(resources, place.probes or bind_worker(settings)):
        yield


def run(process: Callable[[], Coroutine[object, object, None]]) -> None:
    """Run a process's coroutine to its end, on uvloop if it is installed."""
    limit_arenas()
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(process())


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # noqa: PLC0415 - not available on Windows
    except ImportError:
        return None
    return uvloop.new_event_loop


def offline_resources(settings: Settings) -> Resources:
    """Return resources without connections, for the OpenAPI document."""
    database = Database(open_engine("postgresql:///nowhere", settings))
    return Resources(settings, SystemClock(), database, "", open_embedder(settings))
