"""The connections of a process to one server: the pool's use, hot statements, all shards.

A session takes 0.4 ms of CPU for a statement that the driver sends in 0.05. So the few statements
of the most frequent requests bypass it, on connections opened and given up by the pool. Each call
is one transaction.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from time import monotonic
from typing import Any, TypeVar

import psycopg
from prometheus_client import Gauge
from psycopg import AsyncRawCursor
from psycopg.pq import TransactionStatus
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.pool import QueuePool

from app.adapters.concurrency import consume_exception
from app.adapters.db.engine import TRANSACTION_LIMIT, Connection, is_fresh
from app.adapters.db.errors import meets_split, unavailable
from app.adapters.db.nodes import Nodes, working_for
from app.adapters.db.statistics import TableStatistics

PLACES = 2
"""Most concurrent statements; a node that hangs occupies no more connections."""
SECONDS = 2.0
"""Time limit for each statement, including its wait for a place."""
_V = TypeVar("_V")
_CONNECTIONS = Gauge(
    "memory_bank_database_pool_connections",
    "Connections of the pool that are in use or idle, and transactions waiting for one.",
    ["state"],
)
_CLOSE_SECONDS = 2.0
_CLOSE_PAUSE_SECONDS = 0.005
_LONG_READS = 2
"""Long reads at a time, so that short ones of others find a core, here and in Postgres."""
MAX_CONNECTIONS = 10
_SPLIT_PAUSES_SECONDS = (0.05, 0.2)
Row = tuple[Any, ...]
Statement = tuple[bytes, Sequence[Any]]
"""The text of a statement, and its values in the order of their numbers."""
_Result = TypeVar("_Result")


class AllShards:
    """The limit for concurrent statements over all shards in one process."""

    def __init__(self) -> None:
        self._places = asyncio.Semaphore(PLACES)
        self._running: set[asyncio.Task[Any]] = set()

    async def run(self, work: Callable[[], Awaitable[_V]]) -> _V:
        """Return the result of work that takes one place; `Unavailable` if a node is late."""
        with working_for(None):
            task = asyncio.create_task(self._placed(work))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        task.add_done_callback(consume_exception)
        try:
            await asyncio.wait({task}, timeout=SECONDS)
        finally:
            # Not awaited: a node that hangs does not take the driver's cancellation, for which it
            # waits ten seconds. Until then the place and the connection stay occupied.
            task.cancel()
        if not task.done():
            raise unavailable()
        return task.result()

    async def _placed(self, work: Callable[[], Awaitable[_V]]) -> _V:
        async with self._places:
            return await work()


class PoolUse:
    """The use of one pool by the transactions of this process."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._open = 0

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count the block as a transaction; its first statement takes a connection."""
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1

    @property
    def in_use(self) -> int:
        """The number of connections in use."""
        pool = self._engine.pool
        return pool.checkedout() if isinstance(pool, QueuePool) else 0

    def show(self, waiting: int) -> None:
        """Update the metric; `waiting` statements wait for a direct connection."""
        pool, in_use = self._engine.pool, self.in_use
        idle = pool.checkedin() if isinstance(pool, QueuePool) else 0
        _CONNECTIONS.labels("in use").set(in_use)
        _CONNECTIONS.labels("idle").set(idle)
        _CONNECTIONS.labels("waiting").set(max(0, self._open - in_use) + waiting)


class DatabaseServer:
    """One server as a process reaches it.

    Attributes:
        reading: the same pool, for snapshots.
        all_shards: the places of statements over all shards of a distributed database.
        long_reads: the places of statements that read much for a page, or ask how much that is.
    """

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine
        self.reading = engine.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )
        self.nodes = Nodes(engine)
        self.direct = DirectConnections(engine, self.nodes)
        self.pool_use = PoolUse(engine)
        self.all_shards = AllShards()
        self.long_reads = asyncio.Semaphore(_LONG_READS)
        self.statistics = TableStatistics(engine)

    async def close(self) -> None:
        """Close every connection, waiting a while for the transactions of those in use."""
        await self.statistics.close()
        await self.nodes.close()
        await self.direct.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                # A pool does not report returned connections.
                while self.pool_use.in_use:  # noqa: ASYNC110 - as above
                    await asyncio.sleep(_CLOSE_PAUSE_SECONDS)
        await self.engine.dispose()


# Its warnings about a pipeline that fails may quote the row.
logging.getLogger("psycopg").setLevel(logging.CRITICAL)


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

    async def run(
        self, statement: bytes, values: Sequence[Any], options: Sequence[bytes] = ()
    ) -> Sequence[Row]:
        """Send a statement that returns rows, commit it, and return the rows.

        It is sent again where a shard has just been split. Values are numbered, as `$1`; the rows
        come in binary form, which is faster on both sides. `options` are statements that change
        settings of the transaction.

        Raises:
            psycopg.Error: raised by the driver.
            sqlalchemy.exc.DBAPIError: no connection can be opened.
            sqlalchemy.exc.TimeoutError: no connection becomes free in time.
        """
        if options:
            return await self._repeat(partial(_run_with, options, statement, values))
        return await self._repeat(partial(_run, statement, values))

    @cached_property
    def limit(self) -> Sequence[bytes]:
        """The statement that limits the time of a change, where its connection does not."""
        limit = self._engine.get_execution_options().get(TRANSACTION_LIMIT)
        if limit is None or limit.is_default:
            return ()
        return (f"set local transaction_timeout = {limit.milliseconds}".encode(),)

    async def run_together(self, statements: Sequence[Statement]) -> bool:
        """Send statements together, as one transaction; return True if it is committed.

        It is rolled back if a statement finds or changes no row, or breaks a constraint. Otherwise
        as `run`.
        """
        opening = [b"begin", *self.limit]
        return await self._repeat(partial(_run_together, opening, statements))

    async def _repeat(self, send: Callable[[Connection], Awaitable[_Result]]) -> _Result:
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
            if is_fresh(connection, used) or await _answers(connection):
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
                # Hot statements select by a key or by one scope, whatever the values. To plan
                # each search would take as long as to run it.
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


async def _run_with(
    options: Sequence[bytes], statement: bytes, values: Sequence[Any], connection: Connection
) -> Sequence[Row]:
    cursor = AsyncRawCursor(connection)
    try:
        async with connection.pipeline():
            await connection.execute(b"begin", prepare=False)
            for option in options:
                await connection.execute(option, prepare=False)
            await cursor.execute(statement, values, binary=True)
            await connection.execute(b"commit", prepare=False)
    except psycopg.Error:
        if not connection.closed:
            await connection.rollback()
        raise
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
    try:
        await connection.execute(b"select")
    except psycopg.Error:
        await connection.close()
        return False
    except BaseException:
        await connection.close()
        raise
    return True
