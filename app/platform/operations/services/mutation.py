"""The frames of a request's change: one transaction, one locked engine, done once.

`mutate` is for changes that an operation answers, `write` for all others. Some changes take several
transactions, or their engine may be gone: exports, restores, imports, ingestion, retries, erasures,
and the deletion of engines. They call `begin`, `finish` and `seen` of
`app/platform/operations/store/idempotency.py` themselves.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from app.adapters.db.session import Database, Session, note
from app.kernel.auth import Scopes, of_one
from app.kernel.changes import IdempotencyKey
from app.kernel.clock import Clock
from app.kernel.names import EngineName
from app.platform.operations.store import idempotency, leases, repository
from app.platform.operations.store.idempotency import Replayed
from app.platform.operations.store.repository import NewOperation
from app.platform.operations.store.tables import OperationRow
from app.settings.settings import Settings


class _Engine(Protocol):
    """The row of an engine."""

    @property
    def project(self) -> Any: ...  # noqa: ANN401 - a column, or its value
    @property
    def location(self) -> Any: ...  # noqa: ANN401
    @property
    def engine_id(self) -> Any: ...  # noqa: ANN401


class UnlockedEngine(NamedTuple):
    """The name of an engine that need not exist."""

    project: str
    location: str
    engine_id: int


Row = TypeVar("Row", bound=_Engine)
_Inserted = TypeVar("_Inserted", OperationRow, NewOperation)


class Method(NamedTuple):
    """A method that changes something, and the kind of its operation.

    Without an engine in the request (`names_engine`), its id is unique over the service.
    """

    kind: str
    name: str
    names_engine: bool = True


class _Parts(Protocol):
    """A service, or the process's resources."""

    @property
    def db(self) -> Database: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def settings(self) -> Settings: ...


@dataclass
class Write(Generic[Row]):
    """A change under way that no operation answers; if `replayed` is set, write nothing."""

    session: Session
    engine: Row
    now: datetime
    replayed: Replayed | None
    _once: IdempotencyKey | None

    async def answer(self, answer: Mapping[str, Any]) -> None:
        """Store the answer for repetitions of the request."""
        assert self.replayed is None, "a repetition writes nothing"
        engine_id = self.engine.engine_id
        await idempotency.finish(self.session, self._once, engine_id, answer=answer)


@dataclass
class Mutation(Generic[Row]):
    """A change under way that `operation` will answer; if `replayed` is set, write nothing."""

    session: Session
    engine: Row
    operation: NewOperation
    replayed: OperationRow | None
    _once: IdempotencyKey | None
    _within: int
    """The engine within which the request's id is unique."""
    _begun: NewOperation
    _max_queued: int | None
    _is_reserved: bool = False
    _is_answered: bool = False

    def concerns(self, scope: Mapping[str, str]) -> None:
        """Set the only scope that the change concerns."""
        self.within(of_one(scope))

    def within(self, scopes: Scopes | None) -> None:
        """Set the scopes that the change concerns; None: possibly any."""
        assert self.replayed is None, "a repetition writes nothing"
        assert not self._is_reserved, "the id is in use"
        self.operation = self.operation.within(scopes)

    def note(self, **details: object) -> None:
        """Add to the operation's metadata."""
        self.operation = self.operation.noting(**details)

    async def check_queue(self) -> None:
        """Raise ResourceExhausted unless the engine may have one more waiting operation."""
        await leases.check_queue(self.session, self.operation.engine_id, self._max_queued)

    async def reserved(self) -> NewOperation:
        """Insert the operation and return it, for effects that refer to it; `done` follows."""
        assert self.replayed is None, "a repetition writes nothing"
        self.operation = await repository.reserve(self.session, self.operation)
        self._is_reserved = True
        return await self._record(self.operation)

    async def done(self, response: dict[str, Any]) -> OperationRow:
        """Answer with an operation that is done."""
        self._answer()
        if self._is_reserved:
            return await repository.complete(self.session, self.operation, response)
        return await self._record(
            await repository.insert_done(self.session, self.operation, response)
        )

    async def queue(self, key: str | None, request: dict[str, Any]) -> OperationRow:
        """Answer with an operation for a worker; operations with one key run one after another."""
        self._answer()
        queued = self.operation.queued(key, request)
        return await insert_queued(
            self.session, self._once, self._within, begun=self._begun, operation=queued
        )

    def check_answered(self) -> None:
        """Check that the request has exactly one answer."""
        assert self._is_answered is (self.replayed is None), "neither done nor queued"

    async def _record(self, inserted: _Inserted) -> _Inserted:
        await idempotency.finish(
            self.session, self._once, self._within, begun=self._begun, inserted=inserted
        )
        return inserted

    def _answer(self) -> None:
        assert self.replayed is None, "a repetition writes nothing"
        assert not self._is_answered, "answered twice"
        self._is_answered = True


async def insert_queued(
    session: Session,
    once: IdempotencyKey | None,
    within: int,
    *,
    begun: NewOperation,
    operation: NewOperation,
) -> OperationRow:
    """Insert a waiting operation, and store it as the answer of a request that is begun."""
    row = await repository.insert(session, operation)
    await idempotency.finish(session, once, within, begun=begun, inserted=row)
    return row


def unlocked(name: EngineName) -> Callable[[Session], Awaitable[UnlockedEngine]]:
    """Return the function that locks no engine, since it may be gone or not exist yet."""

    async def lock(_: Session) -> UnlockedEngine:
        return UnlockedEngine(name.project, name.location, name.engine)

    return lock


@asynccontextmanager
async def write(
    parts: _Parts,
    lock: Callable[[Session], Awaitable[Row]],
    once: IdempotencyKey | None,
    *,
    now: datetime | None = None,
) -> AsyncIterator[Write[Row]]:
    """Open the transaction of a change without an operation.

    If the same request was done before, `replayed` is set: the block then reads its answer again.
    `lock` reads and locks the engine; `now` defaults to the time after that.

    Raises:
        AlreadyExists: the request's id was used with another request.
    """
    async with parts.db.transaction() as session:
        engine = await lock(session)
        moment = parts.clock.now() if now is None else now
        replayed = await idempotency.begin(session, once, engine.engine_id, moment)
        if replayed is not None:
            note(session, replayed=replayed.record.request_id)
        yield Write(session, engine, moment, replayed, once)


@asynccontextmanager
async def mutate(
    parts: _Parts,
    lock: Callable[[Session], Awaitable[Row]],
    method: Method,
    once: IdempotencyKey | None,
    *,
    scopes: Scopes | None = None,
    details: Mapping[str, Any] | None = None,
    writes_vectors: bool = True,
    now: datetime | None = None,
) -> AsyncIterator[Mutation[Row]]:
    """Open the transaction of a change, and check whether the same request was done before.

    If so, `replayed` has its operation, which the block returns. Otherwise the block ends with
    `done` or `queue`, whose operation is committed together with its effects. `scopes` are given
    here if known from the start; `writes_vectors` is as for `Database.transaction`; the rest is as
    for `write`.

    Raises:
        AlreadyExists: the request's id was used with another request.
        NotFound: the operation that answered the same request is no longer kept.
    """
    async with parts.db.transaction(writes_vectors=writes_vectors) as session:
        engine = await lock(session)
        name = EngineName(engine.project, engine.location, engine.engine_id)
        keep = parts.settings.operation_retention
        moment = parts.clock.now() if now is None else now
        new = NewOperation.of(name, method.kind, method.name, moment, keep)
        new = new.noting(**(details or {}))
        new = new if scopes is None else new.within(scopes)
        within = engine.engine_id if method.names_engine else idempotency.NO_ENGINE
        known = await idempotency.begin(session, once, within, moment, operation=new)
        replayed = None if known is None else await known.operation(session, name, moment)
        most = parts.settings.engine_max_queued_operations
        change = Mutation(session, engine, new, replayed, once, within, new, most)
        yield change
        change.check_answered()
