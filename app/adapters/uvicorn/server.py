"""The HTTP server: an application on a socket, behind bounded connections."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from socket import socket
from typing import Any, ClassVar, cast

import structlog
import uvicorn
from typing_extensions import override

from app.adapters.uvicorn.connections import Bounds, Connection, Rendered
from app.adapters.uvicorn.room import GivingUp, Rooms
from app.adapters.uvicorn.sharing import Acceptor, ConnectionShare
from app.kernel.errors import ServiceError, describe
from app.settings.settings import Settings

log = structlog.get_logger()


class Server(uvicorn.Server):
    """A server that does not handle signals."""

    @override
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        # After its stop, uvicorn raises the signal again. That would kill the process before the
        # worker and the database have stopped.
        yield


class SharingServer(Server):
    """A server that takes its share of the connections of a socket."""

    def __init__(self, config: uvicorn.Config, bound: socket, share: ConnectionShare) -> None:
        super().__init__(config)
        self._bound = bound
        self._share = share

    @override
    async def startup(self, sockets: list[socket] | None = None) -> None:
        await super().startup(sockets=[])
        connections = self.server_state.connections
        acceptor = Acceptor(self._bound, self._connection, self._share, lambda: len(connections))
        # uvicorn closes `servers` at its stop, before the connections.
        self.servers = [cast("asyncio.Server", acceptor)]

    def _connection(self) -> asyncio.Protocol:
        made: asyncio.Protocol = self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return made


def connections(
    within: Bounds, give_up_body: GivingUp, render_last: Callable[[ServiceError], Rendered]
) -> type[Connection]:
    """Return the connection class of a server."""

    class BoundedConnection(Connection):
        bounds = within
        rooms: ClassVar[Rooms[Connection]] = Rooms(
            within.max_connections - within.reserved_connections,
            within.reserved_connections,
            give_up_body,
        )

        @override
        def render(self, error: ServiceError) -> Rendered:
            return render_last(error)

    return BoundedConnection


def connections_of(
    settings: Settings, give_up_body: GivingUp, render_last: Callable[[ServiceError], Rendered]
) -> type[Connection]:
    """Return the connection class for the settings' bounds."""
    bounds = Bounds(
        idle_seconds=settings.tuning.idle_seconds,
        header_seconds=settings.tuning.header_seconds,
        body_seconds=settings.tuning.body_seconds,
        send_seconds=settings.tuning.send_seconds,
        max_header_bytes=settings.tuning.max_header_bytes,
        max_connections=settings.max_connections,
        reserved_connections=settings.reserved_connections,
    )
    return connections(bounds, give_up_body, render_last)


@asynccontextmanager
async def served(
    app: Callable[..., Any],
    settings: Settings,
    bound: socket,
    http: type[Connection],
    share: ConnectionShare | None = None,
) -> AsyncIterator[asyncio.Task[None]]:
    """Serve on a socket during the block; yield the task that ends with the server."""
    config = _config(app, settings, http)
    server = Server(config) if share is None else SharingServer(config, bound, share)
    task = asyncio.create_task(server.serve(sockets=[bound]))
    try:
        yield task
    finally:
        server.should_exit = True
        (end,) = await asyncio.gather(task, return_exceptions=True)
        if isinstance(end, Exception):
            log.error("server.failed", error=describe(end))


def _config(app: Callable[..., Any], settings: Settings, http: type[Connection]) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        http=http,
        ws="none",
        log_config=None,
        access_log=False,
        lifespan="off",
        server_header=False,
        # By default uvicorn trusts every client on this machine.
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=[str(network) for network in settings.trusted_proxies],
        timeout_graceful_shutdown=int(settings.shutdown_grace_seconds),
    )
