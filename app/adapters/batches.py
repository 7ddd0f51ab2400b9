"""Work in batches of one transaction each, in which a failed row does not stop the others.

A failed batch is repeated row by row, with a savepoint for each row. This process's searches then
exclude a failed row for an hour; otherwise failed rows could fill every batch. An error of the
database itself ends the work until its next turn.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from time import monotonic
from typing import Generic

import structlog
from prometheus_client import Counter
from sqlalchemy.exc import DBAPIError

from app.adapters.db.errors import meets_taken_key, state_of
from app.adapters.db.nodes import working_for
from app.adapters.db.session import Session
from app.adapters.db.spread import (
    Changed,
    ChangeKeys,
    FindRows,
    Key,
    RemoveSelected,
    RowSearch,
    SelectRows,
    find_keys,
    name_of,
)
from app.adapters.resources import Resources, Sweep
from app.kernel.errors import Aborted, DeadlineExceeded, ServiceError, Unavailable

log = structlog.get_logger()

_FAILED = Counter(
    "memory_bank_sweep_failed_rows_total",
    "Rows at which periodic work of this process failed; each is left out for an hour.",
    ["what"],
)
_REST = 0.5
"""Pause after a batch, as a fraction of the batch's duration."""
_LEFT_OUT_FOR = timedelta(hours=1)
_MOST_OF_ENGINE = 1_000
"""Most excluded rows of one engine; beyond it, the work excludes the whole engine instead."""
_MOST = 10_000
"""Most excluded rows of one kind of work; beyond it, the whole engine of a new row is excluded."""
_MOST_SLOW = 3
"""Number of rows that hit the database's time limit before the work ends."""
_SAVEPOINTS = 50
"""Most savepoints in a transaction; with more than 64, Postgres slows down other readers."""


def spread(name: str, find: FindRows, change: ChangeKeys[int], order: int = 0) -> Sweep:
    """Return a sweep that finds rows of all engines and changes them engine by engine."""
    return swept(name, lambda batches: batches.spread(find, change), order)


def batched(name: str, select: SelectRows, remove: RemoveSelected) -> Sweep:
    """Return a sweep that removes the selected rows of all engines in one statement."""
    return swept(name, lambda batches: batches.remove(select, remove))


def swept(name: str, work: "Callable[[SweepBatches], Awaitable[int]]", order: int = 0) -> Sweep:
    """Return a sweep with a name; its work returns the number of rows."""
    return Sweep(name, lambda resources: work(SweepBatches(resources, name)), order)


@dataclass
class _LeftOut:
    """The rows that recently failed in this process, by kind of work."""

    until: dict[str, dict[Key, datetime]] = field(default_factory=dict)

    @classmethod
    def of(cls, resources: Resources) -> "_LeftOut":
        left_out: _LeftOut = resources.kept.setdefault(cls, cls())
        return left_out

    def add(self, what: str, key: Key, now: datetime) -> None:
        rows = self.until.setdefault(what, {})
        if key[:1] in rows:
            return
        rows[key] = now + _LEFT_OUT_FOR
        theirs = [other for other in rows if other[0] == key[0]]
        if len(theirs) > _MOST_OF_ENGINE or len(rows) > _MOST:
            for other in theirs:
                del rows[other]
            rows[key[:1]] = now + _LEFT_OUT_FOR
            log.warning("sweep.engine_left_out", what=what, row=name_of(key[:1]))

    def keys(self, what: str, now: datetime) -> Collection[Key]:
        """Return the keys that are still excluded: keys of rows, or one-part keys of engines."""
        rows = {key: until for key, until in self.until.get(what, {}).items() if until > now}
        self.until[what] = rows
        return rows


@dataclass(frozen=True)
class Round(Generic[Changed]):
    """The result of one search: the number of rows found, and groups of keys with their changes."""

    found: int
    changed: Sequence[tuple[Sequence[Key], Changed]]


@dataclass(frozen=True)
class SweepBatches:
    """The batches of one kind of periodic work, with its name."""

    resources: Resources
    what: str
    slow: list[Key] = field(default_factory=list)
    """The rows that took too long."""

    async def remove(self, select: SelectRows, remove: RemoveSelected) -> int:
        """Remove rows of all engines until none is left; return their number."""
        total, is_last = 0, False
        while not is_last:
            count, is_last = await self._remove_batch(select, remove)
            total += count
        return total

    async def spread(self, find: FindRows, change: ChangeKeys[int], shared: int = 0) -> int:
        """Find and change rows, engine by engine, until none is left; return the number changed.

        Rows locked by other transactions are skipped. If `shared` is not 0, each change may do
        only part of a row's work; searches find the row until it is done. Rows then share a
        transaction if their keys have the first `shared` parts in common.
        """
        limit, total = self.resources.settings.tuning.sweep_batch_rows, 0
        held: set[Key] = set()
        while len(held) < _MOST:
            done = await self.changed(find, change, self.search(limit, held), shared)
            total += sum(count for _, count in done.changed)
            held.update(key for keys, count in done.changed if not count for key in keys)
            if done.found < (1 if shared else limit):
                break
        return total

    async def changed(
        self, find: FindRows, change: ChangeKeys[Changed], search: RowSearch, shared: int = 0
    ) -> Round[Changed]:
        """Find keys and change their rows; exclude the rows that fail.

        On a distributed database each engine has its own transaction, since a common one would have
        to commit on many nodes. `shared` is as for `spread`.
        """
        db = self.resources.db
        if shared or db.is_distributed:
            async with db.snapshot() as session:
                keys = await find(session, search)
            return Round(len(keys), await self._apart(_grouped(keys, shared or 1), change))
        keys = []
        try:
            async with db.transaction() as session:
                keys = await find(session, search)
                return Round(len(keys), await _changed(session, _grouped(keys, 1), change))
        except Exception as error:
            if not keys or _is_of_database(error):
                raise
        return Round(len(keys), await self._apart(_grouped(keys, 1), change))

    def search(self, limit: int, passed: Collection[Key] = ()) -> RowSearch:
        """Return a search that skips the excluded rows and the keys in `passed`."""
        now = self.resources.clock.now()
        left_out = _LeftOut.of(self.resources).keys(self.what, now)
        names = [(len(key), name_of(key)) for key in (*left_out, *passed)]
        but = [name for parts, name in names if parts > 1]
        return RowSearch(limit, but, [name for parts, name in names if parts == 1])

    def leaves_out(self, key: Key) -> bool:
        """Return True if a row or its engine is excluded; for an engine, also if a row of it is."""
        left_out = _LeftOut.of(self.resources).keys(self.what, self.resources.clock.now())
        if len(key) == 1:
            return any(other[:1] == key for other in left_out)
        return key in left_out or key[:1] in left_out

    @asynccontextmanager
    async def alone(self, key: Key) -> AsyncIterator[None]:
        """Exclude a row if the block, which handles only that row, fails.

        Raises:
            ServiceError: the database itself failed, or several rows took too long.
        """
        try:
            async with self.resources.db.translated_errors():
                yield
        except Exception as error:
            if _is_of_database(error):
                raise
            self._leave_out(key, error)
            if isinstance(error, DeadlineExceeded):
                self.slow.append(key)
                if len(self.slow) >= _MOST_SLOW:
                    raise

    def _leave_out(self, key: Key, error: Exception) -> None:
        _LeftOut.of(self.resources).add(self.what, key, self.resources.clock.now())
        _FAILED.labels(self.what).inc()
        log.warning("sweep.row_failed", what=self.what, row=name_of(key), reason=_reason(error))

    async def _remove_batch(self, select: SelectRows, remove: RemoveSelected) -> tuple[int, bool]:
        """Remove up to one batch of rows; return their number, and True if they were the last."""
        search = self.search(self.resources.settings.tuning.sweep_batch_rows)
        db = self.resources.db
        try:
            async with db.transaction() as session:
                count = await remove(session, select(session, search))
        except Exception as error:
            if _is_of_database(error):
                raise
            async with db.transaction() as session:
                keys = await find_keys(session, select(session, search))
            if not keys:
                raise
        else:
            return count, count < search.limit

        async def remove_one(session: Session, _: int, keys: Sequence[Key]) -> int:
            return await remove(session, select(session, replace(search, only=keys[0])))

        return sum(count for _, count in await self._row_by_row(keys, remove_one)), False

    async def _apart(
        self, groups: Sequence[Sequence[Key]], change: ChangeKeys[Changed]
    ) -> list[tuple[Sequence[Key], Changed]]:
        changed: list[tuple[Sequence[Key], Changed]] = []
        for keys in groups:
            # Some tables are of no engine.
            with working_for(keys[0][0] if isinstance(keys[0][0], int) else None):
                changed += await self._together(keys, change)
        return changed

    async def _together(
        self, keys: Sequence[Key], change: ChangeKeys[Changed]
    ) -> list[tuple[Sequence[Key], Changed]]:
        try:
            async with self.resources.db.transaction() as session:
                return await _changed(session, [keys], change)
        except Exception as error:
            if _is_of_database(error):
                raise
        return await self._row_by_row(keys, change)

    async def _row_by_row(
        self, keys: Sequence[Key], change: ChangeKeys[Changed]
    ) -> list[tuple[Sequence[Key], Changed]]:
        changed: list[tuple[Sequence[Key], Changed]] = []
        for start in range(0, len(keys), _SAVEPOINTS):
            async with self.resources.db.transaction() as session:
                for key in keys[start : start + _SAVEPOINTS]:
                    async with self.alone(key):
                        async with session.begin_nested():
                            done = await _changed(session, [[key]], change)
                        changed += done
        return changed


async def _changed(
    session: Session, groups: Sequence[Sequence[Key]], change: ChangeKeys[Changed]
) -> list[tuple[Sequence[Key], Changed]]:
    return [(keys, await change(session, keys[0][0], keys)) for keys in groups]


def _grouped(keys: Sequence[Key], shared: int) -> list[list[Key]]:
    groups: dict[Key, list[Key]] = {}
    for key in keys:
        groups.setdefault(key[:shared], []).append(key)
    return [*groups.values()]


def _is_of_database(error: Exception) -> bool:
    """Return True if no row caused the error; a row can have a unique key that is taken."""
    return isinstance(error, Unavailable | Aborted) and not meets_taken_key(error)


def _reason(error: Exception) -> str:
    """Return the reason of an error, without its message, which may quote stored text."""
    if isinstance(error, ServiceError):
        return error.reason
    cause = error.orig if isinstance(error, DBAPIError) else error
    return state_of(cause) or type(error).__name__


@asynccontextmanager
async def paced(transaction: AbstractAsyncContextManager[Session]) -> AsyncIterator[Session]:
    """Run a batch in a transaction, then pause to leave capacity to other work."""
    began = monotonic()
    async with transaction as session:
        yield session
    await asyncio.sleep((monotonic() - began) * _REST)
