"""Transactions: the only place that commits, and that turns database failures into errors.

A function that takes `session` takes part in its caller's transaction.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import psycopg
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession

from app.adapters.db.base import Base
from app.adapters.db.conditions import session_options
from app.adapters.db.direct import DirectConnections, Row
from app.adapters.db.errors import DatabaseErrors, state_of
from app.adapters.db.fence import Fence
from app.adapters.db.pool import PoolUse
from app.kernel.auth import Caller, Conditions, all_meet
from app.kernel.clock import FixedClock
from app.kernel.errors import InvalidArgument
from app.kernel.guard import transaction_open

Session = AsyncSession
BeforeCommit = Callable[[Session], Awaitable[None]]
"""A step that runs last in a transaction, before the commit."""
Audit = Callable[[Mapping[str, str]], dict[str, Any]]
"""A function from the noted names of a change to its row of the audit log."""

_CALLER = "caller"
_CLOCK = "clock"
_NOTED = "noted"
_CLOSE_SECONDS = 2.0
_CLOSE_PAUSE_SECONDS = 0.005
_TOO_SLOW = "57014"


@dataclass(frozen=True)
class View:
    """A caller's view of the database.

    Attributes:
        conditions: the conditions on the scopes of visible and writable rows.
        caller: the id of the key; None: the service itself.
        before_commit: the last step of every transaction that may write.
        audit: the row that a single-statement transaction inserts beside its change.
    """

    conditions: Conditions = field(default_factory=dict)
    caller: str | None = None
    before_commit: BeforeCommit | None = None
    audit: Audit | None = None


class Database:
    """Transactions on one Postgres database, with full visibility unless made `for_caller`.

    Attributes:
        engine: the connections.
        fence: closed once the process may write no more.
        is_distributed: True if the tables of tenants are spread over nodes, by engine.
    """

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine
        self._view = View()
        self._clock: FixedClock | None = None
        self.fence = Fence()
        self.is_distributed = False
        self._direct = DirectConnections(engine)
        self._pool_use = PoolUse(engine)
        self._errors = DatabaseErrors(self._is_standby)
        self._reading = engine.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )

    def for_caller(
        self,
        caller: Caller,
        before_commit: BeforeCommit | None = None,
        audit: Audit | None = None,
    ) -> "Database":
        """Return the database with a caller's view, over the same connections.

        `before_commit` runs last in every transaction that may write; `audit` is its counterpart
        for a hot statement.
        """
        database = copy(self)
        database._view = View(caller.reach.conditions, caller.key_id, before_commit, audit)  # noqa: SLF001 - its own class
        return database

    def in_parts(self) -> "Database":
        """Return the database with the same caller's view, for the parts of a change.

        The audit log records the change in its last transaction, which has the service's own view.
        """
        database = copy(self)
        database._view = View(self._view.conditions, self._view.caller)  # noqa: SLF001 - its own class
        return database

    def at(self, clock: FixedClock) -> "Database":
        """Return the database with a clock in place of its own; for tests."""
        database = copy(self)
        database._clock = clock  # noqa: SLF001 - its own class
        return database

    def reaches(self, scope: Mapping[str, str]) -> bool:
        """Return True if the view may include rows of a scope.

        For searches in one scope: a search that can match nothing would take longest.
        """
        scopes = {key: [value] for key, value in scope.items()}
        return all_meet(scopes, self._view.conditions)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Session]:
        """Open a transaction that commits when the block ends and rolls back if it raises.

        Raises:
            Aborted: a concurrent transaction won.
            Unavailable: the database cannot be reached, or the fence is closed.
            DeadlineExceeded: a statement ran too long.
        """
        self.fence.check()
        async with self._begin(self.engine) as session:
            yield session
            if self._view.before_commit is not None:
                await self._view.before_commit(session)

    @asynccontextmanager
    async def snapshot(self, *, statement_seconds: float | None = None) -> AsyncIterator[Session]:
        """Open a read-only view of one moment; Postgres refuses writes in it.

        `statement_seconds` limits each statement as in `limited`; the errors are those of
        `transaction`.
        """
        async with self._begin(self._reading) as session, limited(session, statement_seconds):
            yield session

    @asynccontextmanager
    async def _begin(self, engine: AsyncEngine) -> AsyncIterator[Session]:
        conditions = self._view.conditions
        options = session_options(conditions)
        options["info"] |= {_CALLER: self._view.caller, _CLOCK: self._clock}
        with transaction_open(conditions, self._view.caller), self._pool_use.counted():
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
        """Return True if the server follows another, or cannot be asked."""
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
        """The function that returns the audit row for a hot write of the caller.

        None if hot writes are not possible with this view: the caller sees only a part, so inserted
        rows must be checked; or the change has no caller.
        """
        return None if self._view.conditions else self._view.audit

    def reach(self, row: type[Base], alias: str) -> tuple[str, dict[str, Any]]:
        """Return the caller's condition on a table as SQL text, with its values."""
        where: tuple[str, dict[str, Any]] = row.conditioned_by.text(alias, self._view.conditions)  # type: ignore[attr-defined]  # only for such rows
        return where

    async def run(
        self, statement: bytes, values: Sequence[Any], *, is_change: bool = False
    ) -> Sequence[Row]:
        """Send a hot statement directly, as its own transaction; return its rows.

        The statement itself contains the caller's conditions (`reach`). The errors are those of
        `transaction`.
        """
        if is_change:
            self.fence.check()
        with transaction_open(self._view.conditions, self._view.caller):
            async with self.translated_errors():
                return await self._direct.run(statement, values)

    async def close(self) -> None:
        """Close every connection, waiting a while for the transactions of those in use.

        Some write in the background, such as the last uses of keys.
        """
        await self._direct.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                # A pool does not report returned connections.
                while self._pool_use.in_use:  # noqa: ASYNC110 - as above
                    await asyncio.sleep(_CLOSE_PAUSE_SECONDS)
        await self.engine.dispose()

    async def show_pool(self) -> None:
        """Update the metric of the connections in use."""
        self._pool_use.show(self._direct.waiting)


def caller_of(session: Session) -> str | None:
    """Return the id of the key that a session was opened for; None: no key."""
    key_id: str | None = session.info[_CALLER]
    return key_id


def clock_of(session: Session) -> FixedClock | None:
    """Return the clock that replaces the database's; None outside tests."""
    clock: FixedClock | None = session.info[_CLOCK]
    return clock


def note(session: Session, **facts: str) -> None:
    """Note facts that are known only inside the transaction, for its last step.

    `resource` is the name of the created resource, `operation` that of the operation, `engine` the
    id of a created engine, `replayed` the request id of a repeated request.
    """
    session.info[_NOTED] = {**noted(session), **facts}


def noted(session: Session) -> Mapping[str, str]:
    """Return the facts noted so far."""
    facts: Mapping[str, str] = session.info.get(_NOTED, {})
    return facts


_ADVICE = {
    "filter": "the filter takes too long; use a simpler one, or add a comparison of create_time"
    " where that is a field."
}
_TOO_MANY = "too many entries must be looked at; narrow the list by this field."


@asynccontextmanager
async def limited(
    session: Session, seconds: float | None, field: str = "filter"
) -> AsyncIterator[None]:
    """Limit the time of each statement in the block, if a limit is given.

    For filters whose cost depends on the caller's text: those with a regular expression, and those
    that no index serves; and for lists that look at more than the conditions of a key leave. Such a
    statement must not wait for locks: a lock held by others is not the caller's error.

    Raises:
        InvalidArgument: a statement took longer; the error names `field`.
    """
    if seconds is None:
        yield
        return
    before = (await session.execute(text("select current_setting('statement_timeout')"))).scalar()
    await _set_timeout(session, f"{seconds * 1000:.0f}")
    try:
        yield
    except DBAPIError as error:
        if state_of(error.orig) != _TOO_SLOW:
            raise
        raise InvalidArgument.of_field(field, _ADVICE.get(field, _TOO_MANY)) from error
    await _set_timeout(session, str(before))


async def _set_timeout(session: Session, value: str) -> None:
    statement = text("select set_config('statement_timeout', :value, true)")
    await session.execute(statement, {"value": value})
