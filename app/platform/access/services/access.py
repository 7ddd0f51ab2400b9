"""Authentication by API keys and tokens, the last use of keys, and the use cases of keys."""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

import structlog
from typing_extensions import override

from app.adapters.db.lists import list_page
from app.adapters.db.session import Database, Session, caller_of, note
from app.adapters.resources import Resources
from app.kernel.audit import Audited
from app.kernel.auth import Authenticator, Caller, Identity
from app.kernel.clock import Clock
from app.kernel.errors import (
    FailedPrecondition,
    InvalidArgument,
    Reason,
    ServiceError,
    Unauthenticated,
)
from app.kernel.ids import NO_BUCKET, new_id
from app.kernel.paging import PageRequest
from app.kernel.permissions import Permission, Role
from app.kernel.wire.scalars import moment_after
from app.platform.access import store
from app.platform.access.logic import has_shape, hash_of, mint
from app.platform.access.schemas import ApiKey, CreateKeyRequest, ListKeysResponse
from app.platform.access.services.lookups import KeyLookups, KnownKey, MetricsReaders
from app.platform.access.store import ApiKeyRow
from app.platform.audit import store as audit
from app.platform.audit.store import NewEvent
from app.settings.settings import Settings

if TYPE_CHECKING:
    from app.platform.access.services.tokens import TokenService
from collections.abc import Collection

from app.kernel.errors import describe

log = structlog.get_logger()

_CONFIGURED = "configured"
_FIRST = "first"
_READER_SECONDS = 2.0
"""Timeout for looking up the key of a known metrics reader, since scrapers do not wait."""

PRECISION = timedelta(minutes=1)
"""A use is written only if the last written one is at least this old."""
_MAX_KNOWN = 4_096


def open_tokens(settings: Settings, clock: Clock) -> "TokenService | None":
    """Return the verification of tokens; None if the settings name no issuer."""
    if not settings.jwt_issuer:
        return None
    from app.platform.access.services.tokens import (  # noqa: PLC0415 - costly import
        TokenService,
    )

    return TokenService(settings, clock)


class LastUses:
    """The uses seen by one process: one write at a time, and at most one per key in `PRECISION`."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._noted: dict[str, datetime] = {}
        self._unwritten: dict[str, datetime] = {}
        self._writing: asyncio.Task[None] | None = None

    def note(self, key_id: str, now: datetime, stored: datetime | None) -> None:
        """Note that a key is used now; `stored` is its last use in the database."""
        noted = self._noted.get(key_id)
        if _is_recent(stored, now) or _is_recent(noted, now):
            return
        if noted is None and len(self._noted) >= _MAX_KNOWN:
            del self._noted[next(iter(self._noted))]
        self._noted[key_id] = self._unwritten[key_id] = now
        if self._writing is None:
            self._writing = asyncio.create_task(self._write_all())

    async def settle(self) -> None:
        """Wait until all noted uses are written or have failed."""
        if self._writing is not None:
            await asyncio.shield(self._writing)

    async def _write_all(self) -> None:
        try:
            while self._unwritten:
                uses, self._unwritten = self._unwritten, {}
                await self._write(uses.keys(), max(uses.values()))
        finally:
            self._writing = None

    async def _write(self, key_ids: Collection[str], now: datetime) -> None:
        try:
            async with self._db.transaction() as session:
                await store.note_uses(session, key_ids, now)
        except Exception as error:  # noqa: BLE001 - the requests have their answers without it
            # Not `exception`: see `describe`.
            log.warning("keys.use_not_written", error=describe(error))


@dataclass(frozen=True)
class AccessService(Authenticator):
    """Authentication of callers by key or token."""

    db: Database
    clock: Clock
    tokens: "TokenService | None" = None
    readers: MetricsReaders = field(default_factory=MetricsReaders)

    @cached_property
    def lookups(self) -> KeyLookups:
        """The cached key lookups."""
        return KeyLookups(self.db, self.clock)

    @cached_property
    def uses(self) -> LastUses:
        """The last uses of keys."""
        return LastUses(self.db)

    @override
    async def authenticate(self, secret: str) -> Caller:
        if self.tokens is not None and self.tokens.is_token(secret):
            return await self.tokens.authenticate(secret)
        return (await self._find_key(secret)).caller

    @override
    async def identify(self, secret: str) -> Identity:
        if self.tokens is not None and self.tokens.is_token(secret):
            caller = await self.tokens.authenticate(secret)
            return Identity(caller, end_time=caller.expire_time)
        caller = (await self._find_key(secret)).caller
        return Identity(caller, secret_hash=hash_of(secret))

    @override
    async def caller_of(self, key_id: str, secret_hash: bytes) -> Caller:
        caller = self._used(await self.lookups.find_hash(secret_hash)).caller
        if caller.key_id != key_id:
            raise _not_valid()
        return caller

    @override
    async def authenticate_reader(self, secret: str) -> Caller:
        if self.tokens is not None and self.tokens.is_token(secret):
            return await self.tokens.authenticate(secret)
        known = self.readers.find(secret, self.lookups.version, self.clock.now())
        try:
            async with asyncio.timeout(None if known is None else _READER_SECONDS):
                key = await self._find_key(secret)
        except Unauthenticated:
            self.readers.forget_secret(secret)
            raise
        except (TimeoutError, ServiceError) as error:
            if known is None or not _is_database_failure(error):
                raise
            return known.caller
        if key.caller.may(Permission.METRICS_GET):
            self.readers.remember(secret, key, self.lookups.version, self.clock.now())
        return key.caller

    async def _find_key(self, secret: str) -> KnownKey:
        return self._used(await self.lookups.find(secret))

    def _used(self, key: KnownKey | None) -> KnownKey:
        now = self.clock.now()
        if key is None or not key.works(now):
            raise _not_valid()
        self.uses.note(key.caller.key_id, now, key.last_use_time)
        return key

    async def has_keys(self) -> bool:
        """Return True if any key exists; without one, no caller can have used the service."""
        async with self.db.snapshot() as session:
            return await store.exists(session)

    async def is_managed(self) -> bool:
        """Return True once a request has used a key that can manage keys, and still works."""
        async with self.db.snapshot() as session:
            return await store.has_used_manager(session, self.clock.now())

    async def ensure_first_key(self, configured: str | None) -> str | None:
        """Ensure that a key exists; return a new key if none did. Several processes may call it."""
        now = self.clock.now()
        secret = None
        async with self.db.transaction() as session:
            await store.hold(session)
            if configured is not None:
                await _configure(session, configured, now)
            elif not await store.exists(session):
                secret = mint()
                await _insert_admin(session, _FIRST, secret, now)
        self.lookups.forget()
        return secret


def _not_valid() -> Unauthenticated:
    """Return the same error for an unknown, a revoked and an expired key."""
    return Unauthenticated("The API key is not valid.", Reason.CREDENTIAL_INVALID)


def _is_database_failure(error: Exception) -> bool:
    if isinstance(error, ServiceError):
        return error.reason is Reason.DATABASE_UNAVAILABLE
    return isinstance(error, TimeoutError)


async def _configure(session: Session, secret: str, now: datetime) -> None:
    known = await store.find_secret(session, hash_of(secret))
    if known is None:
        revoked = await store.retire_configured(session, now)
        await audit.insert_events(session, [_event("revokeKey", key_id, now) for key_id in revoked])
        await _insert_admin(session, _CONFIGURED, secret, now)
        return
    key = await store.get(session, known.key_id)
    if key.revoke_time is not None or not _is_live(known.expire_time, key.expire_time, now=now):
        log.warning(
            "admin_key.refused",
            key=key.key_id,
            why="the key that MEMORY_BANK_ADMIN_KEY names was rotated away or revoked",
        )


async def _insert_admin(session: Session, name: str, secret: str, now: datetime) -> None:
    values = {
        "key_id": str(new_id(now, NO_BUCKET)),
        "display_name": name,
        "roles": [Role.ADMIN.value],
        "permissions": [],
        "create_time": now,
    }
    row = await store.insert_key(session, values)
    await _insert_secret(session, row, secret, now, is_configured=name == _CONFIGURED)
    await audit.insert_events(session, [_event("createKey", row.key_id, now)])


def _event(method: str, key_id: str, now: datetime) -> NewEvent:
    return NewEvent(Audited(None, method, f"keys/{key_id}", engine_id=None), now)


async def _insert_secret(
    session: Session, row: ApiKeyRow, secret: str, now: datetime, *, is_configured: bool = False
) -> None:
    values = {
        "secret_hash": hash_of(secret),
        "key_id": row.key_id,
        "is_minted": has_shape(secret),
        "is_configured": is_configured,
        "create_time": now,
    }
    await store.insert_secret(session, values)


def _is_live(*ends: datetime | None, now: datetime) -> bool:
    return all(end is None or end > now for end in ends)


@dataclass(frozen=True)
class KeyService:
    """Use cases of key management."""

    db: Database
    clock: Clock
    settings: Settings
    readers: MetricsReaders = field(default_factory=MetricsReaders)

    @classmethod
    def of(cls, resources: Resources) -> "KeyService":
        """Build the service from the process's resources."""
        readers = MetricsReaders.of(resources)
        return cls(resources.db, resources.clock, resources.settings, readers)

    async def create(self, request: CreateKeyRequest) -> ApiKey:
        """Create a key, with its secret only in the answer.

        Raises:
            InvalidArgument: the expiry lies in the past.
        """
        now = self.clock.now()
        secret = mint()
        async with self.db.transaction() as session:
            values = {
                "key_id": str(new_id(now, NO_BUCKET)),
                **request.columns(),
                "creator": caller_of(session),
                "create_time": now,
                "expire_time": _expiry(request, now),
            }
            row = await store.insert_key(session, values)
            await _insert_secret(session, row, secret, now)
            answer = ApiKey.from_row(row, secret)
            note(session, resource=answer.name)
        return answer

    async def list_keys(
        self, page: PageRequest, filter_text: str | None = None
    ) -> ListKeysResponse:
        """Return a page of keys in any state, newest first."""
        # Without a filter, a token of a former release still counts.
        asked = (
            store.KEYS.filtered_page(page, self.settings, filter_text)
            if filter_text
            else store.KEYS.page(page)
        )
        async with self.db.snapshot() as session:
            rows, token = await list_page(session, store.select_keys(), asked)
        return ListKeysResponse(keys=[ApiKey.from_row(row) for row in rows], next_page_token=token)

    async def get(self, key_id: str) -> ApiKey:
        """Return a key in any state, or raise NotFound."""
        async with self.db.snapshot() as session:
            return ApiKey.from_row(await store.get(session, key_id))

    async def revoke(self, key_id: str, *, force: bool = False) -> ApiKey:
        """Revoke a key for good; force revokes even the last key that can manage keys.

        Raises:
            FailedPrecondition: it is the last key that can manage keys.
        """
        now = self.clock.now()
        async with self.db.transaction() as session:
            await store.hold(session)
            row = await store.get(session, key_id, for_update=True)
            if row.revoke_time is not None:
                return ApiKey.from_row(row)
            if not force:
                await _check_not_last(session, row, now)
            answer = ApiKey.from_row(await store.revoke(session, key_id, now))
        self.readers.forget(key_id)
        return answer

    async def rotate(self, key_id: str, grace: timedelta) -> ApiKey:
        """Give a key a new secret, which is only in the answer; former ones end after `grace`.

        Raises:
            FailedPrecondition: the key is revoked or has expired.
        """
        now = self.clock.now()
        secret = mint()
        async with self.db.transaction() as session:
            await store.hold(session)
            row = await store.get(session, key_id, for_update=True)
            if row.revoke_time is not None or not _is_live(row.expire_time, now=now):
                raise FailedPrecondition(
                    f"keys/{key_id} is revoked or has expired; create another key.",
                    Reason.KEY_ENDED,
                )
            await store.expire_secrets(session, key_id, now + grace)
            await _insert_secret(session, row, secret, now)
        self.readers.forget(key_id)
        return ApiKey.from_row(row, secret)


async def _check_not_last(session: Session, row: ApiKeyRow, now: datetime) -> None:
    if list(await store.list_managers(session, now, limit=2)) == [row.key_id]:
        raise FailedPrecondition(
            f"keys/{row.key_id} is the last key that can manage keys; create another one first.",
            Reason.LAST_ADMIN_KEY,
        )


def _expiry(request: CreateKeyRequest, now: datetime) -> datetime | None:
    if request.ttl is not None:
        return moment_after(now, request.ttl, "ttl")
    if request.expire_time is not None and request.expire_time <= now:
        raise InvalidArgument.of_field("expireTime", "must lie in the future.")
    return request.expire_time


def _is_recent(moment: datetime | None, now: datetime) -> bool:
    return moment is not None and abs(now - moment) < PRECISION
