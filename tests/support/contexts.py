"""Contexts of sessions, as the API tests ask for them."""

from collections.abc import Sequence
from typing import Any

import httpx

from tests.support.bank import Json, ok
from tests.support.sessions import WHEN, new_path

SUMMARY = "S" * 1_000
"""250 tokens, as the published figures have it."""
SYSTEM = "y" * 1_600
"""400 tokens."""
HALF = "x" * 200
"""50 tokens: two of them make an exchange of 100."""


def said(author: str, text: str, **fields: Any) -> Json:
    """Return an event for `events:batch`."""
    role = "user" if author == "user" else "model"
    content = {"role": role, "parts": [{"text": text}]}
    return {
        "author": author,
        "invocationId": "i",
        "timestamp": WHEN,
        "content": content,
        **fields,
    }


async def talk(client: httpx.AsyncClient, path: str, said_so_far: Sequence[Json]) -> None:
    """Append events to the session at a path."""
    for start in range(0, len(said_so_far), 500):
        batch = said_so_far[start : start + 500]
        ok(await client.post(f"{path}/events:batch", json={"events": batch}))


async def exchange(
    client: httpx.AsyncClient, path: str, asked: str = HALF, answered: str = HALF
) -> None:
    """Append an exchange."""
    ok(await client.post(f"{path}/exchanges", json={"input": asked, "output": answered}))


async def of_exchanges(client: httpx.AsyncClient, count: int, **fields: Any) -> str:
    """Create a session of exchanges of 100 tokens each; return its path."""
    path = await new_path(client, **fields)
    await talk(client, path, [said("user", HALF), said("agent", HALF)] * count)
    return path


async def of_events(client: httpx.AsyncClient, count: int, tokens: int = 100) -> str:
    """Create a session of so many events, each an exchange's half; return its path."""
    path = await new_path(client)
    text = "x" * (4 * tokens)
    authors = ["user", "agent"] * count
    await talk(client, path, [said(author, text) for author in authors[:count]])
    return path


async def context(client: httpx.AsyncClient, path: str, **asked: Any) -> Json:
    """Return the context of the session at a path."""
    return ok(await client.post(f"{path}:context", json=asked))


async def shown(client: httpx.AsyncClient, path: str, **asked: Any) -> list[str]:
    """Return the texts of a context's messages."""
    return [one["content"] for one in (await context(client, path, **asked))["messages"]]


def ranges(told: Sequence[Json]) -> list[tuple[int, int]]:
    """Return ranges of a coverage as pairs."""
    return [(one["firstSeq"], one["lastSeq"]) for one in told]


def detail(answer: httpx.Response) -> Json:
    """Return the ErrorInfo of an error."""
    found: Json = answer.json()["error"]["details"][0]
    return found
