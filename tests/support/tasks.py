"""Task memory, as the API tests use it."""

import hashlib
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
from sqlalchemy import text

from app.adapters.db.session import Database
from tests.support.bank import Json, ok

Sweep = Callable[[], Awaitable[None]]
MEMORY = "/taskMemories/tools"
NAMESPACE = f"{MEMORY}/namespaces/n"
ARTIFACT = f"{NAMESPACE}/artifacts/a"
AGENT = ["artifacts.write", "artifacts.reference", "artifacts.derive"]
"""What the key of an agent may do."""
TABLES = ("task_namespaces", "task_artifacts", "task_pages", "task_chunks", "task_vectors")


def text_output(content: str, **fields: Any) -> Json:
    return {"kind": "text", "text": content, **fields}


async def process(client: httpx.AsyncClient, output: Json, **fields: Any) -> httpx.Response:
    """Hand over an output of the tool `web`."""
    body = {"tool": "web", "activity": "fetch", "output": output, **fields}
    return await client.post(f"{MEMORY}:processOutput", json=body)


async def store(
    client: httpx.AsyncClient, *artifacts: Json, path: str = NAMESPACE, **fields: Any
) -> httpx.Response:
    return await client.post(f"{path}:store", json={"artifacts": [*artifacts], **fields})


async def upload(
    client: httpx.AsyncClient,
    content: bytes,
    path: str = ARTIFACT,
    media_type: str = "application/octet-stream",
    **options: Any,
) -> httpx.Response:
    headers = {"Content-Type": media_type, **options.pop("headers", {})}
    return await client.put(path, content=content, headers=headers, **options)


async def names(client: httpx.AsyncClient, path: str = NAMESPACE) -> list[str]:
    """Return the last parts of the names of a namespace's artifacts."""
    listed = ok(await client.get(f"{path}/artifacts"))["artifacts"]
    return [one["name"].rpartition("/")[2] for one in listed]


async def stored(database: Database) -> dict[str, int]:
    """Return how many rows there are in each table of task memory."""
    async with database.snapshot() as session:
        return {
            table: (await session.execute(text(f"select count(*) from {table}"))).scalar_one()
            for table in TABLES
        }


NOTHING = dict.fromkeys(TABLES, 0)


def hexadecimal(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
