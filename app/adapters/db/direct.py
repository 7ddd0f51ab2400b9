"""Statements straight on the driver, each a transaction of its own: the hot ones.

A session costs 0.4 ms of CPU for a statement that the driver sends for 0.05. So the few statements
of the hottest requests go past it, over connections that the pool has opened and given away.
"""

import asyncio
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Any

import psycopg
from psycopg import AsyncRawCursor
from psycopg.pq import TransactionStatus
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.pool import QueuePool

_MAX_CONNECTIONS = 10
_FRESH_SECONDS = 1.0
"""A connection that was idle for longer may have been lost, by a restart of the database."""

Row = tuple[Any, ...]


class DirectConnections:
    """Up to ten connections of one process, beside those of the pool; none before its first use."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._idle: list[tuple[psycopg.AsyncConnection[Row], float]] = []
        """With when each was used last."""
        self._is_closed = False
        self._places = asyncio.Semaphore(_MAX_CONNECTIONS)

    async def run(
        self, statement: bytes, values: Mapping[str, Any] | Sequence[Any]
    ) -> Sequence[Row]:
        """Send a statement that returns rows, and commit it; return them.

        Its values have names, as `%(name)s`, or numbers, as `$1`; with numbers, the rows come in
        binary, which both sides are quicker with.

        Raises:
            psycopg.Error: as the driver has it.
            sqlalchemy.exc.DBAPIError: no connection can be opened.
            sqlalchemy.exc.TimeoutError: none is given back in time.
        """
        await self._enter()
        try:
            connection = await self._take()
            try:
                has_names = isinstance(values, Mapping)
                cursor = connection.cursor() if has_names else AsyncRawCursor(connection)
                await cursor.execute(statement, values, binary=not has_names)
                return await cursor.fetchall()
            finally:
                await self._keep(connection)
        finally:
            self._places.release()

    async def _enter(self) -> None:
        """Take a place; wait for one as long as for a connection of the pool.

        Raises:
            sqlalchemy.exc.TimeoutError: there is none in time.
        """
        if not self._places.locked():
            # At once, and the clock below costs as much as all else here.
            await self._places.acquire()
            return
        pool = self._engine.pool
        seconds = pool.timeout() if isinstance(pool, QueuePool) else None
        try:
            # Nothing but the place is waited for here: no statement can be broken off.
            async with asyncio.timeout(seconds):
                await self._places.acquire()
        except TimeoutError as error:
            raise PoolTimeoutError("All direct connections are in use.") from error

    async def _take(self) -> psycopg.AsyncConnection[Row]:
        while self._idle:
            connection, used = self._idle.pop()
            if monotonic() - used < _FRESH_SECONDS or await _answers(connection):
                return connection
        return await self._open()

    async def _open(self) -> psycopg.AsyncConnection[Row]:
        opened = await self._engine.raw_connection()
        connection: Any = opened.driver_connection
        opened.detach()
        try:
            await connection.set_autocommit(True)
            if connection.prepare_threshold is not None:
                # What is hot enters by a key or by one scope, whatever the values, and to plan a
                # search anew takes as long as to run it.
                await connection.execute(b"set plan_cache_mode = force_generic_plan")
                # Such a plan takes a scope for one of average size: where few scopes are large, it
                # would read the whole table for any small one.
                await connection.execute(b"set enable_seqscan = off")
        except BaseException:
            await connection.close()
            raise
        found: psycopg.AsyncConnection[Row] = connection
        return found

    async def _keep(self, connection: psycopg.AsyncConnection[Row]) -> None:
        is_idle = connection.info.transaction_status is TransactionStatus.IDLE
        if is_idle and not self._is_closed:
            self._idle.append((connection, monotonic()))
            return
        # Broken off or lost; if it is lost, so are the others, as a rule.
        await connection.close()
        await self._close_idle()

    async def close(self) -> None:
        """Close what is not in use, now, and the rest when it is given back."""
        self._is_closed = True
        await self._close_idle()

    async def _close_idle(self) -> None:
        closing, self._idle = self._idle, []
        for connection, _ in closing:
            await connection.close()


async def _answers(connection: psycopg.AsyncConnection[Row]) -> bool:
    """Say whether a connection is still there; else it is closed."""
    try:
        await connection.execute(b"select")
    except psycopg.Error:
        await connection.close()
        return False
    except BaseException:
        await connection.close()
        raise
    return True
