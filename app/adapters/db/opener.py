"""The opening of connections to one server, and the end of all of them at once.

A server that vanished says nothing: the network would have everybody wait for minutes who has asked
it something, and each new connection until its time limit.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any
from weakref import WeakSet

import psycopg
from sqlalchemy.ext.asyncio import AsyncEngine

Connection = psycopg.AsyncConnection[Any]
Connect = Callable[[], Awaitable[Connection]]
OPENER = "opener"
"""The option of a pool that has its opener."""


class Opener:
    """Opens the connections of a pool, those of the hot statements included."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._opening: set[asyncio.Task[Connection]] = set()
        self._opened: WeakSet[Connection] = WeakSet()
        self._has_given_up = False

    async def open(self) -> Connection:
        """Open a connection.

        Raises:
            psycopg.Error: the server does not accept it, or was given up.
        """
        if self._has_given_up:
            raise _given_up()
        # A task of its own, so that `give_up` ends it and not its caller.
        opening = asyncio.create_task(_awaited(self._connect))
        self._opening.add(opening)
        opening.add_done_callback(self._opening.discard)
        try:
            connection = await opening
        except asyncio.CancelledError:
            caller = asyncio.current_task()
            if caller is not None and not caller.cancelling():
                raise _given_up() from None
            opening.add_done_callback(_drop)
            raise
        self._opened.add(connection)
        return connection

    def give_up(self) -> None:
        """End all connections, and open no more until `resume`."""
        self._has_given_up = True
        for opening in self._opening:
            opening.cancel()
        for connection in list(self._opened):
            shut_down(connection)

    def resume(self) -> None:
        """Open connections again."""
        self._has_given_up = False


def opener_of(engine: AsyncEngine) -> Opener:
    """Return the opener of a pool."""
    opener: Opener = engine.sync_engine.get_execution_options()[OPENER]
    return opener


async def _awaited(connect: Connect) -> Connection:
    return await connect()


def _drop(opening: asyncio.Task[Connection]) -> None:
    """Close a connection that was opened as its caller was cancelled."""
    if not opening.cancelled() and opening.exception() is None:
        opening.result().pgconn.finish()


def _given_up() -> psycopg.OperationalError:
    return psycopg.OperationalError("the server is away")


def shut_down(connection: Connection) -> None:
    """Have both sides of a connection's socket end; the driver that owns it then closes it."""
    with suppress(OSError, psycopg.Error):
        ending = socket.socket(fileno=connection.fileno())
        try:
            ending.shutdown(socket.SHUT_RDWR)
        finally:
            ending.detach()
