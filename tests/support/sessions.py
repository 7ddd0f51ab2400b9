"""Sessions and their events, as the API tests make and read them."""

from typing import Any

import httpx

from tests.support.bank import Json, ok
from tests.support.operations import path_of

WHEN = "2026-01-15T12:00:00Z"


async def create_session(
    client: httpx.AsyncClient, session_id: str | None = None, **fields: Any
) -> Json:
    """Create a session of the user 42, unless another is given, and return it."""
    params = {} if session_id is None else {"sessionId": session_id}
    body = {"userId": "42", **fields}
    session: Json = ok(await client.post("/sessions", params=params, json=body))["response"]
    assert session.pop("@type").endswith(".Session")
    return session


async def new_path(client: httpx.AsyncClient, **fields: Any) -> str:
    """Create a session and return its path."""
    return path_of((await create_session(client, **fields))["name"])


def event(text: str = "hello", **fields: Any) -> Json:
    """Return an event of the user."""
    content = {"role": "user", "parts": [{"text": text}]}
    base = {"author": "user", "invocationId": "i", "timestamp": WHEN, "content": content}
    return {**base, **fields}


async def append(client: httpx.AsyncClient, path: str, text: str = "hello", **fields: Any) -> None:
    """Append an event to the session at a path."""
    assert ok(await client.post(f"{path}:appendEvent", json=event(text, **fields))) == {}


async def events(client: httpx.AsyncClient, path: str, **params: str | int) -> list[Json]:
    """Return a page of a session's events."""
    page = ok(await client.get(f"{path}/events", params=params))
    found: list[Json] = page["sessionEvents"]
    return found


async def texts(client: httpx.AsyncClient, path: str, **params: str | int) -> list[str]:
    """Return what a page of a session's events says."""
    page = await events(client, path, **params)
    return [one["content"]["parts"][0]["text"] for one in page]


async def state(client: httpx.AsyncClient, path: str) -> Json:
    """Return a session's state."""
    found: Json = ok(await client.get(path))["sessionState"]
    return found


async def ids(client: httpx.AsyncClient, **params: str | int) -> list[str]:
    """Return the ids of a page of sessions."""
    page = ok(await client.get("/sessions", params=params))
    return [one["name"].rpartition("/")[2] for one in page["sessions"]]
