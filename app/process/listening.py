"""The sockets of a service, and the errors for which it cannot start.

A socket is bound first of all, so that a port that is taken costs nothing, and listens only once
somebody answers: until then, connections are refused rather than kept waiting.
"""

import sys
from socket import (
    AF_INET,
    AF_INET6,
    IPPROTO_IPV6,
    IPV6_V6ONLY,
    SO_REUSEADDR,
    SOL_SOCKET,
    socket,
)

from app.adapters.postgres.embedded import holder_of
from app.settings.settings import Settings

_BACKLOG = 2048
"""Limit of connections not yet accepted; uvicorn's default."""
_ANY = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what a host means, not where to listen
"""Hosts that stand for all addresses of a machine, to the one by which it reaches itself."""


class ServeError(RuntimeError):
    """The server cannot start; the message names the reason."""


class SchemaChangedError(ServeError):
    """The database has the schema of another release."""


def bind_api(settings: Settings) -> socket:
    """Bind the socket where the API is served.

    Raises:
        ServeError: the address is invalid or in use.
    """
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
    """Bind the socket where a server answers probes; `number` is its own among those of a command.

    Raises:
        ServeError: the address is invalid or in use.
    """
    names = "MEMORY_BANK_METRICS_HOST or MEMORY_BANK_METRICS_PORT"
    return _bind(settings.metrics_host, settings.metrics_port + number, names)


def bind_worker(settings: Settings, number: int = 0) -> socket:
    """Bind the socket where a worker answers probes; `number` is its own among those of a command.

    Raises:
        ServeError: the address is invalid or in use.
    """
    return _bind(settings.host, settings.worker_port + number, "--host or --port")


def listen(bound: socket) -> None:
    """Open a bound socket to clients; of no effect where they can already.

    Raises:
        ServeError: another process, which had bound the same address, listens by now.
    """
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
    """Return the address of the API on a port of this machine, as a client here reaches it."""
    return url_of(_ANY.get(settings.host, settings.host), port)


def url_of(host: str, port: int) -> str:
    """Return the address of a host and a port."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _bind(host: str, port: int, names: str) -> socket:
    bound = socket(AF_INET6 if ":" in host else AF_INET)
    try:
        if sys.platform != "win32":
            # Connections of a former process, which the system still remembers, are no obstacle.
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
