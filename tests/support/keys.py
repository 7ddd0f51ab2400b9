"""API keys of every kind, and clients that use them."""

import hashlib
from datetime import datetime
from typing import Any

import httpx
from fastapi import FastAPI
from sqlalchemy.dialects.postgresql import insert

from app.adapters.db.session import Database
from app.kernel.ids import NO_BUCKET, new_id
from app.platform.access.logic import check_sum
from app.platform.access.store import ApiKeyRow, ApiKeySecretRow
from tests.support.bank import ENGINE_URL
from tests.support.documented import CHECKED

_PREFIX = "omb_"
_BODY_CHARS = 43


async def make_key(
    database: Database,
    now: datetime,
    *roles: str,
    display_name: str = "a test's",
    permissions: list[str] | None = None,
    projects: list[str] | None = None,
    engines: list[str] | None = None,
    scope_conditions: dict[str, list[str]] | None = None,
    expire_time: datetime | None = None,
    revoke_time: datetime | None = None,
) -> str:
    """Store a key; return its secret, of which `id_of` tells the key's id."""
    key_id = str(new_id(now, NO_BUCKET))
    # With the check sum of a minted one: it is looked up at once, whatever was asked for before.
    body = _PREFIX + key_id.rjust(_BODY_CHARS, "0")
    secret = body + check_sum(body)
    key: dict[str, Any] = {
        "key_id": key_id,
        "display_name": display_name,
        "roles": list(roles),
        "permissions": permissions or [],
        "projects": projects,
        "engines": engines,
        "scope_conditions": scope_conditions,
        "create_time": now,
        "expire_time": expire_time,
        "revoke_time": revoke_time,
    }
    stands_for_it = {
        "secret_hash": hashlib.sha256(secret.encode()).digest(),
        "key_id": key_id,
        "is_minted": True,
        "create_time": now,
    }
    async with database.transaction() as session:
        await session.execute(insert(ApiKeyRow).values(key))
        await session.execute(insert(ApiKeySecretRow).values(stands_for_it))
    return secret


def id_of(secret: str) -> str:
    """Return the id of the key that was stored with a secret."""
    return secret[len(_PREFIX) : len(_PREFIX) + _BODY_CHARS].lstrip("0")


def client_with(app: FastAPI, secret: str | None, base_url: str = ENGINE_URL) -> httpx.AsyncClient:
    """Return a client that sends the secret; paths are relative to the first engine."""
    headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
    transport = httpx.ASGITransport(app=app)
    return httpx.AsyncClient(
        transport=transport, base_url=base_url + "/", headers=headers, event_hooks=CHECKED
    )
