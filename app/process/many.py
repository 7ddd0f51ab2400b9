"""Several processes of one command, with their sockets and roles."""

import gc
import os
import sys
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from socket import socket
from typing import Any

from app.adapters.metrics import added_up, forget_gauges, forget_parent, remove_folder
from app.adapters.postgres.embedded import Holder
from app.adapters.uvicorn.sharing import ConnectionShare, ConnectionShares
from app.process.listening import (
    ProcessPlace,
    ServeError,
    address_of,
    bind_api,
    bind_metrics,
    bind_worker,
    port_of,
    status_of,
    tell_stopping,
)
from app.process.stopping import AFTER_GRACE_SECONDS
from app.process.supervisor import ProcessRole, ProcessSupervisor, Start
from app.settings.environment import environment
from app.settings.settings import Settings

_Process = Callable[[Any], Coroutine[object, object, None]]
"""A function that returns a process of the module `serving`, its argument."""
_WORKER = "worker"
_DATABASE = "database"
_UP = "up"


def serve(settings: Settings, *, works: bool) -> int:
    """Serve until asked to stop; return the exit status.

    With several processes and the embedded database, another process runs Postgres, and, if
    `works`, one runs the worker.
    """
    if settings.processes > 1:
        return status_of(lambda: _serve_many(settings, works=works))
    return _run(lambda serving: serving.serve(settings, ProcessPlace(works=works)))


def work(settings: Settings) -> int:
    """Run workers until asked to stop; return the exit status."""
    if settings.processes > 1:
        return status_of(lambda: _work_many(settings))
    return _run(lambda serving: serving.work(settings))


def _serve_many(settings: Settings, *, works: bool) -> int:
    api = bind_api(settings)
    bind = partial(bind_metrics, settings)
    probes = [bind(n) if settings.metrics_port else None for n in range(settings.processes)]
    with added_up():
        processes = _Processes(settings, probes, api, ConnectionShares(settings.processes))
        first, *others = processes.roles(processes.serve)
        if settings.database_url is not None:
            return processes.run([[first], others])
        database = ProcessRole(_DATABASE, processes.keep_database, processes.found, outlives=True)
        if works:
            others.append(ProcessRole(_WORKER, partial(processes.work, None)))
        return processes.run([[database], [first], others])


def _work_many(settings: Settings) -> int:
    bind = partial(bind_worker, settings)
    probes = [bind(n) if settings.worker_port else None for n in range(settings.processes)]
    processes = _Processes(settings, probes)
    first, *others = processes.roles(processes.work)
    return processes.run([[first], others])


@dataclass
class _Processes:
    """The processes of one command; without a socket of the `api`, it runs workers."""

    settings: Settings
    probes: Sequence[socket | None]
    api: socket | None = None
    shares: ConnectionShares | None = None
    _url: str | None = None
    """The address of the embedded database."""

    def roles(self, run: Callable[[int, Start], int]) -> list[ProcessRole]:
        return [ProcessRole(str(n), partial(run, n)) for n in range(self.settings.processes)]

    def run(self, waves: Sequence[Sequence[ProcessRole]]) -> int:
        if sys.platform == "win32":
            raise ServeError("MEMORY_BANK_PROCESSES must be 1 on this system, which cannot fork.")
        if "embedder_threads" not in self.settings.model_fields_set:
            # The processes share the cores of the machine.
            self.settings = self.settings.model_copy(update={"embedder_threads": 1})
        _prepare()
        grace_seconds = self.settings.shutdown_grace_seconds
        return ProcessSupervisor(
            stop_seconds=grace_seconds + AFTER_GRACE_SECONDS,
            # Closing the sockets makes the system refuse new connections at once.
            on_stop=partial(self._close, ()),
            on_asked=partial(tell_stopping, grace_seconds),
            on_end=self._leave,
        ).run(waves)

    def serve(self, number: int, start: Start) -> int:
        assert self.shares is not None
        share = ConnectionShare(self.shares, number)
        place = replace(self._place(number, start), api=self.api, share=share, works=False)
        return self._run(
            lambda serving: serving.serve(self.settings, place), self.api, place.probes
        )

    def work(self, number: int | None, start: Start) -> int:
        """Run a worker; one without a number works beside servers."""
        place = self._place(number, start)
        return self._run(lambda serving: serving.work(self.settings, place=place), place.probes)

    def keep_database(self, start: Start) -> int:
        """Run the embedded database for the other processes."""
        assert self.api is not None
        # The id of the supervisor, because an operator stops the service through it.
        holder = Holder(os.getppid(), address_of(self.settings, port_of(self.api)))
        return self._run(
            lambda serving: serving.keep_database(self.settings, holder, start.tell, start.others)
        )

    def found(self, url: str) -> None:
        """Keep the address of the embedded database for later processes; it must not change."""
        if self._url not in {None, url}:
            raise ServeError("The embedded Postgres has another address after its restart.")
        self._url = url

    def _place(self, number: int | None, start: Start) -> ProcessPlace:
        return ProcessPlace(
            database=self._url,
            is_first=number == 0 and start.is_first,
            count=self.settings.processes,
            probes=None if number is None else self.probes[number],
            tell_up=partial(start.tell, _UP),
        )

    def _run(self, process: _Process, *sockets: socket | None) -> int:
        """Run one of the processes, which uses these sockets only."""
        supervisor = os.getppid()
        self._close(sockets)
        status = _run(process)
        if os.getppid() != supervisor:
            # The supervisor was killed and could not remove the folder.
            remove_folder()
        return status

    def _leave(self, name: str) -> None:
        forget_gauges(name)
        if self.shares is not None and name.isdigit():
            self.shares.leave(int(name))

    def _close(self, kept: Sequence[socket | None]) -> None:
        for listener in (self.api, *self.probes):
            if listener is not None and listener not in kept:
                listener.close()


def _run(process: _Process) -> int:
    """Run a process to its end and return the exit status.

    The import makes metrics, which must know first whether several processes add them up.
    """
    from app.process import serving  # noqa: PLC0415 - as above

    return status_of(lambda: serving.run(lambda: process(serving)))


def _prepare() -> None:
    """Import the application before the forks, to share its memory; no thread may start."""
    environment().setdefault("OPENBLAS_NUM_THREADS", "1")
    import_module("app.process.serving")
    with suppress(ImportError):
        import_module("uvloop")
    forget_parent()
    # The collector does not write to frozen objects, so their memory pages stay shared.
    gc.freeze()
