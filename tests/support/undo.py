"""Undos in the API tests, followed to their end."""

from typing import Any

import httpx

from app.platform.operations.services.runner import Runner
from tests.support.bank import Json, id_of, ok
from tests.support.operations import path_of


async def ask(client: httpx.AsyncClient, operation: str, **body: Any) -> httpx.Response:
    """Ask for the undo of an operation, by its name."""
    return await client.post(f"{path_of(operation)}:undo", json=body or None)


async def undo(client: httpx.AsyncClient, runner: Runner, operation: str, **body: Any) -> Json:
    """Undo an operation, which must succeed; return the operation that did so."""
    queued = ok(await ask(client, operation, **body))
    assert not queued["done"]
    await runner.run_pending()
    done = ok(await client.get(path_of(queued["name"])))
    assert "response" in done, done
    return done


def undone(operation: Json) -> dict[str, str]:
    """Return what an undo did, by the ids of the memories."""
    entries = operation["response"].get("undoneMemories", [])
    assert operation["metadata"]["undoneCount"] == len(entries)
    return {id_of(entry["memory"]): entry["action"] for entry in entries}


def skipped(operation: Json) -> dict[str, str]:
    """Return what an undo left alone and why, by the ids of the memories."""
    entries = operation["response"].get("skippedMemories", [])
    assert operation["metadata"]["skippedCount"] == len(entries)
    return {id_of(entry["memory"]): entry["reason"] for entry in entries}
