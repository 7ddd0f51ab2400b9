"""The audit log in the API tests."""

import json
from typing import Any

import httpx
from sqlalchemy import select

from app.adapters.db.session import Database
from app.platform.audit.store import AuditEventRow, ServiceEventRow
from tests.support.bank import ENGINE_URL, Json, ok

ALL_URL = "http://test/v1/auditEvents"
"""The log of the whole service."""


async def events(client: httpx.AsyncClient, text: str | None = None, **params: Any) -> list[Json]:
    """Return a page of the first engine's events, newest first."""
    return await listed(client, f"{ENGINE_URL}/auditEvents", text, **params)


async def all_events(
    client: httpx.AsyncClient, text: str | None = None, **params: Any
) -> list[Json]:
    """Return a page of the service's events, newest first."""
    return await listed(client, ALL_URL, text, **params)


async def listed(
    client: httpx.AsyncClient, url: str, text: str | None = None, **params: Any
) -> list[Json]:
    """Return the events at an address, of those that match a filter's text."""
    if text is not None:
        params["filter"] = text
    found: list[Json] = ok(await client.get(url, params=params))["auditEvents"]
    return found


async def exported(client: httpx.AsyncClient, url: str, **params: Any) -> list[Json]:
    """Return what an export holds, in its order."""
    answer = await client.get(f"{url}:export", params=params)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert answer.text.endswith("\n") or not answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


async def stored(database: Database) -> list[AuditEventRow | ServiceEventRow]:
    """Return every event there is, oldest first."""
    async with database.snapshot() as session:
        of_engines = (await session.scalars(select(AuditEventRow))).all()
        of_none = (await session.scalars(select(ServiceEventRow))).all()
    return sorted([*of_engines, *of_none], key=lambda row: (row.create_time, row.event_id))


async def results(database: Database) -> list[tuple[str, str, str | None]]:
    """Return method, result and reason of every event, oldest first."""
    return [(row.method, row.result, row.reason) for row in await stored(database)]
