"""The place of a process among those of one command."""

from collections.abc import Callable
from dataclasses import dataclass
from socket import socket

from app.adapters.uvicorn.sharing import ConnectionShare
from app.process.watchdog import AFTER_GRACE_SECONDS


@dataclass(frozen=True)
class ProcessPlace:
    """The things that a process is given by its command; by default none.

    Attributes:
        works: whether a server with the embedded database also runs the worker.
        database: the address of the embedded database, if another process runs it.
        is_first: whether it makes the first key, and announces the service.
        count: the processes of its kind, which all have connections.
        api: the socket of the API, if it is open already.
        share: of the connections of that socket, where other processes have it, too.
        probes: the socket of health and metrics, if it is open already.
        tell_up: called once the process does its work.
        closing_seconds: time to end in after the grace period.
    """

    works: bool = True
    database: str | None = None
    is_first: bool = True
    count: int = 1
    api: socket | None = None
    share: ConnectionShare | None = None
    probes: socket | None = None
    tell_up: Callable[[], None] = lambda: None
    closing_seconds: float = AFTER_GRACE_SECONDS


ALONE = ProcessPlace()
