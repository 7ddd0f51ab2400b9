"""The sockets of a service, and the errors for which it cannot start."""

from socket import AF_INET, AF_INET6, create_server, gaierror, socket

from app.settings.settings import Settings

_BACKLOG = 2048
"""Limit of connections not yet accepted; uvicorn's default."""


class ServeError(RuntimeError):
    """The server cannot start; the message names the reason."""


class SchemaChangedError(ServeError):
    """The database has the schema of another release."""


def open_api_socket(settings: Settings) -> socket:
    """Listen where the API is served.

    Raises:
        ServeError: the address is invalid or in use.
    """
    return _open(settings.host, settings.port, "--host or --port")


def open_metrics_socket(settings: Settings, number: int = 0) -> socket:
    """Listen where a server answers probes; `number` is its own among those of one command.

    Raises:
        ServeError: the address is invalid or in use.
    """
    names = "MEMORY_BANK_METRICS_HOST or MEMORY_BANK_METRICS_PORT"
    return _open(settings.metrics_host, settings.metrics_port + number, names)


def open_worker_socket(settings: Settings, number: int = 0) -> socket:
    """Listen where a worker answers probes; `number` is its own among those of one command.

    Raises:
        ServeError: the address is invalid or in use.
    """
    return _open(settings.host, settings.worker_port + number, "--host or --port")


def _open(host: str, port: int, names: str) -> socket:
    family = AF_INET6 if ":" in host else AF_INET
    try:
        return create_server((host, port), family=family, backlog=_BACKLOG)
    except (OSError, gaierror) as error:
        raise ServeError(
            f"Cannot listen on {host}:{port}: {error.strerror}; choose another {names}."
        ) from error
    except OverflowError:
        raise ServeError(f"Cannot listen on port {port}; choose another {names}.") from None
