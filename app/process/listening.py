"""The place, the sockets and the messages of a process, and the errors that prevent its start.

A socket is bound before any other step, because a port in use should stop the start early. It
listens only when the server is ready; until then, connections are refused instead of waiting.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from socket import (
    AF_INET,
    AF_INET6,
    IPPROTO_IPV6,
    IPV6_V6ONLY,
    SO_REUSEADDR,
    SOL_SOCKET,
    socket,
)
from typing import TextIO

import typer

from app.adapters.db.migrate import SchemaError
from app.adapters.llm.names import ModelSetupError
from app.adapters.postgres.embedded import PostgresStartError, holder_of
from app.adapters.postgres.server import has_cluster
from app.adapters.terminal import FAILED, OUTDATED
from app.adapters.uvicorn.sharing import ConnectionShare
from app.kernel.errors import ServiceError
from app.settings.settings import Settings

_BACKLOG = 2048
"""Largest number of connections not yet accepted; uvicorn's default."""
_ANY = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what a host means, not where to listen
"""Hosts for all addresses of a machine, mapped to its loopback address."""
_SUCCEEDED = 0


class ServeError(RuntimeError):
    """The server cannot start; the message names the reason."""


class SchemaChangedError(ServeError):
    """The database has the schema of another release."""


def bind_api(settings: Settings) -> socket:
    """Bind the socket of the API, or raise ServeError."""
    try:
        return _bind(settings.host, settings.port, "--host or --port")
    except ServeError:
        address = address_of(settings, settings.port)
        holder = None if settings.database_url else holder_of(settings.data_dir)
        if holder is None or holder.address != address:
            raise
        raise ServeError(
            f"Process {holder.pid} of this service serves {address} already, on the same data"
            f" folder {settings.data_dir.resolve()}: stop that process, or choose another --port"
            " and another --data-dir."
        ) from None


def bind_metrics(settings: Settings, number: int = 0) -> socket:
    """Bind the socket for the probes of the server with a number, or raise ServeError."""
    names = "MEMORY_BANK_METRICS_HOST or MEMORY_BANK_METRICS_PORT"
    return _bind(settings.metrics_host, settings.metrics_port + number, names)


def bind_worker(settings: Settings, number: int = 0) -> socket:
    """Bind the socket for the probes of the worker with a number, or raise ServeError."""
    return _bind(settings.host, settings.worker_port + number, "--host or --port")


def listen(bound: socket) -> None:
    """Start to listen on a bound socket, or raise ServeError if another process listens there."""
    try:
        bound.listen(_BACKLOG)
    except OSError as error:
        raise ServeError(
            f"Cannot listen on port {port_of(bound)}: {error.strerror}; choose another port."
        ) from error


def port_of(bound: socket) -> int:
    """Return the port of a bound socket."""
    port: int = bound.getsockname()[1]
    return port


def address_of(settings: Settings, port: int) -> str:
    """Return the URL of the API on a port, for clients on this machine."""
    return url_of(_ANY.get(settings.host, settings.host), port)


def url_of(host: str, port: int) -> str:
    """Return the URL of a host and a port."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _bind(host: str, port: int, names: str) -> socket:
    bound = socket(AF_INET6 if ":" in host else AF_INET)
    try:
        if sys.platform != "win32":
            # Allows a bind while old connections of a former process are in TIME_WAIT.
            bound.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
        if bound.family == AF_INET6:
            bound.setsockopt(IPPROTO_IPV6, IPV6_V6ONLY, 1)
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise ServeError(
            f"Cannot listen on {host}:{port}: {error.strerror}; choose another {names}."
        ) from error
    except OverflowError:
        bound.close()
        raise ServeError(f"Cannot listen on port {port}; choose another {names}.") from None
    return bound


@dataclass(frozen=True)
class ProcessPlace:
    """The resources and duties that a command gives to a process; the defaults fit a single one.

    Attributes:
        works: whether a server with the embedded database also runs the worker.
        database: the address of the embedded database, if another process runs it.
        is_first: whether the process creates the first key and announces the service.
        count: the number of processes of this kind, which all open connections.
        tell_up: called once the process is up; None: there is no supervisor.
    """

    works: bool = True
    database: str | None = None
    is_first: bool = True
    count: int = 1
    api: socket | None = None
    share: ConnectionShare | None = None
    probes: socket | None = None
    tell_up: Callable[[], None] | None = None


ALONE = ProcessPlace()


@contextmanager
def bound_place(settings: Settings, place: ProcessPlace) -> Iterator[ProcessPlace]:
    """Bind the missing sockets of a server, or raise ServeError; close all after the block."""
    with ExitStack() as stack:
        api = stack.enter_context(place.api or bind_api(settings))
        probes = place.probes or (bind_metrics(settings) if settings.metrics_port else None)
        if probes is not None:
            stack.enter_context(probes)
        yield replace(place, api=api, probes=probes)


def status_of(run: Callable[[], int | None]) -> int:
    """Run to the end and return the exit status; print an error that an operator can fix."""
    try:
        return run() or _SUCCEEDED
    except SchemaChangedError as error:
        typer.echo(str(error), err=True)
        return OUTDATED
    except (SchemaError, PostgresStartError, ServeError, ModelSetupError, ServiceError) as error:
        typer.echo(str(error), err=True)
        return FAILED


def tell_new_folder(data_dir: Path, stream: TextIO) -> None:
    """Announce a new data folder, because its name may be a typing error."""
    if not has_cluster(data_dir):
        say(f"New data folder: {data_dir.resolve()}", stream)


def tell_stopping(grace_seconds: float) -> None:
    """Announce the stop of the process and its longest duration, on a terminal only."""
    if sys.stdout.isatty():
        say(f"Stopping: what runs has {grace_seconds:g} s to end; a second Ctrl-C ends it at once.")


def say(sentence: str, stream: TextIO | None = None) -> None:
    """Write and flush a line; a closed stream is ignored."""
    stream = stream or sys.stdout
    with suppress(OSError):
        stream.write(f"{sentence}\n")
        stream.flush()
