"""A re-embedding whose worker is killed with -9: its successor goes on, and asks for little again.

The model's server counts what it was asked for.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from tests.support.bank import ENGINE_URL, Json, ok
from tests.support.forks import Process
from tests.support.model_server import ModelServer, model_server, slow
from tests.support.sweeping import sweep
from tests.support.workers import own_database, without_worker, worker

_MEMORIES = 600
_BATCH = 16
_LEASE_SECONDS = 1
_SOON_SECONDS = 90


@pytest.fixture
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with own_database(tmp_path_factory.mktemp("reembed")) as url:
        yield url


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as found:
        found.always(slow(0.05, {}))
        yield found


def next_worker(url: str, server: ModelServer) -> AbstractContextManager[Process]:
    """Run a worker with the next model in its settings."""
    return worker(
        url,
        **_next_model(server),
        reembed_batch_rows=_BATCH,
        reembed_pause_seconds=0,
        embedding_retry_seconds=0.2,
        worker_lease_seconds=_LEASE_SECONDS,
    )


@pytest.fixture
async def client(database: str, server: ModelServer, tmp_path: Path) -> AsyncIterator[Any]:
    """A client of a server that has the next model in its settings; the former is the hashing."""
    async with without_worker(database, tmp_path, embedder="hash") as (former, _):
        await fill(former)
    async with without_worker(database, tmp_path, **_next_model(server)) as found:
        yield found


def _next_model(server: ModelServer) -> dict[str, Any]:
    return {"embedder": "http", "embedding_base_url": server.url, "embedding_model": "next"}


def fact(number: int) -> str:
    return f"I own the red bicycle with the number {number}."


async def fill(client: httpx.AsyncClient) -> None:
    for number in range(_MEMORIES):
        body = {"fact": fact(number), "scope": {"user_id": str(number % 7)}}
        ok(await client.post("/memories", json=body))


async def until(client: httpx.AsyncClient, name: str, is_it: Any) -> Json:
    """Return the operation once it is as wanted."""
    deadline = time.monotonic() + _SOON_SECONDS
    while True:
        found = ok(await client.get(f"http://test/v1beta1/{name}"))
        if is_it(found):
            return found
        assert time.monotonic() < deadline, found
        await asyncio.sleep(0.05)


async def test_nothing_is_lost_and_at_most_one_batch_is_embedded_again(
    client: tuple[httpx.AsyncClient, Any], database: str, server: ModelServer
) -> None:
    http, resources = client
    name = ok(await http.post(f"{ENGINE_URL}:reembed"))["name"]
    with next_worker(database, server) as victim:
        await until(http, name, lambda one: one["metadata"].get("embeddedCount", 0) >= 200)
        victim.kill()
        victim.wait()
    found = ok(await http.get(f"http://test/v1beta1/{name}"))
    assert not found["done"]
    # Meanwhile the former model serves, for what is written, too.
    late = ok(await http.post("/memories", json={"fact": "Late.", "scope": {"user_id": "0"}}))
    body = {"scope": {"user_id": "0"}, "similaritySearchParams": {"searchQuery": fact(0)}}
    nearest = ok(await http.post("/memories:retrieve", json=body))["retrievedMemories"][0]
    assert nearest["memory"]["fact"] == fact(0)
    with next_worker(database, server):
        done = await until(http, name, lambda one: one["done"])
        await settled(resources)
    assert done["response"]["embeddingModel"] == "http:next"
    assert done["metadata"]["percent"] == 100
    asked = Counter(one for seen in server.seen for one in seen.body["input"])
    facts = {fact(number) for number in range(_MEMORIES)} | {"Late."}
    assert facts <= asked.keys()
    again = sum(asked[one] - 1 for one in facts)
    assert again <= _BATCH, again
    assert late["response"]["fact"] == "Late."
    assert await models(resources) == [("http:next", len(facts))]


async def settled(resources: Any) -> None:
    """Wait until the worker's sweep would have nothing to remove; do its work here."""
    for _ in range(2):
        await sweep(resources, "stale vectors")


async def models(resources: Any) -> list[tuple[str, int]]:
    """Return how many vectors there are of each model."""
    statement = "select model_id, count(*) from memory_vectors group by model_id order by 1"
    async with resources.db.snapshot() as session:
        return [tuple(row) for row in await session.execute(text(statement))]
