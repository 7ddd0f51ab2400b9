"""The hot statements, sent to the driver directly; each call is one transaction.

A session takes 0.4 ms of CPU for a statement that the driver sends in 0.05. So the few statements
of the most frequent requests bypass it, on connections opened and given up by the pool.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from time import monotonic
from typing import Any, TypeVar

import psycopg
from psycopg import AsyncRawCursor
from psycopg.pq import TransactionStatus
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.pool import QueuePool

from app.adapters.db.engine import TRANSACTION_LIMIT, Connection
from app.adapters.db.errors import meets_split
from app.adapters.db.nodes import Nodes

MAX_CONNECTIONS = 10
_FRESH_SECONDS = 1.0
"""Idle time after which a connection is checked: a database restart may have broken it."""
_SPLIT_PAUSES_SECONDS = (0.05, 0.2)

# Its warnings about a pipeline that fails may quote the row.
logging.getLogger("psycopg").setLevel(logging.CRITICAL)

Row = tuple[Any, ...]
Statement = tuple[bytes, Sequence[Any]]
"""The text of a statement, and its values in the order of their numbers."""
_Result = TypeVar("_Result")


class DirectConnections:
    """Up to ten connections of one process, in addition to the pool; opened on first use."""

    def __init__(self, engine: AsyncEngine, nodes: Nodes) -> None:
        self._engine = engine
        self._nodes = nodes
        self.is_distributed = False
        """True if the nodes of a cluster plan the statements, with their values."""
        self._idle: list[tuple[Connection, float]] = []
        """Idle connections with the time of their last use."""
        self.waiting = 0
        """Statements that wait for a connection."""
        self._is_closed = False
        self._places = asyncio.Semaphore(MAX_CONNECTIONS)

    async def run(self, statement: bytes, values: Sequence[Any]) -> Sequence[Row]:
        """Send a statement that returns rows, commit it, and return the rows.

        It is sent again where a shard has just been split. Values are numbered, as `$1`; the rows
        come in binary form, which is faster on both sides.

        Raises:
            psycopg.Error: raised by the driver.
            sqlalchemy.exc.DBAPIError: no connection can be opened.
            sqlalchemy.exc.TimeoutError: no connection becomes free in time.
        """
        return await self._repeat(partial(_run, statement, values))

    async def run_together(self, statements: Sequence[Statement]) -> bool:
        """Send statements together, as one transaction; return True if it is committed.

        It is rolled back if a statement finds or changes no row, or breaks a constraint. What is
        sent again, and other errors, are as in `run`.
        """
        opening = [b"begin"]
        limit = self._engine.get_execution_options().get(TRANSACTION_LIMIT)
        if limit is not None and not limit.is_default:
            opening.append(f"set local transaction_timeout = {limit.milliseconds}".encode())
        return await self._repeat(partial(_run_together, opening, statements))

    async def _repeat(self, send: Callable[[Connection], Awaitable[_Result]]) -> _Result:
        """Send a transaction, and send it again where a shard has just been split."""
        for pause in _SPLIT_PAUSES_SECONDS:
            try:
                return await self._send(send)
            except psycopg.Error as error:
                if not meets_split(error):
                    raise
            await asyncio.sleep(pause)
        return await self._send(send)

    async def _send(self, send: Callable[[Connection], Awaitable[_Result]]) -> _Result:
        await self._enter()
        try:
            connection = await self._take()
            try:
                self._nodes.begin(connection)
                return await send(connection)
            finally:
                self._nodes.end(connection)
                await self._keep(connection)
        finally:
            self._places.release()

    async def _enter(self) -> None:
        """Take a slot, waiting as long as for a connection of the pool."""
        if not self._places.locked():
            # No timer here: it costs as much as everything else in this function.
            await self._places.acquire()
            return
        pool = self._engine.pool
        seconds = pool.timeout() if isinstance(pool, QueuePool) else None
        self.waiting += 1
        try:
            # Only the slot is awaited here: no statement can be cancelled.
            async with asyncio.timeout(seconds):
                await self._places.acquire()
        except TimeoutError as error:
            raise PoolTimeoutError("All direct connections are in use.") from error
        finally:
            self.waiting -= 1

    async def _take(self) -> Connection:
        while self._idle:
            connection, used = self._idle.pop()
            if monotonic() - used < _FRESH_SECONDS or await _answers(connection):
                return connection
        return await self._open()

    async def _open(self) -> Connection:
        opened = await self._engine.raw_connection()
        connection: Any = opened.driver_connection
        opened.detach()
        try:
            await connection.set_autocommit(True)
            # A pooler's connections would keep the settings for other clients. On a cluster, they
            # would keep its planner from finding the node.
            limit = self._engine.get_execution_options().get(TRANSACTION_LIMIT)
            if limit is not None and limit.is_default and not self.is_distributed:
                # Hot statements select by a key or by one scope, whatever the values, and planning
                # a search anew takes as long as running it.
                await connection.execute(b"set plan_cache_mode = force_generic_plan")
                # A generic plan assumes a scope of average size: if a few scopes are large, it
                # would scan the whole table for any small one.
                await connection.execute(b"set enable_seqscan = off")
        except BaseException:
            await connection.close()
            raise
        direct: Connection = connection
        return direct

    async def _keep(self, connection: Connection) -> None:
        is_idle = connection.info.transaction_status is TransactionStatus.IDLE
        if is_idle and not self._is_closed:
            self._idle.append((connection, monotonic()))
            return
        # Cancelled or lost; if one is lost, the others usually are too.
        await connection.close()
        await self._close_idle()

    async def close(self) -> None:
        """Close idle connections now, and the others when they are returned."""
        self._is_closed = True
        await self._close_idle()

    async def _close_idle(self) -> None:
        closing, self._idle = self._idle, []
        for connection, _ in closing:
            await connection.close()


async def _run(statement: bytes, values: Sequence[Any], connection: Connection) -> Sequence[Row]:
    cursor = AsyncRawCursor(connection)
    await cursor.execute(statement, values, binary=True)
    return await cursor.fetchall()


async def _run_together(
    opening: Sequence[bytes], statements: Sequence[Statement], connection: Connection
) -> bool:
    cursors = [AsyncRawCursor(connection) for _ in statements]
    try:
        # The end of the block sends everything and then reads the results. `Pipeline.sync` would
        # wait for results while a large statement is still partly unsent, and so forever.
        async with connection.pipeline():
            for text in opening:
                await connection.execute(text, prepare=False)
            for cursor, (statement, values) in zip(cursors, statements, strict=True):
                await cursor.execute(statement, values, binary=True)
        is_done = all(cursor.rowcount for cursor in cursors)
        await connection.execute(b"commit" if is_done else b"rollback", prepare=False)
    except psycopg.Error as error:
        if not connection.closed:
            await connection.rollback()
        if isinstance(error, psycopg.IntegrityError):
            return False
        raise
    return is_done


async def _answers(connection: Connection) -> bool:
    """Return True if a connection is alive; close it otherwise."""
    try:
        await connection.execute(b"select")
    except psycopg.Error:
        await connection.close()
        return False
    except BaseException:
        await connection.close()
        raise
    return True
