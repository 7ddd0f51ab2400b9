"""Rates: units per second for a key and for an engine; and refusals beyond any limit.

The units are in a bucket that all processes share: a row of the database. A process leases a block
of units at a time, and requests draw from the block, which costs no statement.
"""

import asyncio
import hashlib
from collections.abc import Collection
from enum import StrEnum
from functools import lru_cache, partial
from math import ceil

from prometheus_client import Counter

from app.adapters.db.session import Database, Session
from app.kernel.clock import Clock
from app.kernel.errors import Reason, ResourceExhausted, Unavailable
from app.platform.limits import store
from app.platform.limits.logic import BucketPace, RateBlock
from app.settings.settings import Settings


class Bound(StrEnum):
    """The limit that refused a request."""

    KEY = "key"
    ENGINE = "engine"
    PLACES = "places"
    BODIES = "bodies"


_REFUSED = Counter(
    "memory_bank_requests_refused",
    "Requests refused by the rate of their key or engine, for lack of a place, or because of open"
    " bodies.",
    ["by"],
)
for _bound in Bound:
    _REFUSED.labels(_bound)


def too_fast(by: Bound, units_per_second: int, seconds: float) -> ResourceExhausted:
    """Count a request refused by a rate; return its error, with the seconds until units suffice."""
    _REFUSED.labels(by).inc()
    return ResourceExhausted(
        f"The {by} has used up its rate of {units_per_second} units per second.",
        Reason.RATE_LIMIT_EXCEEDED,
        metadata={"limit": by.value, "unitsPerSecond": str(units_per_second)},
        # Rounded up to a millisecond: a client that retries then must not be early.
        retry_after_seconds=ceil(seconds * 1_000) / 1_000,
    )


def too_many(whose: str, limit: int) -> ResourceExhausted:
    """Count a request refused for lack of a free slot and return its error."""
    _REFUSED.labels(Bound.PLACES).inc()
    return ResourceExhausted(
        f"The {whose} has {limit} costly requests in progress, which is its limit.",
        Reason.TOO_MANY_AT_ONCE,
        metadata={"limit": whose, "requests": str(limit)},
        retry_after_seconds=1,
    )


def count_given_up() -> None:
    """Count a request whose body is given up, since its connection is needed for others."""
    _REFUSED.labels(Bound.BODIES).inc()


def too_many_bodies(whose: str, what: str, limit: int) -> ResourceExhausted:
    """Count a refused body and return its error; `what` is the bound: `requests` or `bytes`."""
    _REFUSED.labels(Bound.BODIES).inc()
    amount = f"{limit} slow ones" if what == "requests" else f"{limit} bytes"
    error = ResourceExhausted(
        f"The request bodies and answers of this {whose} may not be more than {amount} at once.",
        Reason.TOO_MANY_AT_ONCE,
        metadata={"limit": whose, what: str(limit)},
        retry_after_seconds=1,
    )
    error.ends_connection = True
    return error


MAX_BLOCKS = 20_000
"""Limit for blocks, at about 200 bytes each; those used last are kept.

The key or engine of an evicted block loses its units; no one can exceed the rate.
"""
_MAX_NAME_CHARS = 100


class Rate:
    """One rate, of keys or of engines, with the blocks of one process."""

    def __init__(self, db: Database, clock: Clock, bound: Bound, pace: BucketPace) -> None:
        self.pace = pace
        self._db = db
        self._clock = clock
        self._bound = bound
        self._block_of = lru_cache(MAX_BLOCKS)(_empty_block)
        self._leases: dict[str | int, asyncio.Task[None]] = {}
        """Running leases; concurrent requests of one subject share one."""

    async def take(self, name: str | int, cost: int) -> RateBlock:
        """Take units and return the block they came from, or raise ResourceExhausted."""
        block = self._block_of(name)
        while not block.take(cost):
            await self._fill(name, block, cost)
        return block

    async def _fill(self, name: str | int, block: RateBlock, cost: int) -> None:
        lease = self._leases.get(name)
        if lease is None:
            wait = block.wait(cost, self.pace, self._clock.now())
            if wait.for_look > 0:
                raise too_fast(self._bound, self.pace.units_per_second, wait.for_units)
            needed = cost - block.units
            wanted = max(self.pace.block, cost) - block.units
            lease = asyncio.create_task(self._lease(name, block, needed, wanted))
            self._leases[name] = lease
            lease.add_done_callback(partial(self._end, name))
        # A task of its own: a cancelled request must not cancel the lease for others.
        await asyncio.wait({lease})
        lease.result()

    async def _lease(self, name: str | int, block: RateBlock, needed: int, wanted: int) -> None:
        subject = f"{self._bound}:{_subject_name(str(name))}"
        try:
            async with self._db.transaction() as session:
                granted, left = await store.take(session, subject, needed, wanted, self.pace)
        except Unavailable:
            # A standby serves reads while writes are impossible; rates must not refuse them. Each
            # process then has the whole rate to itself.
            granted, left = wanted, 0.0
        # Read afterwards: the units reported as available then must exist by then.
        block.receive(granted, left, self._clock.now())

    def _end(self, name: str | int, lease: asyncio.Task[None]) -> None:
        del self._leases[name]
        if not lease.cancelled():
            # Retrieved, though all waiters may be gone.
            lease.exception()


class Rates:
    """The rates of keys and of engines, in one process."""

    def __init__(self, db: Database, clock: Clock, settings: Settings) -> None:
        def rate(bound: Bound, units_per_second: int) -> Rate | None:
            pace = BucketPace.of(
                units_per_second,
                settings.tuning.rate_burst_seconds,
                settings.tuning.rate_block_seconds,
            )
            return Rate(db, clock, bound, pace) if units_per_second else None

        self._keys = rate(Bound.KEY, settings.key_rate_units_per_second)
        self._engines = rate(Bound.ENGINE, settings.engine_rate_units_per_second)

    async def charge(self, key_id: str, engine_id: int | None, cost: int) -> None:
        """Take the cost of a request from the rate of its key, then from the rate of its engine.

        Opens a transaction if a block is used up. Do not call it inside one.

        Raises:
            ResourceExhausted: one of them has too few units left; no units are taken from either.
        """
        block = None if self._keys is None else await self._keys.take(key_id, cost)
        if self._engines is None or engine_id is None:
            return
        try:
            await self._engines.take(engine_id, cost)
        except BaseException:
            if self._keys is not None and block is not None:
                block.give_back(cost, self._keys.pace)
            raise


async def forget_keys(session: Session, key_ids: Collection[str]) -> int:
    """Remove the buckets of keys that have ended, in the caller's transaction; return the count."""
    subjects = [f"{Bound.KEY}:{_subject_name(key_id)}" for key_id in key_ids]
    return await store.remove(session, subjects)


def _empty_block(_: str | int) -> RateBlock:
    return RateBlock()


def _subject_name(name: str) -> str:
    """Return a name in storable form: the subject of a token may be any text."""
    if len(name) <= _MAX_NAME_CHARS and name.isprintable():
        return name
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
