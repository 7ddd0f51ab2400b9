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
from sqlalchemy.pool import QueuePool

from app.adapters.db.base import Base
from app.adapters.db.conditions import session_options
from app.adapters.db.direct import DirectConnections, Row
from app.adapters.db.errors import DatabaseErrors, state_of
from app.kernel.auth import Caller, Conditions, all_meet
from app.kernel.clock import FixedClock
from app.kernel.errors import InvalidArgument
from app.kernel.guard import transaction_open

Session = AsyncSession
BeforeCommit = Callable[[Session], Awaitable[None]]
"""Takes part in a transaction as the last thing that does."""
Audit = Callable[[Mapping[str, str]], dict[str, Any]]
"""Returns the row of the audit log for a change, of which the names are told that it made."""

_CALLER = "caller"
_CLOCK = "clock"
_NOTED = "noted"
_CLOSE_SECONDS = 2.0
_CLOSE_PAUSE_SECONDS = 0.005
_TOO_SLOW = "57014"


@dataclass(frozen=True)
class View:
    """Through whose eyes a database is seen.

    Attributes:
        conditions: what the scopes must meet whose rows can be seen and written.
        caller: the id of the key; None: the service itself.
        before_commit: ends every transaction that may write.
        audit: what a statement that is a transaction of its own has to insert beside its change.
    """

    conditions: Conditions = field(default_factory=dict)
    caller: str | None = None
    before_commit: BeforeCommit | None = None
    audit: Audit | None = None


class Database:
    """Opens transactions on one Postgres database. Shows everything, unless made `for_caller`."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine
        self._view = View()
        self._clock: FixedClock | None = None
        self._direct = DirectConnections(engine)
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
        """Return the database as a caller sees it, over the same connections.

        `before_commit` ends every transaction that may write; `audit` is what it would do, for a
        hot statement.
        """
        found = copy(self)
        found._view = View(caller.reach.conditions, caller.key_id, before_commit, audit)  # noqa: SLF001 - its own class
        return found

    def in_parts(self) -> "Database":
        """Return the database as the same caller sees it, for the parts of a change.

        The log is told of the change by the transaction that ends it, of the service's own view.
        """
        found = copy(self)
        found._view = View(self._view.conditions, self._view.caller)  # noqa: SLF001 - its own class
        return found

    def at(self, clock: FixedClock) -> "Database":
        """Return the database with a clock that stands for its own; for tests."""
        found = copy(self)
        found._clock = clock  # noqa: SLF001 - its own class
        return found

    def reaches(self, scope: Mapping[str, str]) -> bool:
        """Say whether there can be anything of a scope to be seen.

        For searches in one scope: those that can find nothing would look for longest.
        """
        scopes = {key: [value] for key, value in scope.items()}
        return all_meet(scopes, self._view.conditions)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Session]:
        """Open a transaction that commits when the block ends and rolls back if it raises.

        Raises:
            Aborted: a concurrent transaction won.
            Unavailable: the database cannot be reached.
            DeadlineExceeded: a statement ran too long.
        """
        async with self._begun(self.engine) as session:
            yield session
            if self._view.before_commit is not None:
                await self._view.before_commit(session)

    @asynccontextmanager
    async def snapshot(self, *, statement_seconds: float | None = None) -> AsyncIterator[Session]:
        """Open a read-only view of one moment; Postgres refuses a write in it.

        `statement_seconds` is as in `limited`, for all of the block; the errors are as those of
        `transaction`.
        """
        async with self._begun(self._reading) as session, limited(session, statement_seconds):
            yield session

    @asynccontextmanager
    async def _begun(self, engine: AsyncEngine) -> AsyncIterator[Session]:
        conditions = self._view.conditions
        options = session_options(conditions)
        options["info"] |= {_CALLER: self._view.caller, _CLOCK: self._clock}
        with transaction_open(conditions, self._view.caller):
            async with (
                self._errors_told(),
                AsyncSession(engine, expire_on_commit=False, autoflush=False, **options) as session,
                session.begin(),
            ):
                yield session

    @asynccontextmanager
    async def _errors_told(self) -> AsyncIterator[None]:
        """Raise what callers are meant to see in place of the database's own errors."""
        try:
            yield
        except (SQLAlchemyError, psycopg.Error) as error:
            found = await self._errors.told(error)
            if found is error:
                raise
            raise found from error

    async def _is_standby(self) -> bool:
        """Ask whether the server follows another; one that cannot be asked may do so."""
        try:
            async with self.engine.connect() as connection:
                found = await connection.execute(text("select pg_is_in_recovery()"))
                return bool(found.scalar_one())
        except SQLAlchemyError:
            return True

    @property
    def sees_all(self) -> bool:
        """Whether the caller sees all scopes."""
        return not self._view.conditions

    @property
    def audit(self) -> Audit | None:
        """What returns the row of the audit log for a hot write of the caller.

        None where hot writes are not for this view: the caller sees a part only, and what is
        inserted has to be checked; or nobody has asked for the change.
        """
        return None if self._view.conditions else self._view.audit

    def reach(self, row: type[Base], alias: str) -> tuple[str, dict[str, Any]]:
        """Return the condition of the caller on a table in a text, and the values of that."""
        found: tuple[str, dict[str, Any]] = row.conditioned_by.text(alias, self._view.conditions)  # type: ignore[attr-defined]  # only for such rows
        return found

    async def run(
        self, statement: bytes, values: Mapping[str, Any] | Sequence[Any]
    ) -> Sequence[Row]:
        """Send one hot statement past the session, as a transaction of its own; return its rows.

        The statement itself holds the conditions of the caller (`reach`). Errors are as those of
        `transaction`.
        """
        with transaction_open(self._view.conditions, self._view.caller):
            async with self._errors_told():
                return await self._direct.run(statement, values)

    async def close(self) -> None:
        """Close every connection; of one that is in use, wait a while for its transaction to end.

        Some write beside the requests, such as the uses of keys.
        """
        await self._direct.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                # Of a connection that comes back, a pool tells nobody.
                while self._is_in_use:  # noqa: ASYNC110 - as above
                    await asyncio.sleep(_CLOSE_PAUSE_SECONDS)
        await self.engine.dispose()

    @property
    def _is_in_use(self) -> bool:
        pool = self.engine.pool
        return isinstance(pool, QueuePool) and pool.checkedout() > 0


def caller_of(session: Session) -> str | None:
    """Return the id of the key for whose request a session was opened; None: for none."""
    found: str | None = session.info[_CALLER]
    return found


def clock_of(session: Session) -> FixedClock | None:
    """Return the clock that stands for the database's; None: its own, as ever outside tests."""
    found: FixedClock | None = session.info[_CLOCK]
    return found


def note(session: Session, **facts: str) -> None:
    """Leave word, for what ends the transaction, of what is only known inside it.

    `resource` is the name of what was created, `operation` that of the operation, `engine` the id
    of an engine that was created, `replayed` the request id under which all was done before.
    """
    session.info[_NOTED] = {**noted(session), **facts}


def noted(session: Session) -> Mapping[str, str]:
    """Return what was left word of."""
    found: Mapping[str, str] = session.info.get(_NOTED, {})
    return found


@asynccontextmanager
async def limited(session: Session, seconds: float | None) -> AsyncIterator[None]:
    """Bound the run of each statement in the block, if a limit is given.

    For filters with a regular expression, whose cost the caller's text decides. Such a statement
    must wait for no lock: that others hold one is not the caller's error.

    Raises:
        InvalidArgument: a statement ran longer.
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
        message = "the filter takes too long; use a simpler one."
        raise InvalidArgument.of_field("filter", message) from error
    await _set_timeout(session, str(before))


async def _set_timeout(session: Session, value: str) -> None:
    statement = text("select set_config('statement_timeout', :value, true)")
    await session.execute(statement, {"value": value})
