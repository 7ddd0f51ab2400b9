"""Requests that answer an operation, followed to its end."""

from typing import Any

import httpx

from app.platform.operations.services.runner import Runner

USER = {"user_id": "42"}


async def create_memory(
    client: httpx.AsyncClient, fact: str, scope: dict[str, str] | None = None, **fields: Any
) -> dict[str, Any]:
    """Create a memory and return it."""
    answer = await client.post("/memories", json={"fact": fact, "scope": scope or USER, **fields})
    assert answer.status_code == 200, answer.text
    memory: dict[str, Any] = answer.json()["response"]
    del memory["@type"]
    return memory


async def create_memories(
    client: httpx.AsyncClient, *facts: str, scope: dict[str, str] | None = None, **fields: Any
) -> list[dict[str, Any]]:
    """Create memories in one request, and return them; all have the `fields`."""
    requests = [{"memory": {"fact": one, "scope": scope or USER, **fields}} for one in facts]
    answer = await client.post("/memories:batchCreate", json={"requests": requests})
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["response"]["memories"]
    return found


async def generate(
    client: httpx.AsyncClient, runner: Runner, *texts: str, **fields: Any
) -> list[dict[str, Any]]:
    """Generate memories from turns of a user; return what the operation says was generated."""
    events = [{"content": {"role": "user", "parts": [{"text": text}]}} for text in texts]
    body = {"scope": USER, "directContentsSource": {"events": events}, **fields}
    answer = await client.post("/memories:generate", json=body)
    assert answer.status_code == 200, answer.text
    await runner.run_pending()
    operation = (await client.get(path_of(answer.json()["name"]))).json()
    assert operation["done"], operation
    assert "error" not in operation, operation
    found: list[dict[str, Any]] = operation["response"].get("generatedMemories", [])
    return found


def asked(kind: str, operation: dict[str, Any], **changed: Any) -> dict[str, Any]:
    """Return the metadata of an operation that was done within its request, but for its times.

    The caller's id is taken from the operation, which must have one.
    """
    caller = operation["metadata"]["caller"]
    return {"kind": kind, "state": "SUCCEEDED", "attemptCount": 0, "caller": caller, **changed}


def path_of(name: str) -> str:
    """Return a resource's path as the client takes it, from its full name."""
    return name.partition("/reasoningEngines/1")[2]
