"""A worker that embeds a namespace is killed with -9: the next goes on, and asks for little again.

The model's server is on the loopback address, and counts what it was asked for.
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

from app.adapters.db.session import Database
from tests.support.bank import ok
from tests.support.forks import Process
from tests.support.model_server import ModelServer, model_server, slow
from tests.support.tasks import store, text_output
from tests.support.workers import own_database, without_worker, worker

_PIECES = 320
_BATCH = 64
_SOON_SECONDS = 60


@pytest.fixture
def database_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with own_database(tmp_path_factory.mktemp("vectors")) as url:
        yield url


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as found:
        found.always(slow(0.05, {}))
        yield found


@pytest.fixture
async def service(
    database_url: str, server: ModelServer, tmp_path: Path
) -> AsyncIterator[tuple[httpx.AsyncClient, Database]]:
    """A client of the service, which runs no worker itself, and its database."""
    async with without_worker(database_url, tmp_path, **_embedding(server)) as (client, resources):
        yield client, resources.db


def embedding(url: str, server: ModelServer) -> AbstractContextManager[Process]:
    return worker(url, **_embedding(server), worker_lease_seconds=1)


def _embedding(server: ModelServer) -> dict[str, Any]:
    found = {"embedding_base_url": server.url, "embedding_model": "bge-m3"}
    return {"embedder": "http", **found}


async def until(database: Database, count: int) -> None:
    """Wait until so many pieces have their vectors."""
    deadline = time.monotonic() + _SOON_SECONDS
    while await _count(database) < count:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)


async def _count(database: Database) -> int:
    async with database.snapshot() as session:
        found = await session.execute(text("select count(*) from task_vectors"))
    count: int = found.scalar_one()
    return count


async def test_all_is_embedded_and_at_most_one_batch_twice(
    service: tuple[httpx.AsyncClient, Database], database_url: str, server: ModelServer
) -> None:
    client, database = service
    said = [f"Cup {number} has tea." for number in range(_PIECES)]
    ok(await store(client, *map(text_output, said), embeddingModel="http:bge-m3"))
    with embedding(database_url, server) as victim:
        await until(database, 2 * _BATCH)
        victim.kill()
        victim.wait()
    assert await _count(database) < _PIECES
    with embedding(database_url, server):
        await until(database, _PIECES)
    asked = Counter(one for seen in server.seen for one in seen.body["input"])
    assert set(said) <= asked.keys()
    assert sum(asked[one] - 1 for one in said) <= _BATCH
