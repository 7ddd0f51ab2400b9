"""Several processes of one command, with their sockets and roles."""

import gc
import os
import sys
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from socket import socket

from app.adapters.metrics import added_up, forget_gauges, forget_parent, remove_folder
from app.adapters.postgres.embedded import Holder
from app.adapters.uvicorn.sharing import ConnectionShare, ConnectionShares
from app.process.listening import (
    ServeError,
    address_of,
    bind_api,
    bind_metrics,
    bind_worker,
    port_of,
)
from app.process.place import ProcessPlace
from app.process.reporting import status_of, tell_stopping
from app.process.supervisor import ProcessRole, ProcessSupervisor, Start
from app.process.watchdog import AFTER_GRACE_SECONDS, BEFORE_KILL_SECONDS
from app.settings.environment import environment
from app.settings.settings import Settings

_Listeners = Sequence[socket | None]
_WORKER = "worker"
_DATABASE = "database"
_CLOSING_SECONDS = AFTER_GRACE_SECONDS - BEFORE_KILL_SECONDS
_UP = "up"


def serve(settings: Settings, *, works: bool) -> int:
    """Serve until asked to stop; return the exit status.

    With several processes and the embedded database, another process runs Postgres, and, if
    `works`, one runs the worker.
    """
    if settings.processes == 1:
        from app.process import serving  # noqa: PLC0415 - slow import

        place = ProcessPlace(works=works)
        return status_of(lambda: serving.run(lambda: serving.serve(settings, place)))
    return status_of(lambda: _serve_many(settings, works=works))


def _serve_many(settings: Settings, *, works: bool) -> int:
    _check_system()
    api = bind_api(settings)
    probes = _probes(settings.metrics_port, partial(bind_metrics, settings), settings)
    with added_up():
        _prepare()
        return _Servers(_for_many(settings), api, probes, ConnectionShares(settings.processes)).run(
            works=works
        )


def work(settings: Settings) -> int:
    """Run workers until asked to stop; return the exit status."""
    if settings.processes == 1:
        from app.process import serving  # noqa: PLC0415 - slow import

        return status_of(lambda: serving.run(lambda: serving.work(settings)))
    return status_of(lambda: _work_many(settings))


def _work_many(settings: Settings) -> int:
    _check_system()
    probes = _probes(settings.worker_port, partial(bind_worker, settings), settings)
    _prepare()
    return _Workers(_for_many(settings), probes).run()


def _check_system() -> None:
    if sys.platform == "win32":
        raise ServeError("MEMORY_BANK_PROCESSES must be 1 on this system, which cannot fork.")


def _probes(port: int, bind: Callable[[int], socket], settings: Settings) -> list[socket | None]:
    return [bind(number) if port else None for number in range(settings.processes)]


def _for_many(settings: Settings) -> Settings:
    """Return the settings for one of several processes, with one embedder thread by default.

    The processes share the cores of the machine.
    """
    if "embedder_threads" in settings.model_fields_set:
        return settings
    return settings.model_copy(update={"embedder_threads": 1})


def _prepare() -> None:
    """Import the application before the forks, to share its memory; no thread may start."""
    environment().setdefault("OPENBLAS_NUM_THREADS", "1")
    import_module("app.process.serving")
    with suppress(ImportError):
        import_module("uvloop")
    forget_parent()
    # The collector does not write to frozen objects, so their memory pages stay shared.
    gc.freeze()


@dataclass
class _Servers:
    """The processes of `serve`: the servers and the embedded database."""

    settings: Settings
    api: socket
    probes: _Listeners
    shares: ConnectionShares
    _url: str | None = None
    """The address of the embedded database."""

    def run(self, *, works: bool) -> int:
        """Run them; return the status."""
        first, *others = [ProcessRole(str(n), partial(self._serve, n)) for n in self._numbers()]
        is_own = self.settings.database_url is None
        database = ProcessRole(_DATABASE, self._keep_database, self._found, outlives=True)
        worker = ProcessRole(_WORKER, self._work)
        waves = [[first], [*others, *([worker] if is_own and works else [])]]
        supervisor = _supervisor(self.settings, [self.api, *self.probes], self._leave)
        return supervisor.run([[database], *waves] if is_own else waves)

    def _leave(self, name: str) -> None:
        forget_gauges(name)
        if name.isdigit():
            self.shares.leave(int(name))

    def _numbers(self) -> range:
        return range(self.settings.processes)

    def _found(self, url: str) -> None:
        if self._url not in {None, url}:
            raise ServeError("The embedded Postgres has another address after its restart.")
        self._url = url

    def _serve(self, number: int, start: Start) -> int:
        from app.process.serving import serve as serve_one  # noqa: PLC0415 - slow import

        place = ProcessPlace(
            works=False,
            database=self._url,
            is_first=number == 0 and start.is_first,
            count=self.settings.processes,
            api=self.api,
            share=ConnectionShare(self.shares, number),
            probes=self.probes[number],
            tell_up=partial(start.tell, _UP),
            tell_stopping=_leave_to_supervisor,
            closing_seconds=_CLOSING_SECONDS,
        )
        unused = [each for each in self.probes if each is not place.probes]
        return _run(partial(serve_one, self.settings, place), unused)

    def _work(self, start: Start) -> int:
        from app.process.serving import work as work_one  # noqa: PLC0415 - slow import

        place = ProcessPlace(
            database=self._url,
            is_first=False,
            tell_up=partial(start.tell, _UP),
            tell_stopping=_leave_to_supervisor,
            closing_seconds=_CLOSING_SECONDS,
        )
        run = partial(work_one, self.settings, place=place)
        return _run(run, [self.api, *self.probes])

    def _keep_database(self, start: Start) -> int:
        from app.process.serving import keep_database  # noqa: PLC0415 - slow import

        # The id of the supervisor, because an operator stops the service through it.
        holder = Holder(os.getppid(), address_of(self.settings, port_of(self.api)))
        run = partial(keep_database, self.settings, holder, start.tell, start.others)
        return _run(run, [self.api, *self.probes])


@dataclass(frozen=True)
class _Workers:
    """The processes of `worker`."""

    settings: Settings
    probes: _Listeners

    def run(self) -> int:
        """Run them; return the status."""
        first, *others = [
            ProcessRole(str(n), partial(self._work, n)) for n in range(self.settings.processes)
        ]
        return _supervisor(self.settings, self.probes).run([[first], others])

    def _work(self, number: int, start: Start) -> int:
        from app.process.serving import work as work_one  # noqa: PLC0415 - slow import

        place = ProcessPlace(
            is_first=number == 0 and start.is_first,
            count=self.settings.processes,
            probes=self.probes[number],
            tell_up=partial(start.tell, _UP),
            tell_stopping=_leave_to_supervisor,
            closing_seconds=_CLOSING_SECONDS,
        )
        unused = [each for each in self.probes if each is not place.probes]
        return _run(partial(work_one, self.settings, place=place), unused)


def _supervisor(
    settings: Settings, listeners: _Listeners, leave: Callable[[str], None] = lambda _: None
) -> ProcessSupervisor:
    return ProcessSupervisor(
        stop_seconds=settings.shutdown_grace_seconds + AFTER_GRACE_SECONDS,
        # Closing the sockets makes the system refuse new connections at once.
        on_stop=partial(_close, listeners),
        on_asked=partial(tell_stopping, settings.shutdown_grace_seconds),
        on_end=leave,
    )


def _run(start: Callable[[], Coroutine[object, object, None]], unused: _Listeners) -> int:
    """Run one of the processes after closing the sockets of the others."""
    from app.process.serving import run  # noqa: PLC0415 - slow import

    supervisor = os.getppid()
    _close(unused)
    status = status_of(lambda: run(start))
    if os.getppid() != supervisor:
        # The supervisor was killed and could not remove the folder.
        remove_folder()
    return status


def _leave_to_supervisor(_: float) -> None:
    """Announce no stop, because the supervisor announces it once for all processes."""


def _close(listeners: _Listeners) -> None:
    for listener in listeners:
        if listener is not None:
            listener.close()
