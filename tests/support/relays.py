"""A relay before a server, which a test can close or halt where it cannot stop the server."""

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

from app.adapters.db.distribution import Address

_PIECE_BYTES = 2**16
_SECONDS = 30


class Relay:
    """Passes on what comes to its address, until it is closed.

    It runs in a thread of its own, since tests ask servers in ways that block.

    Attributes:
        address: its address, which stays the same when it is opened again.
    """

    def __init__(self, target: Address, host: str) -> None:
        self.address = Address(host, 0)
        self._target = target
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._passes = asyncio.Event()
        self._passes.set()
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever)
        self._thread.start()

    def open(self) -> None:
        """Take connections."""
        self._run(self._open())

    def close(self) -> None:
        """Refuse connections, and cut those that there are."""
        self._run(self._close())

    def hang(self) -> None:
        """Take connections and swallow what comes, as a server that has stopped."""
        self._loop.call_soon_threadsafe(self._passes.clear)

    def go_on(self) -> None:
        """Pass on again, also what came meanwhile."""
        self._loop.call_soon_threadsafe(self._passes.set)

    def end(self) -> None:
        """Close it for good."""
        self.close()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(_SECONDS)

    async def _open(self) -> None:
        host, port = self.address.host, self.address.port
        self._server = await asyncio.start_server(self._take, host, port)
        self.address = Address(host, self._server.sockets[0].getsockname()[1])

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        connections = [*self._connections]
        for connection in connections:
            connection.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = self._loop.create_task(self._pass_on(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass on what both ends of a connection say, until one of them ends."""
        ends = [writer]
        try:
            await self._passes.wait()
            beyond, target = await asyncio.open_connection(self._target.host, self._target.port)
            ends.append(target)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._copy(reader, target))
                tasks.create_task(self._copy(beyond, writer))
        except* OSError:
            pass
        finally:
            for end in ends:
                end.transport.abort()

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Copy what one end says, its end included."""
        while piece := await reader.read(_PIECE_BYTES):
            await self._passes.wait()
            writer.write(piece)
            await writer.drain()
        writer.write_eof()


@contextmanager
def relay(target: Address, host: str) -> Iterator[Relay]:
    """Have a relay before a server for the block, at a host that others reach it by."""
    found = Relay(target, host)
    try:
        found.open()
        yield found
    finally:
        found.end()
