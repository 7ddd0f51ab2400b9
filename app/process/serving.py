"""The life of a process until its stop: a server, a worker, or the embedded database."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from socket import socket

import structlog
from prometheus_client import Gauge

from app.adapters.allocator import keep_what_is_there, limit_allocator
from app.adapters.db.readiness import room_for, warn_if_short
from app.adapters.db.schema import wanted_revision
from app.adapters.lag import watched
from app.adapters.postgres.embedded import Holder
from app.adapters.resources import Resources, open_resources
from app.adapters.tracing import traced
from app.adapters.uvicorn.server import connections_of, served
from app.kernel.clock import Clock
from app.kernel.release import RELEASE
from app.platform.access.services.access import AccessService
from app.platform.processes.service import ProcessKind, beating
from app.process.listening import (
    ALONE,
    ProcessPlace,
    SchemaChangedError,
    ServeError,
    bind_worker,
    bound_place,
    listen,
    port_of,
    say,
    tell_new_folder,
    url_of,
)
from app.process.main import create_app, create_metrics_app
from app.process.migrating import own_database
from app.process.start import open_database, open_process, warm
from app.process.stopping import until_asked, until_signalled
from app.process.typed import typed
from app.settings.settings import Settings
from app.web.admission import Gate
from app.web.errors import render_last

_BUILD = Gauge(
    "memory_bank_build_info",
    "1, for the release and schema of this process, and its kind: api or worker.",
    ["version", "schema", "kind"],
)
_OUTDATED_SECONDS = 5.0
"""Time for which the process reports that it must not write any more, before it ends."""
log = structlog.get_logger()

FILE = "admin-key"


@asynccontextmanager
async def serving(
    settings: Settings, resources: Resources, place: ProcessPlace = ALONE
) -> AsyncIterator[tuple[int, asyncio.Task[None]]]:
    """Serve during the block; with the embedded database, also run the worker.

    Yields the port of the server, and the task that ends with the server. The servers and the
    worker stop concurrently, because each may take the whole grace period.
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
) -> AsyncIterator[tuple[int, asyncio.Task[None]]]:
    assert place.api is not None
    # In a thread, because it is slow on some machines and the watchdog would report a stall.
    app = await asyncio.to_thread(create_app, resources)
    keep_what_is_there()
    gate: Gate = app.state.gate
    http = connections_of(settings, gate.limits.give_up_body, render_last)
    listen(place.api)
    async with served(app, settings, place.api, http, place.share) as task:
        yield port_of(place.api), task


@asynccontextmanager
async def _probing(resources: Resources, listener: socket) -> AsyncIterator[None]:
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
            await asyncio.to_thread(_show_build, "api")
            async with serving(settings, process.resources, bound) as (port, server):
                stopping.is_up = True
                if place.is_first:
                    has_key = process.first_key is not None
                    await announce(process.resources, port, has_key=has_key)
                if place.tell_up is not None:
                    place.tell_up()
                await _until_asked(stopping, process.resources, server)


def _show_build(kind: str) -> None:
    """Set the metric. Blocking: it reads the schema's revision from files."""
    _BUILD.labels(RELEASE, wanted_revision(), kind).set(1)


async def _until_asked(
    stopping: asyncio.Event, resources: Resources, *servers: asyncio.Task[None]
) -> None:
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

    Raises:
        SchemaChangedError: the database has the schema of another release.
    """
    async with (
        until_signalled(settings, place) as stopping,
        open_database(settings, place) as url,
    ):
        # Set before the port with the metrics opens.
        await asyncio.to_thread(_show_build, "worker")
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
            await warm(resources)
            stopping.is_up = True
            if place.tell_up is not None:
                place.tell_up()
            await _until_asked(stopping, resources)


async def keep_database(
    settings: Settings, holder: Holder, tell: Callable[[str], None], others: int
) -> None:
    """Run the embedded Postgres for the other processes until they end.

    `tell` gets the address once the schema is current; `others` is a descriptor that ends with
    them.
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
    limit_allocator()
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(process())


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # noqa: PLC0415 - not available on Windows
    except ImportError:
        return None
    return uvloop.new_event_loop


def handed_over(key: str | None, data_dir: Path) -> list[str]:
    """Return the lines for the operator about a key that this start created, if any.

    The key is printed on a terminal, else written to a file in the data folder: other output may be
    stored, for example by a container engine's logs.
    """
    if key is None:
        return []
    if sys.stdout.isatty():
        line = f"API key, shown only this once: {key}"
    else:
        path = data_dir.resolve() / FILE
        try:
            _write(path, key)
        except OSError as error:
            # The key cannot be shown later, but `memory-bank keys create` makes another one.
            log.error("admin_key.not_written", path=str(path), error=error.strerror)  # noqa: TRY400 - the reason is in the line
            return []
        log.info("admin_key.written", path=str(path))
        line = f"API key, in a file that you should remove once you have read it: {path}"
    return [
        line,
        "Send it as 'Authorization: Bearer KEY'; in a browser it is the password of /docs.",
    ]


def _write(path: Path, key: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Removes the key of a former database; a link made by another user is not followed.
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(key + "\n")


async def announce(resources: Resources, port: int, *, has_key: bool) -> None:
    """Announce the address and the models; `has_key` means that this start made the first key."""
    settings = resources.settings
    address = url_of(settings.host, port)
    console = "console: /console, " if settings.console else ""
    lines = [
        f"Open Memory Bank serves {address} ({console}documentation: /docs)",
        f"Memories are written by: {resources.models.description}",
        f"Searches understand: {resources.embedder.languages}",
    ]
    if has_key and settings.console:
        lines.append(f"The key opens the console: {address}/console")
    if await _may_be_lost(resources):
        another = typed(settings, "keys", "create", "--name", "admin", "--role", "admin")
        lines.append(f"If the administrator's key is lost, this makes another: {another}")
    say("\n".join(lines))


async def _may_be_lost(resources: Resources) -> bool:
    """Return True if no request has used an administrator's key yet and the settings have none."""
    if resources.settings.admin_key:
        return False
    return not await AccessService(resources.db, resources.clock).is_managed()
