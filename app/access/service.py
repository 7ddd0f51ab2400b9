"""Who may call: looks up API keys, and makes the first one."""

import hashlib
import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from typing_extensions import override

from app.access import repository
from app.access.tables import ApiKeyRow
from app.core.auth import Authenticator, Caller, Reach
from app.core.clock import Clock
from app.core.errors import Reason, Unauthenticated
from app.core.permissions import Permission, Role, permissions_of
from app.db.session import Database

_KEY_BYTES = 32
_KEY_PREFIX = "omb_"
_CONFIGURED = "configured"
# A revoked key stops working within this time; a known key costs no statement meanwhile.
_CACHE_TIME = timedelta(seconds=1)
_CACHE_ENTRIES = 1024


@dataclass(frozen=True)
class AccessService(Authenticator):
    """API keys, found by their SHA-256. Keys have too much entropy for a slow hash to matter."""

    db: Database
    clock: Clock
    _known: dict[bytes, tuple[datetime, Caller]] = field(default_factory=dict)

    @override
    async def authenticate(self, secret: str) -> Caller:
        secret_hash = _hash(secret)
        now = self.clock.now()
        cached = self._known.get(secret_hash)
        if cached is not None and timedelta() <= now - cached[0] < _CACHE_TIME:
            return cached[1]
        async with self.db.snapshot() as session:
            row = await repository.find_by_hash(session, secret_hash, now)
        if row is None:
            self._known.pop(secret_hash, None)
            raise Unauthenticated("The API key is not valid.", Reason.CREDENTIAL_INVALID)
        if len(self._known) >= _CACHE_ENTRIES:
            self._known.clear()
        caller = _caller(row)
        self._known[secret_hash] = (now, caller)
        return caller

    async def has_keys(self) -> bool:
        """Say whether there is any key; without one, nobody can have called yet."""
        async with self.db.snapshot() as session:
            return await repository.exists(session)

    async def ensure_first_key(self, configured: str | None) -> str | None:
        """Make sure that there is a key.

        Args:
            configured: the administrator's key, which is always made to work, in place of the one
                that was configured before.

        Returns:
            The key that was made because there was none at all; it is shown once.
        """
        now = self.clock.now()
        async with self.db.transaction() as session:
            if configured is not None:
                secret_hash = _hash(configured)
                if not await repository.secret_is_known(session, secret_hash):
                    await repository.revoke_named(session, _CONFIGURED, now)
                    key_id = await repository.insert_key(session, _CONFIGURED, now)
                    await repository.insert_secret(
                        session, key_id, secret_hash, now, is_minted=False
                    )
                return None
            if await repository.exists(session):
                return None
            made = _KEY_PREFIX + secrets.token_urlsafe(_KEY_BYTES)
            key_id = await repository.insert_key(session, "first", now)
            await repository.insert_secret(session, key_id, _hash(made), now, is_minted=False)
            return made


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


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()
