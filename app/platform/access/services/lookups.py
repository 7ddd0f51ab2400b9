"""Lookups of API keys by their secrets, with a cache in this process.

A flood of secrets must not become a flood of statements, many keys must not cost more than one, and
a revoked key must stop working within a second. So results are cached as long as the database
reports that no key has ended since. That is checked once per `_LIFE`, for all keys together.
Requests that arrive during a statement share its answer or the next statement. After a statement
with an unknown secret, the next one is delayed briefly. Only secrets of our shape, and the few
others that the database lists, are looked up.
"""

import asyncio
import hmac
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from app.adapters.concurrency import Shared, consume_exception
from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.auth import Caller, Reach
from app.kernel.clock import Clock
from app.kernel.errors import Reason, Unavailable
from app.kernel.permissions import Permission, Role, permissions_of
from app.platform.access import store
from app.platform.access.logic import has_shape, hash_of, is_mistyped
from app.platform.access.store import ApiKeyRow, KeyHit

_LIFE = timedelta(seconds=0.75)
"""Lifetime of a check; with a statement's time, below the second a revocation may take."""
MAX_KNOWN = 4_096
"""Limit for cached good secrets, and as many bad ones; the oldest are evicted."""
_MAX_ASKED = 100
"""Secrets per statement."""
_MAX_ROUNDS = 3
"""Lookups that a request waits for. Two suffice unless this process changes a key meanwhile."""
_PAUSE_SECONDS = 0.05
"""Pause after a statement with an unknown secret: requests meanwhile are looked up together."""

_ROLES = frozenset(Role)
_PERMISSIONS = frozenset(Permission)

_V = TypeVar("_V")
_METRICS_LIFE = timedelta(minutes=15)
_MAX_KEYS = 256
"""Limit for remembered keys; the oldest is evicted. Few keys read metrics."""


@dataclass(frozen=True, slots=True)
class KnownKey:
    """The key of a secret. It is not revoked, but may have expired."""

    caller: Caller
    last_use_time: datetime | None
    """The last use as stored."""

    def works(self, now: datetime) -> bool:
        """Return True if the key has not expired."""
        return self.caller.expire_time is None or self.caller.expire_time > now


@dataclass(frozen=True, slots=True)
class _Moment:
    """A time by the injected and the monotonic clock, and the count of primary/standby switches."""

    now: datetime
    seconds: float
    turn: int

    def can_use(self, asked: "_Moment") -> bool:
        """Return True if an answer requested at another moment is fresh enough for this one."""
        # A standby may still know a key that was revoked before the primary went away.
        return (
            asked.turn >= self.turn
            and self.now - asked.now < _LIFE
            and self.seconds - asked.seconds < _LIFE.total_seconds()
        )


_Answer = tuple[_Moment, KnownKey | None]
"""The result of a lookup, with the moment it was requested."""


class KeyLookups:
    """The key lookups of one process."""

    def __init__(
        self, db: Database, clock: Clock, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._db = db
        self._clock = clock
        self._monotonic = monotonic
        self._confirmed: _Moment | None = None
        """The last check whether any key has changed."""
        self._version: int | None = None
        """The version of the keys at that check. The entries below belong to it."""
        self._good: dict[bytes, KnownKey] = {}
        self._own_shape: Collection[bytes] | None = None
        self._bad: dict[bytes, _Moment] = {}
        """The request times of unknown secrets: any process may create such a key at any time."""
        self._asked: dict[bytes, asyncio.Future[_Answer]] = {}
        """Secrets being looked up, including those in the running statement."""
        self._answering: asyncio.Task[None] | None = None
        self._confirming = Shared(self._confirm)
        self._reading = Shared(self._read_own_shape)

    async def find(self, secret: str) -> KnownKey | None:
        """Return the key of a secret; None: unknown or revoked. Raise Unavailable if too slow."""
        secret_hash = hash_of(secret)
        if secret_hash not in self._good and is_mistyped(secret):
            return None
        now = self._now()
        await self._ensure_confirmed(now)
        known = self._good.get(secret_hash)
        if known is not None:
            return known
        if not has_shape(secret) and secret_hash not in await self._load_own_shapes():
            return None
        bad = self._bad.get(secret_hash)
        if bad is not None and now.can_use(bad):
            return None
        return await self._look_up(secret_hash, now)

    async def find_hash(self, secret_hash: bytes) -> KnownKey | None:
        """Return the key of a previously known secret by its SHA-256, as `find` does."""
        now = self._now()
        await self._ensure_confirmed(now)
        known = self._good.get(secret_hash)
        return known if known is not None else await self._look_up(secret_hash, now)

    @property
    def version(self) -> int | None:
        """The last seen version of the keys; None before the first lookup."""
        return self._version

    def forget(self) -> None:
        """Clear the cache: this process has changed a key."""
        self._confirmed = None
        self._version = None
        self._good.clear()
        self._bad.clear()
        self._own_shape = None

    def _now(self) -> _Moment:
        return _Moment(self._clock.now(), self._monotonic(), self._db.turn)

    async def _ensure_confirmed(self, now: _Moment) -> None:
        """Check that no key has ended, or raise Unavailable if that cannot be known in time."""
        for _ in range(_MAX_ROUNDS):
            if self._confirmed is not None and now.can_use(self._confirmed):
                return
            await self._confirming.result()
        if self._confirmed is None or not now.can_use(self._confirmed):
            raise _unavailable("The database is too slow to look the key up at the moment.")

    async def _confirm(self) -> None:
        now = self._now()
        async with self._db.snapshot() as session:
            version = await store.find_version(session)
        if version != self._version:
            self.forget()
        self._confirmed, self._version = now, version

    async def _load_own_shapes(self) -> Collection[bytes]:
        if self._own_shape is None:
            return await self._reading.result()
        return self._own_shape

    async def _read_own_shape(self) -> Collection[bytes]:
        version = self._version
        async with self._db.snapshot() as session:
            hashes = await store.list_own_shape(session)
        if version == self._version:
            self._own_shape = hashes
        return hashes

    async def _look_up(self, secret_hash: bytes, now: _Moment) -> KnownKey | None:
        for _ in range(_MAX_ROUNDS):
            asked = self._asked.get(secret_hash) or self._ask(secret_hash)
            # Shielded: cancelling this request must not cancel the lookup for others.
            moment, known = await asyncio.shield(asked)
            if now.can_use(moment):
                return known
        raise _unavailable("The database is too slow to look the key up at the moment.")

    def _ask(self, secret_hash: bytes) -> asyncio.Future[_Answer]:
        asked: asyncio.Future[_Answer] = asyncio.get_running_loop().create_future()
        asked.add_done_callback(consume_exception)
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
            # Empty unless this task was cancelled: no other task would answer these.
            for asked in self._asked.values():
                asked.set_exception(_unavailable("The look-up of the key was broken off."))
            self._asked.clear()

    async def _answer(self, hashes: list[bytes]) -> bool:
        """Look up secrets and answer their waiters; return True if all belong to keys."""
        now, version = self._now(), self._version
        try:
            async with self._db.snapshot() as session:
                rows = await store.find_by_hashes(session, hashes)
            known = [_match_key(secret_hash, rows) for secret_hash in hashes]
        except Exception as error:  # noqa: BLE001 - it is raised in the waiters
            for secret_hash in hashes:
                self._asked.pop(secret_hash).set_exception(error)
            return False
        for secret_hash, key in zip(hashes, known, strict=True):
            if key is None:
                _put(self._bad, secret_hash, now)
            elif version == self._version:
                # Otherwise a key has ended meanwhile, possibly this one.
                _put(self._good, secret_hash, key)
            self._asked.pop(secret_hash).set_result((now, key))
        return None not in known


def _unavailable(message: str) -> Unavailable:
    return Unavailable(message, Reason.DATABASE_UNAVAILABLE, retry_after_seconds=1)


def _put(kept: dict[bytes, _V], secret_hash: bytes, value: _V) -> None:
    kept.pop(secret_hash, None)
    if len(kept) >= MAX_KNOWN:
        del kept[next(iter(kept))]
    kept[secret_hash] = value


def _match_key(secret_hash: bytes, rows: Collection[KeyHit]) -> KnownKey | None:
    for row in rows:
        if hmac.compare_digest(row.secret_hash, secret_hash):
            ends = [moment for moment in (row.expire_time, row.key.expire_time) if moment]
            return KnownKey(_caller(row.key, min(ends, default=None)), row.key.last_use_time)
    return None


def _caller(row: ApiKeyRow, expire_time: datetime | None) -> Caller:
    conditions = row.scope_conditions or {}
    # Unknown names, such as from a newer release, grant no permissions.
    roles = frozenset(Role(role) for role in row.roles if role in _ROLES)
    permissions = (Permission(name) for name in row.permissions if name in _PERMISSIONS)
    return Caller(
        key_id=row.key_id,
        permissions=permissions_of(roles, permissions),
        reach=Reach(
            projects=None if row.projects is None else frozenset(row.projects),
            engines=None if row.engines is None else frozenset(map(int, row.engines)),
            conditions={key: frozenset(values) for key, values in conditions.items()},
        ),
        roles=roles,
        display_name=row.display_name,
        expire_time=expire_time,
    )


@dataclass(frozen=True)
class _Remembered:
    key: KnownKey
    version: int | None
    """The version of the keys at the lookup."""
    time: datetime

    def works(self, version: int | None, now: datetime) -> bool:
        is_recent = now - self.time < _METRICS_LIFE
        return is_recent and self.key.works(now) and version in {None, self.version}


class MetricsReaders:
    """The keys that read the metrics lately; they keep access while no key can be looked up."""

    def __init__(self) -> None:
        self._kept: dict[bytes, _Remembered] = {}

    @classmethod
    def of(cls, resources: Resources) -> "MetricsReaders":
        """Return the readers of the process."""
        readers: MetricsReaders = resources.kept.setdefault(cls, cls())
        return readers

    def remember(self, secret: str, key: KnownKey, version: int | None, now: datetime) -> None:
        """Remember a key that was just looked up."""
        secret_hash = hash_of(secret)
        self._drop([secret_hash])
        if len(self._kept) >= _MAX_KEYS:
            self._drop([next(iter(self._kept))])
        self._kept[secret_hash] = _Remembered(key, version, now)

    def find(self, secret: str, version: int | None, now: datetime) -> KnownKey | None:
        """Return the remembered key of a secret, unless some key may have ended since."""
        kept = self._kept.get(hash_of(secret))
        return kept.key if kept is not None and kept.works(version, now) else None

    def forget(self, key_id: str) -> None:
        """Forget a key that has ended or has lost a secret."""
        self._drop(
            [digest for digest, kept in self._kept.items() if kept.key.caller.key_id == key_id]
        )

    def forget_secret(self, secret: str) -> None:
        """Forget a secret that is no longer valid."""
        self._drop([hash_of(secret)])

    def _drop(self, hashes: Iterable[bytes]) -> None:
        for digest in hashes:
            self._kept.pop(digest, None)
