"""What the secrets of API keys stand for, known for less than a second.

A flood of secrets must not become a flood of statements, and a revoked key must stop working within
a second. So what was found is kept for `_LIFE` from before it was asked for; whoever asks while a
statement is under way is answered by it or, all together, by the next; and secrets that were not
made here, of which there are few, are asked for only where they are among those few.
"""

import asyncio
import hmac
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.access import repository
from app.access.credentials import has_shape, hash_of, is_mistyped
from app.access.repository import Found
from app.access.tables import ApiKeyRow
from app.core.auth import Caller, Reach
from app.core.clock import Clock
from app.core.permissions import Permission, Role, permissions_of
from app.db.session import Database

_LIFE = timedelta(seconds=0.75)
"""With the time that a look-up takes, less than the second in which a revocation must act."""
_MAX_KNOWN = 4_096
"""Good secrets that are kept, and bad ones beside them; of each the oldest give way."""
_MAX_ASKED = 100
"""Secrets of one statement."""


@dataclass(frozen=True, slots=True)
class KnownKey:
    """What a secret stands for. The key is not revoked; it may have expired."""

    caller: Caller
    expire_time: datetime | None
    """When the key or the secret expires, whichever is sooner."""
    last_use_time: datetime | None
    """As stored."""

    def works(self, now: datetime) -> bool:
        """Say whether it has not expired."""
        return self.expire_time is None or self.expire_time > now


@dataclass(frozen=True, slots=True)
class _Moment:
    """A time by the injected clock, and by one that nobody sets back."""

    now: datetime
    seconds: float

    def is_fresh(self, earlier: "_Moment") -> bool:
        """Say whether what was asked for then can be used still."""
        return (
            timedelta() <= self.now - earlier.now < _LIFE
            and self.seconds - earlier.seconds < _LIFE.total_seconds()
        )


_Answer = tuple[_Moment, KnownKey | None]
"""What was found, and when it was asked for."""


class KeyLookups:
    """The look-ups of one process."""

    def __init__(
        self, db: Database, clock: Clock, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._db = db
        self._clock = clock
        self._monotonic = monotonic
        self._good: dict[bytes, _Answer] = {}
        self._bad: dict[bytes, _Answer] = {}
        self._asked: dict[bytes, asyncio.Future[KnownKey | None]] = {}
        """Also those whose statement is under way."""
        self._asking: asyncio.Task[None] | None = None
        self._own_shape: tuple[_Moment, Collection[bytes]] | None = None
        self._reading: asyncio.Task[Collection[bytes]] | None = None

    async def find(self, secret: str) -> KnownKey | None:
        """Return what a secret stands for; None: nothing, or a key that is revoked.

        Raises:
            Unavailable: the database cannot be reached.
        """
        secret_hash = hash_of(secret)
        now = self._now()
        known = self._good.get(secret_hash) or self._bad.get(secret_hash)
        if known is not None and now.is_fresh(known[0]):
            return known[1]
        # What was good a moment ago need not be among anything.
        if secret_hash not in self._good and not await self._may_exist(secret, secret_hash, now):
            return None
        asked = self._asked.get(secret_hash)
        if asked is None:
            asked = self._ask(secret_hash)
        # Who waits beside it must not lose it when this request is broken off.
        return await asyncio.shield(asked)

    def forget(self) -> None:
        """Ask anew for everything: this process has changed something."""
        self._good.clear()
        self._bad.clear()
        self._own_shape = None

    def _now(self) -> _Moment:
        return _Moment(self._clock.now(), self._monotonic())

    async def _may_exist(self, secret: str, secret_hash: bytes, now: _Moment) -> bool:
        if has_shape(secret):
            return not is_mistyped(secret)
        own = self._own_shape
        if own is not None and now.is_fresh(own[0]):
            return secret_hash in own[1]
        if self._reading is None:
            self._reading = asyncio.create_task(self._read_own_shape())
        return secret_hash in await asyncio.shield(self._reading)

    async def _read_own_shape(self) -> Collection[bytes]:
        now = self._now()
        try:
            async with self._db.snapshot() as session:
                found = await repository.list_own_shape(session)
            self._own_shape = (now, found)
        finally:
            self._reading = None
        return found

    def _ask(self, secret_hash: bytes) -> "asyncio.Future[KnownKey | None]":
        asked = asyncio.get_running_loop().create_future()
        # A failure that nobody waits for any more is no fault of the process.
        asked.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._asked[secret_hash] = asked
        if self._asking is None:
            self._asking = asyncio.create_task(self._answer_all())
        return asked

    async def _answer_all(self) -> None:
        try:
            while self._asked:
                await self._answer(list(self._asked)[:_MAX_ASKED])
        finally:
            self._asking = None

    async def _answer(self, hashes: list[bytes]) -> None:
        """Look secrets up, and answer those who wait for them."""
        now = self._now()
        try:
            async with self._db.snapshot() as session:
                found = await repository.find_by_hashes(session, hashes)
        except Exception as error:  # noqa: BLE001 - it is raised where it is waited for
            for secret_hash in hashes:
                self._asked.pop(secret_hash).set_exception(error)
            return
        for secret_hash in hashes:
            known = _known(secret_hash, found)
            self._keep(secret_hash, (now, known))
            self._asked.pop(secret_hash).set_result(known)

    def _keep(self, secret_hash: bytes, answer: _Answer) -> None:
        self._good.pop(secret_hash, None)
        self._bad.pop(secret_hash, None)
        kept = self._bad if answer[1] is None else self._good
        if len(kept) >= _MAX_KNOWN:
            del kept[next(iter(kept))]
        kept[secret_hash] = answer


def _known(secret_hash: bytes, found: Collection[Found]) -> KnownKey | None:
    for one in found:
        if hmac.compare_digest(one.secret_hash, secret_hash):
            ends = [moment for moment in (one.expire_time, one.key.expire_time) if moment]
            return KnownKey(_caller(one.key), min(ends, default=None), one.key.last_use_time)
    return None


def _caller(row: ApiKeyRow) -> Caller:
    conditions = row.scope_conditions or {}
    return Caller(
        key_id=row.key_id,
        permissions=permissions_of(map(Role, row.roles), map(Permission, row.permissions)),
        reach=Reach(
            projects=None if row.projects is None else frozenset(row.projects),
            engines=None if row.engines is None else frozenset(map(int, row.engines)),
            conditions={key: frozenset(values) for key, values in conditions.items()},
        ),
    )
