"""What the secrets of API keys stand for, as this process knows it.

A flood of secrets must not become a flood of statements, many keys must not cost more than one, and
a revoked key must stop working within a second. So what was found is kept as long as the database
says that no key has ended since: that is asked for once in `_LIFE`, however many keys there are.
Whoever asks while a statement is under way is answered by it or, all together, by the next; which
waits for a moment where the one before has met a secret that nobody has. Secrets that were not made
here are few, and looked up only where they are among those few.
"""

import asyncio
import hmac
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from app.adapters.db.session import Database
from app.adapters.shared import Shared, look_at
from app.kernel.auth import Caller, Reach
from app.kernel.clock import Clock
from app.kernel.errors import Reason, Unavailable
from app.kernel.permissions import Permission, Role, permissions_of
from app.platform.access.logic.credentials import has_shape, hash_of, is_mistyped
from app.platform.access.store import repository
from app.platform.access.store.repository import Found
from app.platform.access.store.tables import ApiKeyRow

_LIFE = timedelta(seconds=0.75)
"""With the time that a statement takes, less than the second in which a revocation must act."""
_MAX_KNOWN = 4_096
"""Good secrets that are kept, and bad ones beside them; of each the oldest give way."""
_MAX_ASKED = 100
"""Secrets of one statement."""
_MAX_ROUNDS = 3
"""Look-ups that a request waits for. Two do, unless a key of this process changes meanwhile."""
_PAUSE_SECONDS = 0.05
"""After a statement that has found nothing for a secret: what is asked meanwhile goes together."""

_ROLES = frozenset(Role)
_PERMISSIONS = frozenset(Permission)

_V = TypeVar("_V")


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

    def can_use(self, asked: "_Moment") -> bool:
        """Say whether what was asked for at another moment, or later than now, can be used."""
        return self.now - asked.now < _LIFE and self.seconds - asked.seconds < _LIFE.total_seconds()


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
        self._confirmed: _Moment | None = None
        """When it was asked last whether anything has changed."""
        self._version: int | None = None
        """Of the keys, then. What follows was found since the keys have it."""
        self._good: dict[bytes, KnownKey] = {}
        self._own_shape: Collection[bytes] | None = None
        self._bad: dict[bytes, _Moment] = {}
        """When they were asked for: others may make a key at any time."""
        self._asked: dict[bytes, asyncio.Future[_Answer]] = {}
        """Also those whose statement is under way."""
        self._answering: asyncio.Task[None] | None = None
        self._confirming = Shared(self._confirm)
        self._reading = Shared(self._read_own_shape)

    async def find(self, secret: str) -> KnownKey | None:
        """Return what a secret stands for; None: nothing, or a key that is revoked.

        Raises:
            Unavailable: the database cannot be reached, or is too slow.
        """
        secret_hash = hash_of(secret)
        if secret_hash not in self._good and is_mistyped(secret):
            return None
        now = self._now()
        await self._be_sure(now)
        known = self._good.get(secret_hash)
        if known is not None:
            return known
        if not has_shape(secret) and secret_hash not in await self._own_shapes():
            return None
        bad = self._bad.get(secret_hash)
        if bad is not None and now.can_use(bad):
            return None
        return await self._look_up(secret_hash, now)

    @property
    def version(self) -> int | None:
        """The last version of the keys that was seen; None before the first look-up."""
        return self._version

    def forget(self) -> None:
        """Know nothing: this process has changed something."""
        self._confirmed = None
        self._version = None
        self._good.clear()
        self._bad.clear()
        self._own_shape = None

    def _now(self) -> _Moment:
        return _Moment(self._clock.now(), self._monotonic())

    async def _be_sure(self, now: _Moment) -> None:
        """Ask whether any key has ended, unless that is known.

        Raises:
            Unavailable: the answers are older than this request may rely on.
        """
        for _ in range(_MAX_ROUNDS):
            if self._confirmed is not None and now.can_use(self._confirmed):
                return
            await self._confirming.result()
        if self._confirmed is None or not now.can_use(self._confirmed):
            raise _unavailable("The database is too slow to look the key up at the moment.")

    async def _confirm(self) -> None:
        """Forget what was found if a key has ended since."""
        now = self._now()
        async with self._db.snapshot() as session:
            version = await repository.find_version(session)
        if version != self._version:
            self.forget()
        self._confirmed, self._version = now, version

    async def _own_shapes(self) -> Collection[bytes]:
        if self._own_shape is None:
            return await self._reading.result()
        return self._own_shape

    async def _read_own_shape(self) -> Collection[bytes]:
        version = self._version
        async with self._db.snapshot() as session:
            found = await repository.list_own_shape(session)
        if version == self._version:
            self._own_shape = found
        return found

    async def _look_up(self, secret_hash: bytes, now: _Moment) -> KnownKey | None:
        for _ in range(_MAX_ROUNDS):
            asked = self._asked.get(secret_hash) or self._ask(secret_hash)
            # Who waits beside it must not lose it when this request is broken off.
            moment, known = await asyncio.shield(asked)
            if now.can_use(moment):
                return known
        raise _unavailable("The database is too slow to look the key up at the moment.")

    def _ask(self, secret_hash: bytes) -> asyncio.Future[_Answer]:
        asked: asyncio.Future[_Answer] = asyncio.get_running_loop().create_future()
        asked.add_done_callback(look_at)
        self._asked[secret_hash] = asked
        if self._answering is None or self._answering.done():
            self._answering = asyncio.create_task(self._answer_all())
        return asked

    async def _answer_all(self) -> None:
        try:
            while self._asked:
                if not await self._answer(list(self._asked)[:_MAX_ASKED]):
                    await asyncio.sleep(_PAUSE_SECONDS)
        finally:
            self._answering = None
            # None are left, unless this was broken off: nobody else would answer them.
            for asked in self._asked.values():
                asked.set_exception(_unavailable("The look-up of the key was broken off."))
            self._asked.clear()

    async def _answer(self, hashes: list[bytes]) -> bool:
        """Look secrets up, and answer those who wait for them; say whether all are of keys."""
        now, version = self._now(), self._version
        try:
            async with self._db.snapshot() as session:
                found = await repository.find_by_hashes(session, hashes)
            known = [_known(secret_hash, found) for secret_hash in hashes]
        except Exception as error:  # noqa: BLE001 - it is raised where it is waited for
            for secret_hash in hashes:
                self._asked.pop(secret_hash).set_exception(error)
            return False
        for secret_hash, key in zip(hashes, known, strict=True):
            if key is None:
                _keep(self._bad, secret_hash, now)
            elif version == self._version:
                # Else a key has ended meanwhile: this one, maybe.
                _keep(self._good, secret_hash, key)
            self._asked.pop(secret_hash).set_result((now, key))
        return None not in known


def _unavailable(message: str) -> Unavailable:
    return Unavailable(message, Reason.DATABASE_UNAVAILABLE, retry_after_seconds=1)


def _keep(kept: dict[bytes, _V], secret_hash: bytes, value: _V) -> None:
    kept.pop(secret_hash, None)
    if len(kept) >= _MAX_KNOWN:
        del kept[next(iter(kept))]
    kept[secret_hash] = value


def _known(secret_hash: bytes, found: Collection[Found]) -> KnownKey | None:
    for one in found:
        if hmac.compare_digest(one.secret_hash, secret_hash):
            ends = [moment for moment in (one.expire_time, one.key.expire_time) if moment]
            return KnownKey(_caller(one.key), min(ends, default=None), one.key.last_use_time)
    return None


def _caller(row: ApiKeyRow) -> Caller:
    conditions = row.scope_conditions or {}
    # What a newer release has put there, and this one does not know, allows nothing.
    roles = (Role(role) for role in row.roles if role in _ROLES)
    permissions = (Permission(one) for one in row.permissions if one in _PERMISSIONS)
    return Caller(
        key_id=row.key_id,
        permissions=permissions_of(roles, permissions),
        reach=Reach(
            projects=None if row.projects is None else frozenset(row.projects),
            engines=None if row.engines is None else frozenset(map(int, row.engines)),
            conditions={key: frozenset(values) for key, values in conditions.items()},
        ),
    )
