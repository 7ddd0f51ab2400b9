"""The sockets of a service, and the errors that prevent its start.

A socket is bound before any other step, because a port in use should stop the start early. It
listens only when the server is ready; until then, connections are refused instead of waiting.
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
"""Largest number of connections not yet accepted; uvicorn's default."""
_ANY = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what a host means, not where to listen
"""Hosts for all addresses of a machine, mapped to its loopback address."""


class ServeError(RuntimeError):
    """The server cannot start; the message names the reason."""


class SchemaChangedError(ServeError):
    """The database has the schema of another release."""


def bind_api(settings: Settings) -> socket:
    """Bind the socket of the API.

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
    """Bind the socket for a server's probes; `number` is the index among the command's processes.

    Raises:
        ServeError: the address is invalid or in use.
    """
    names = "MEMORY_BANK_METRICS_HOST or MEMORY_BANK_METRICS_PORT"
    return _bind(settings.metrics_host, settings.metrics_port + number, names)


def bind_worker(settings: Settings, number: int = 0) -> socket:
    """Bind the socket for a worker's probes; `number` is the index among the command's processes.

    Raises:
        ServeError: the address is invalid or in use.
    """
    return _bind(settings.host, settings.worker_port + number, "--host or --port")


def listen(bound: socket) -> None:
    """Start to listen on a bound socket; no effect if it already listens.

    Raises:
        ServeError: another process with the same bound address has started to listen.
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
