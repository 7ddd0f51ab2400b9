"""Transactions: the only place that commits, and that turns database failures into errors.

A function that takes `session` takes part in its caller's transaction.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import psycopg
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, AsyncSession

from app.adapters.db.base import Base
from app.adapters.db.conditions import session_options
from app.adapters.db.engine import TRANSACTION_LIMIT, TransactionLimit
from app.adapters.db.errors import DatabaseErrors
from app.adapters.db.fence import Fence
from app.adapters.db.nodes import Nodes
from app.adapters.db.server import DatabaseServer, Row, Statement
from app.adapters.db.standby import Standby
from app.adapters.db.transaction_settings import limited, set_local
from app.kernel.auth import Caller, Conditions, all_meet, of_one
from app.kernel.clock import FixedClock
from app.kernel.guard import transaction_open

Session = AsyncSession
BeforeCommit = Callable[[Session], Awaitable[None]]
"""A step that runs last in a transaction, before the commit."""
Audit = Callable[[Mapping[str, str]], dict[str, Any]]
"""A function from the noted names of a change to its row of the audit log."""

AfterCommit = Callable[["Database"], Awaitable[None]]
"""A step that follows a commit, outside the transaction; it must not fail."""

_AFTER_COMMIT = "after_commit"
_CALLER = "caller"
_CLOCK = "clock"
_ENGINES = "engines"
_IS_DISTRIBUTED = "is_distributed"
_LONG_READS = "long_reads"
_NOTED = "noted"
_V = TypeVar("_V")


@dataclass(frozen=True)
class View:
    """A caller's view of the database.

    Attributes:
        engines: the engines within reach; None: all.
        caller: the id of the key; None: the service itself.
        before_commit: the last step of every transaction that may write.
        audit: the row that a single-statement transaction inserts with its change.
    """

    conditions: Conditions = field(default_factory=dict)
    engines: frozenset[int] | None = None
    caller: str | None = None
    before_commit: BeforeCommit | None = None
    audit: Audit | None = None


class Database:
    """Transactions on one Postgres database, with full visibility unless made `for_caller`.

    Attributes:
        fence: closed once the process may write no more.
        standby: answers reads of requests while the database is away; None: nothing does.
    """

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine
        self._view = View()
        self._clock: FixedClock | None = None
        self.fence = Fence()
        self.standby: Standby | None = None
        self.server = DatabaseServer(engine)
        self._errors = DatabaseErrors(self._is_standby)

    @property
    def is_distributed(self) -> bool:
        """True if the tables of tenants are spread over nodes, by engine."""
        return self.server.direct.is_distributed

    @is_distributed.setter
    def is_distributed(self, value: bool) -> None:
        self.server.direct.is_distributed = value
        if value:
            self.server.nodes.use()

    @property
    def nodes(self) -> Nodes:
        """The nodes of a distributed database; none on a single server."""
        return self.server.nodes

    def for_caller(
        self,
        caller: Caller,
        before_commit: BeforeCommit | None = None,
        audit: Audit | None = None,
    ) -> "Database":
        """Return the database with a caller's view; `audit` serves hot statements."""
        database = copy(self)
        reach = caller.reach
        view = View(reach.conditions, reach.engines, caller.key_id, before_commit, audit)
        database._view = view  # noqa: SLF001 - its own class
        return database

    def in_parts(self) -> "Database":
        """Return the database with the same caller's view, for the parts of a change.

        The audit log records the change in its last transaction, which has the service's own view.
        """
        database = copy(self)
        database._view = replace(self._view, before_commit=None, audit=None)  # noqa: SLF001 - its own class
        return database

    def of_service(self) -> "Database":
        """Return the database with the service's own view, whoever calls."""
        database = copy(self)
        database._view = View()  # noqa: SLF001 - its own class
        return database

    def at(self, clock: FixedClock) -> "Database":
        """Return the database with a clock in place of its own; for tests."""
        database = copy(self)
        database._clock = clock  # noqa: SLF001 - its own class
        return database

    def reaches(self, scope: Mapping[str, str]) -> bool:
        """Return True if the view includes the rows of a scope; otherwise it includes none."""
        return all_meet(of_one(scope), self._view.conditions)

    @asynccontextmanager
    async def transaction(self, *, writes_vectors: bool = True) -> AsyncIterator[Session]:
        """Open a transaction that commits when the block ends and rolls back if it raises.

        The server ends it after two minutes, unless the caller says that it writes no vectors: the
        vectors of a former model must not appear long after a switch (`find_with_stale_vectors`).

        Raises:
            Aborted: a concurrent transaction won, or the transaction took too long.
            Unavailable: the database cannot be reached, or the fence is closed.
            DeadlineExceeded: a statement ran too long.
        """
        self.check_writable()
        with self.server.pool_use.counted():
            async with self._begin(self.engine) as session:
                await self._limit(session, is_limited=writes_vectors)
                yield session
                if self._view.before_commit is not None:
                    await self._view.before_commit(session)
        for step in session.info.get(_AFTER_COMMIT, ()):
            await step(self)

    @asynccontextmanager
    async def snapshot(self, *, statement_seconds: float | None = None) -> AsyncIterator[Session]:
        """Open a read-only view of one moment; errors are as for `transaction`.

        `statement_seconds` limits each statement as in `limited`, or lifts all limits with 0.
        """
        async with (
            self._readable() as bind,
            self._begin(bind) as session,
            limited(session, statement_seconds),
        ):
            if statement_seconds == 0:
                await self._limit(session, is_limited=False)
            yield session

    async def read_all(self, read: Callable[[Session], Awaitable[_V]]) -> _V:
        """Return the result of a function that reads all engines, in a snapshot.

        On a distributed database it waits for every node, so it has few connections and two
        seconds. No request that names an engine may wait for it.

        Raises:
            Unavailable: the database or one of its nodes does not answer; and as `snapshot`.
        """

        async def reading() -> _V:
            async with self.snapshot() as session:
                if self.is_distributed:
                    # A node that hangs must not take the places of reads of one engine.
                    session.info[_LONG_READS] = nullcontext()
                return await read(session)

        return await (self.server.all_shards.run(reading) if self.is_distributed else reading())

    async def _limit(self, session: Session, *, is_limited: bool) -> None:
        """Limit the time of a transaction or not, where its connection does the opposite."""
        limit: TransactionLimit | None = self.engine.get_execution_options().get(TRANSACTION_LIMIT)
        if limit is not None and is_limited is not limit.is_default:
            milliseconds = limit.milliseconds if is_limited else 0
            await set_local(session, {"transaction_timeout": milliseconds})

    @asynccontextmanager
    async def _readable(self) -> AsyncIterator[AsyncEngine | AsyncConnection]:
        if self.standby is None:
            with self.server.pool_use.counted():
                yield self.server.reading
            return
        async with AsyncExitStack() as stack:
            async with self.translated_errors():
                connection = await self.standby.read(partial(_connected, stack))
            yield connection

    def check_writable(self) -> None:
        """Raise `Unavailable` if the fence is closed, or the primary is known to be away."""
        self.fence.check()
        if self.standby is not None:
            self.standby.check_primary()

    @property
    def is_primary_away(self) -> bool:
        """True while reads go to a standby, and nothing can be written."""
        return self.standby is not None and self.standby.is_primary_away

    @property
    def turn(self) -> int:
        """A number that changes when reads go to another server than before."""
        return 0 if self.standby is None else self.standby.turn

    @asynccontextmanager
    async def _begin(self, engine: AsyncEngine | AsyncConnection) -> AsyncIterator[Session]:
        conditions = self._view.conditions
        options = session_options(conditions)
        options["info"] |= {
            _CALLER: self._view.caller,
            _CLOCK: self._clock,
            _ENGINES: self._view.engines,
            _IS_DISTRIBUTED: self.is_distributed,
            _LONG_READS: self.server.long_reads,
        }
        with transaction_open(conditions, self._view.caller), self.nodes.watched():
            async with (
                self.translated_errors(),
                AsyncSession(engine, expire_on_commit=False, autoflush=False, **options) as session,
                session.begin(),
            ):
                yield session

    @asynccontextmanager
    async def translated_errors(self) -> AsyncIterator[None]:
        """Raise the errors meant for callers in place of the database's own, in the block."""
        try:
            yield
        except (SQLAlchemyError, psycopg.Error) as error:
            answer = await self._errors.translate(error)
            if answer is error:
                raise
            raise answer from error

    async def _is_standby(self) -> bool:
        try:
            async with self.engine.connect() as connection:
                result = await connection.execute(text("select pg_is_in_recovery()"))
                return bool(result.scalar_one())
        except SQLAlchemyError:
            return True

    @property
    def sees_all(self) -> bool:
        """True if the caller sees all scopes."""
        return not self._view.conditions

    @property
    def caller(self) -> str | None:
        """The id of the caller's key; None: the service itself."""
        return self._view.caller

    @property
    def audit(self) -> Audit | None:
        """The function that makes the audit row for a hot write; None for a change by no caller."""
        return self._view.audit

    def audit_within(self, scope: Mapping[str, str]) -> Audit | None:
        """Return the function that makes the audit row for a hot write in one scope.

        None if a hot write is not possible: the scope is out of reach, or the change has no caller.
        """
        return self._view.audit if self.reaches(scope) else None

    def reach(self, row: type[Base], alias: str) -> tuple[str, dict[str, Any]]:
        """Return the caller's condition on a table as SQL text, with its values."""
        where: tuple[str, dict[str, Any]] = row.conditioned_by.text(alias, self._view.conditions)  # type: ignore[attr-defined]  # only for such rows
        return where

    async def run(
        self,
        statement: bytes,
        values: Sequence[Any],
        *,
        is_change: bool = False,
        options: Sequence[bytes] = (),
    ) -> Sequence[Row]:
        """Send a hot statement directly, as its own transaction; return its rows.

        The statement itself contains the caller's conditions (`reach`). The rest is as for
        `DirectConnections.run`, with the errors of `transaction`.
        """
        if is_change:
            self.check_writable()
            options = options or self.server.direct.limit
        with transaction_open(self._view.conditions, self._view.caller), self.nodes.watched():
            async with self.translated_errors():
                if not is_change and self.standby is not None:
                    return await self.standby.read(
                        lambda server: server.direct.run(statement, values, options)
                    )
                return await self.server.direct.run(statement, values, options)

    async def run_together(self, statements: Sequence[Statement]) -> bool:
        """Send hot statements as `DirectConnections.run_together`; errors are as for `run`."""
        self.check_writable()
        with transaction_open(self._view.conditions, self._view.caller), self.nodes.watched():
            async with self.translated_errors():
                return await self.server.direct.run_together(statements)

    async def close(self) -> None:
        """Close every connection to the server; whoever opened a standby closes it."""
        await self.server.close()

    async def show_pool(self) -> None:
        """Update the metric of the connections in use."""
        self.server.pool_use.show(self.server.direct.waiting)


async def _connected(stack: AsyncExitStack, server: DatabaseServer) -> AsyncConnection:
    """Return a connection for a snapshot, which the stack closes."""
    async with AsyncExitStack() as opening:
        opening.enter_context(server.pool_use.counted())
        connection = await opening.enter_async_context(server.reading.connect())
        stack.push_async_exit(opening.pop_all())
    return connection


def caller_of(session: Session) -> str | None:
    """Return the id of the key that a session was opened for; None: no key."""
    key_id: str | None = session.info[_CALLER]
    return key_id


def reaches_engine(session: Session, engine_id: int) -> bool:
    """Return True if the session's caller reaches an engine that is not the engine of its path."""
    engines: frozenset[int] | None = session.info[_ENGINES]
    return engines is None or engine_id in engines


def clock_of(session: Session) -> FixedClock | None:
    """Return the clock that replaces the database's; None outside tests."""
    clock: FixedClock | None = session.info[_CLOCK]
    return clock


def is_distributed(session: Session) -> bool:
    """Return True if the tables of tenants are spread over nodes, by engine."""
    is_spread: bool = session.info[_IS_DISTRIBUTED]
    return is_spread


def long_read(session: Session) -> AbstractAsyncContextManager[None]:
    """Have a statement that may read much, in the block, wait until few others do."""
    places: AbstractAsyncContextManager[None] = session.info[_LONG_READS]
    return places


def after_commit(session: Session, step: AfterCommit) -> None:
    """Run a step after the commit of a transaction; not at all if it is rolled back."""
    session.info.setdefault(_AFTER_COMMIT, []).append(step)


def note(session: Session, **facts: str) -> None:
    """Note facts that are known only inside the transaction, for its last step.

    `resource` and `operation` are the names of what is created, `engine` the id of a created
    engine, `replayed` the request id of a repeated request, `read` the name of what the change read
    in another engine.
    """
    session.info[_NOTED] = {**noted(session), **facts}


def noted(session: Session) -> Mapping[str, str]:
    """Return the facts noted so far."""
    facts: Mapping[str, str] = session.info.get(_NOTED, {})
    return facts
