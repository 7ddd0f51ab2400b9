"""The nodes of a distributed database, as one process meets them: which of them are away.

A node that hangs ends no statement: the coordinator, asked to cancel one, waits for the node, too.
So nothing more is sent to it, and connections that wait for it are broken off. The pool stays free
for the engines of other nodes.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import Context, ContextVar
from time import monotonic

import psycopg
import structlog
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine

from app.adapters.concurrency import Shared, consume_exception, raise_if_cancelled
from app.adapters.db.engine import Connection, opener_of, shut_down
from app.adapters.db.errors import is_away, unavailable
from app.kernel.errors import describe

log = structlog.get_logger()

_SUSPECT_SECONDS = 0.25
"""Time of a transaction after which the nodes are asked whether they answer."""
_ANSWER_SECONDS = 0.35
"""Time in which a node answers, unless it is late."""
_MISSES = 2
"""Times in a row that a node is late before it counts as away."""
COORDINATOR_SECONDS = 5.0
"""Time limit for an answer of the coordinator."""
_FRESH_SECONDS = 1.0
"""Time for which an answer counts."""
_PAUSE_SECONDS = 0.5
"""Pause between two looks while a node is away."""
_STUCK_SECONDS = 0.7
"""Time of a transaction for an engine after which it is broken off, if the node is away."""
_LONG_SECONDS = 2.0
"""The same of a transaction that is for no one engine, which may wait for any node."""
_MAX_PLACES = 10_000
_HAS_NODES = b"select to_regclass('pg_dist_node') is not null"
_NODES = b"""
select nodename, nodeport from pg_dist_node
where noderole = 'primary' and groupid <> 0 and isactive
"""
# Beside all tables, whose locks others may hold for long.
_PROBE = b"""
select success from master_run_on_worker(array[%s], array[%s::int], array['select 1'], false)
"""
# The offset keeps the planner from computing the shard of each id for each placement.
_ENGINES_ON = b"""
select engine_id, nodename || ':' || nodeport
from (
    select engine_id, get_shard_id_for_distribution_column('engines', engine_id) as shardid
    from unnest(%s::bigint[]) as engine_id offset 0
) as known
join pg_dist_placement using (shardid)
join pg_dist_node using (groupid)
where noderole = 'primary'
"""

_engine: ContextVar[int | None] = ContextVar("engine_asked", default=None)


@contextmanager
def working_for(engine_id: int | None) -> Iterator[None]:
    """Have the connections taken in the block, and in tasks begun there, count for an engine."""
    before = _engine.set(engine_id)
    try:
        yield
    finally:
        _engine.reset(before)


class Nodes:
    """The nodes of the database of one process; `away` has those that did not answer last."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.away: frozenset[str] = frozenset()
        self._engine = engine
        self._is_used = False
        self._has_nodes = False
        self._uses: dict[Connection, tuple[int | None, float]] = {}
        """The engine of each use of a connection, if it has one, and the beginning of the use."""
        self._places: dict[int, str] = {}
        """The nodes of engines, as of the last look."""
        self._asking: set[Connection] = set()
        self._placing = asyncio.Lock()
        self._unplaced: set[int] = set()
        """Engines whose nodes the next question asks for."""
        self._probes: dict[str, asyncio.Task[bool]] = {}
        self._ending: set[asyncio.Task[bool]] = set()
        """Probes of removed nodes that still have to close their connections."""
        self._misses: Counter[str] = Counter()
        """The times in a row that each node was late."""
        self._is_sure = True
        """False if the nodes must be asked again, since the last look did not tell enough."""
        self._looked = -_FRESH_SECONDS
        self._looking = Shared(self._look)
        self._watching: asyncio.Task[None] | None = None

    def use(self) -> None:
        """Begin to watch the connections of the pool of a distributed database."""
        if not self._is_used:
            self._is_used = True
            pool = self._engine.sync_engine.pool
            event.listen(pool, "checkout", lambda one, *_: self.begin(one.driver_connection))
            # The record of a connection that was invalidated or detached has none any more.
            for name in ("checkin", "detach", "invalidate"):
                event.listen(
                    pool, name, lambda pooled, *_: self.end(pooled and pooled.driver_connection)
                )

    def begin(self, connection: Connection) -> None:
        """Note that a connection is used from now on."""
        if self._is_used:
            self._uses[connection] = _engine.get(), monotonic()

    def end(self, connection: Connection | None) -> None:
        """Note that a connection is not used any more."""
        if connection is not None:
            self._uses.pop(connection, None)

    async def enter(self, engine_id: int) -> None:
        """Note that the current request works for an engine; refuse it if its node is away."""
        if self._is_used:
            _engine.set(engine_id)
            await self.check(engine_id)

    async def check(self, engine_id: int) -> None:
        """Check that the node of an engine, made or not, answered last."""
        if await self.is_away(engine_id):
            raise unavailable()

    async def is_away(self, engine_id: int) -> bool:
        """Return True if the node of an engine, made or not, did not answer a second ago."""
        if self.away and engine_id not in self._places:
            self._unplaced.add(engine_id)
            # One question at a time, for all who wait: each takes a connection.
            async with self._placing:
                if engine_id in self._unplaced:
                    asked, self._unplaced = self._unplaced, set()
                    self._places |= await self._places_of(asked)
        return bool(self.away) and self._places.get(engine_id) in self.away

    async def has_lost(self, engine_id: int) -> bool:
        """Return True if the node of an engine, made or not, does not answer now."""
        return await self.is_away(engine_id) or (
            bool(await self.look(age_seconds=0)) and await self.is_away(engine_id)
        )

    async def reached(self, engine_ids: Sequence[int]) -> Sequence[int]:
        """Return the ids of engines, made or not, whose nodes answered last."""
        if not self.away:
            return engine_ids
        places = self._places = {**self._places, **await self._places_of(engine_ids)}
        return [engine for engine in engine_ids if places.get(engine) not in self.away]

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Have the nodes asked whether they answer, if the block takes long."""
        if not self._is_used:
            yield
            return
        loop = asyncio.get_running_loop()
        suspecting = loop.call_later(_SUSPECT_SECONDS, self._watch, context=Context())
        try:
            yield
        finally:
            suspecting.cancel()

    async def look(self, age_seconds: float = _FRESH_SECONDS) -> frozenset[str]:
        """Return the addresses of the nodes that do not answer; the answers may have an age."""
        if self._is_used and monotonic() - self._looked >= age_seconds:
            # In the name of no request, and in no transaction.
            await asyncio.create_task(self._looking.result(), context=Context())
        return self.away

    async def close(self) -> None:
        """Ask no more."""
        # A probe that waits for a node does not end when it is cancelled.
        for connection in self._asking:
            shut_down(connection)
        watching = [self._watching] if self._watching else []
        tasks = [*self._probes.values(), *self._ending, *watching]
        for task in tasks:
            task.cancel()
        await asyncio.gather(self._looking.stop(), *tasks, return_exceptions=True)

    def _watch(self) -> None:
        # A look under way, or of a moment ago, does not tell.
        self._is_sure = False
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._keep_looking())
            self._watching.add_done_callback(consume_exception)

    async def _keep_looking(self) -> None:
        while True:
            try:
                if not await self.look(_PAUSE_SECONDS) and self._is_sure:
                    return
            except Exception as error:  # noqa: BLE001 - without it, nothing would be broken off
                raise_if_cancelled()
                log.warning("database.nodes_not_asked", error=describe(error))
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _look(self) -> None:
        away, self._is_sure = self.away, True
        try:
            async with self._connected(COORDINATOR_SECONDS) as coordinator:
                away = await self._ask_nodes(await self._list(coordinator), coordinator)
        except psycopg.Error:
            away = frozenset()  # So is the coordinator, and with it all nodes.
        except TimeoutError:
            self._is_sure = False
        if away != self.away:
            log.warning("database.nodes_away", nodes=sorted(away))
        self.away, self._looked = away, monotonic()
        self._places = await self._places_of(self._known()) if away else {}
        if away:
            self._break_off()
        if away or not self._is_sure:
            self._watch()

    async def _ask_nodes(
        self, nodes: Mapping[str, tuple[str, int]], coordinator: Connection
    ) -> frozenset[str]:
        """Return the nodes that cannot be reached, or were late twice in a row."""
        await self._begin_probes(nodes)
        # One that is known to be away is not waited for.
        asked = [self._probes[node] for node in nodes if self._misses[node] < _MISSES]
        for _ in range(_MISSES):
            control = asyncio.create_task(coordinator.execute(b"select 1"))
            control.add_done_callback(consume_exception)
            await asyncio.wait([control, *asked], timeout=_ANSWER_SECONDS)
            if not control.done():
                shut_down(coordinator)
                raise TimeoutError
            for node in nodes:
                probe = self._probes[node]
                self._misses[node] += 1
                if probe.done():
                    self._misses[node] = 0 if probe.result() else _MISSES
            if not any(0 < self._misses[node] < _MISSES for node in nodes):
                break
        return frozenset(node for node in nodes if self._misses[node])

    async def _begin_probes(self, nodes: Mapping[str, tuple[str, int]]) -> None:
        """Ask each node, but for those that still owe an answer; return once they are asked."""
        for gone in self._probes.keys() - nodes.keys():
            ending = self._probes.pop(gone)
            ending.cancel()
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)
        begun: list[asyncio.Event] = []
        for node, (host, port) in nodes.items():
            if node not in self._probes or self._probes[node].done():
                begun.append(asyncio.Event())
                self._misses[node] = 0
                self._probes[node] = asyncio.create_task(self._answers(host, port, begun[-1]))
        for each in begun:
            await each.wait()

    def _known(self) -> set[int]:
        """Return the engines whose nodes are worth knowing while one is away."""
        used = {engine for engine, _ in self._uses.values() if engine is not None}
        return used | self._places.keys() if len(self._places) < _MAX_PLACES else used

    def _break_off(self) -> None:
        """Break off the connections that have waited long for a node which is away."""
        now = monotonic()
        for connection, (engine, since) in list(self._uses.items()):
            is_away = engine is None or self._places.get(engine) in self.away
            most = _LONG_SECONDS if engine is None else _STUCK_SECONDS
            if connection.closed:
                del self._uses[connection]
            elif is_away and now - since > most:
                shut_down(connection)

    async def _list(self, coordinator: Connection) -> dict[str, tuple[str, int]]:
        if not self._has_nodes:
            looked = await coordinator.execute(_HAS_NODES)
            self._has_nodes = await looked.fetchone() == (True,)
        nodes = await (await coordinator.execute(_NODES)).fetchall() if self._has_nodes else []
        return {f"{host}:{port}": (host, port) for host, port in nodes}

    async def _places_of(self, engine_ids: Collection[int]) -> dict[int, str]:
        """Return the nodes of engines; nothing while the coordinator does not answer."""
        try:
            async with self._connected(COORDINATOR_SECONDS) as connection:
                result = await connection.execute(_ENGINES_ON, [list(engine_ids)])
                return dict(await result.fetchall())
        except (psycopg.Error, TimeoutError):
            return {}

    async def _answers(self, host: str, port: int, begun: asyncio.Event) -> bool:
        try:
            async with self._connected() as connection:
                begun.set()
                try:
                    result = await connection.execute(_PROBE, [host, port])
                    return await result.fetchone() == (True,)
                except psycopg.Error as error:
                    return connection.broken or not is_away(error)
        except (psycopg.Error, TimeoutError):
            return True
        finally:
            begun.set()

    @asynccontextmanager
    async def _connected(self, seconds: float | None = None) -> AsyncIterator[Connection]:
        """Open a connection beside the pool, which may be used up; it may have a time limit."""
        async with asyncio.timeout(COORDINATOR_SECONDS):
            connection = await opener_of(self._engine).open()
        self._asking.add(connection)
        loop = asyncio.get_running_loop()
        # Not a cancellation, with which the driver asks the server to end the statement.
        ending = None if seconds is None else loop.call_later(seconds, shut_down, connection)
        try:
            await connection.set_autocommit(True)
            yield connection
        finally:
            if ending is not None:
                ending.cancel()
            self._asking.discard(connection)
            await connection.close()
