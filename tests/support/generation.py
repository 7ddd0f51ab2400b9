"""Generations in the API tests: sources, requests, and operations followed to their end."""

import httpx

from app.platform.operations.services.runner import Runner
from tests.support.bank import Json, ok
from tests.support.operations import USER, path_of


def said(*texts: str, role: str | None = "user") -> Json:
    """Return a source of turns that one role said."""
    content = {} if role is None else {"role": role}
    return events(*({**content, "parts": [{"text": text}]} for text in texts))


def events(*contents: Json) -> Json:
    """Return a source of turns with any content."""
    return {"directContentsSource": {"events": [{"content": one} for one in contents]}}


def given(*facts: str, **fields: object) -> Json:
    """Return a source of facts, as the official client writes it; each with the `fields`."""
    return {"directMemoriesSource": {"direct_memories": [{"fact": f, **fields} for f in facts]}}


async def start(client: httpx.AsyncClient, source: Json, **fields: object) -> str:
    """Queue a generation; return the path of its operation."""
    answer = await client.post("/memories:generate", json={"scope": USER, **source, **fields})
    return path_of(ok(answer)["name"])


async def run(client: httpx.AsyncClient, runner: Runner, source: Json, **fields: object) -> Json:
    """Run a generation to its end, which must be a success; return its operation."""
    path = await start(client, source, **fields)
    await runner.run_pending()
    operation = ok(await client.get(path))
    assert operation["done"], operation
    assert "error" not in operation, operation
    return operation


async def changes(
    client: httpx.AsyncClient, runner: Runner, source: Json, **fields: object
) -> list[Json]:
    """Run a generation; return what it says was generated."""
    operation = await run(client, runner, source, **fields)
    found: list[Json] = operation["response"].get("generatedMemories", [])
    return found


async def actions(
    client: httpx.AsyncClient, runner: Runner, source: Json, **fields: object
) -> list[str]:
    """Run a generation; return its actions in order."""
    return [one["action"] for one in await changes(client, runner, source, **fields)]
