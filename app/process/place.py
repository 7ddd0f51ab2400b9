"""The place of a process among the processes of one command."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from socket import socket

from app.adapters.uvicorn.sharing import ConnectionShare
from app.process.listening import bind_api, bind_metrics
from app.settings.settings import Settings


@dataclass(frozen=True)
class ProcessPlace:
    """The resources and duties that a command gives to a process; the defaults fit a single one.

    Attributes:
        works: whether a server with the embedded database also runs the worker.
        database: the address of the embedded database, if another process runs it.
        is_first: whether the process creates the first key and announces the service.
        count: the number of processes of this kind, which all open connections.
        api: the socket of the API, if it is already bound.
        share: the share of the socket's connections, if other processes use the socket too.
        probes: the socket of health and metrics, if it is already bound.
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
    """Bind the missing sockets of a server; close all sockets after the block.

    Raises:
        ServeError: an address is invalid or in use.
    """
    with ExitStack() as stack:
        api = stack.enter_context(place.api or bind_api(settings))
        probes = place.probes or (bind_metrics(settings) if settings.metrics_port else None)
        if probes is not None:
            stack.enter_context(probes)
        yield replace(place, api=api, probes=probes)
