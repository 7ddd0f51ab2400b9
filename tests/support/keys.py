"""API keys of every kind, and clients that use them."""

import hashlib
from datetime import datetime
from typing import Any

import httpx
from fastapi import FastAPI
from sqlalchemy.dialects.postgresql import insert

from app.access.tables import ApiKeyRow, ApiKeySecretRow
from app.core.ids import new_id
from app.db.session import Database
from tests.support.bank import ENGINE_URL


async def make_key(
    database: Database,
    now: datetime,
    *roles: str,
    permissions: list[str] | None = None,
    projects: list[str] | None = None,
    engines: list[str] | None = None,
    scope_conditions: dict[str, list[str]] | None = None,
    expire_time: datetime | None = None,
    revoke_time: datetime | None = None,
) -> str:
    """Store a key; return its secret, from which its id can be told: `secret-of-<id>`."""
    key_id = str(new_id(now))
    secret = f"secret-of-{key_id}"
    key: dict[str, Any] = {
        "key_id": key_id,
        "display_name": "a test's",
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
        "is_minted": False,
        "create_time": now,
    }
    async with database.transaction() as session:
        await session.execute(insert(ApiKeyRow).values(key))
        await session.execute(insert(ApiKeySecretRow).values(stands_for_it))
    return secret


def client_with(app: FastAPI, secret: str | None, base_url: str = ENGINE_URL) -> httpx.AsyncClient:
    """Return a client that sends the secret; paths are relative to the first engine."""
    headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
    transport = httpx.ASGITransport(app=app)
    return httpx.AsyncClient(transport=transport, base_url=base_url + "/", headers=headers)
