"""A failed generation retried by a worker that is killed with -9: one memory in the end.

The model's server is on the loopback address, and speaks a provider's protocol. The command line
lists and retries what failed.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import httpx
import pytest

from tests.support import forks
from tests.support.bank import Json, listed, ok
from tests.support.forks import Process
from tests.support.generation import said, start
from tests.support.live import KEY, LiveServer, live_server
from tests.support.model_server import ModelServer, model_server, slow, status
from tests.support.operations import path_of
from tests.support.scripted import facts
from tests.support.workers import own_database, scripted, worker

TEA = "I like tea."
_SOON_SECONDS = 60


@pytest.fixture
def database_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with own_database(tmp_path_factory.mktemp("retry")) as url:
        yield url


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as found:
        found.always(status(500))
        yield found


@pytest.fixture
def service(database_url: str, server: ModelServer, tmp_path: Path) -> Iterator[LiveServer]:
    """A server that runs no worker."""
    settings = {f"MEMORY_BANK_{name.upper()}": text for name, text in scripted(server).items()}
    with live_server(tmp_path, MEMORY_BANK_DATABASE_URL=database_url, **settings) as found:
        yield found


@pytest.fixture
async def client(service: LiveServer) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(
        base_url=f"{service.url}/v1beta1/reasoningEngines/1",
        headers={"Authorization": f"Bearer {KEY}"},
    ) as found:
        yield found


def _working(url: str, server: ModelServer, attempts: int) -> AbstractContextManager[Process]:
    return worker(
        url,
        **scripted(server),
        model_max_attempts=1,
        model_breaker_failures=1_000,
        worker_max_attempts=attempts,
        worker_retry_base_seconds=0.2,
        worker_lease_seconds=1,
    )


def _operations(
    service: LiveServer, *arguments: str, given: str = "", status: int = 0
) -> list[str]:
    """Run `memory-bank operations` with a text to read; return the lines that it prints."""
    named = {"MEMORY_BANK_CLIENT_URL": service.url, "MEMORY_BANK_CLIENT_KEY": KEY}
    command = ["-m", "app.process.cli", "operations", *arguments]
    done = forks.run(command, {**os.environ, **named}, _SOON_SECONDS, given)
    assert done.returncode == status, done.stderr
    return done.stdout.splitlines()


async def _until(is_so: Callable[[], Awaitable[bool]]) -> None:
    deadline = time.monotonic() + _SOON_SECONDS
    while not await is_so():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)


async def test_a_retry_outlives_its_worker_and_makes_one_memory(
    client: httpx.AsyncClient, service: LiveServer, database_url: str, server: ModelServer
) -> None:
    path = await start(client, said(TEA))

    async def is_done() -> bool:
        return bool(ok(await client.get(path))["done"])

    with _working(database_url, server, attempts=2):
        await _until(is_done)
    failed = ok(await client.get(path))
    assert "error" in failed
    assert len(server.seen) == 2
    (line,) = await asyncio.to_thread(_operations, service, "list", "--failed")
    name, _, reason = line.split()
    assert (name, reason) == (failed["name"], "MODEL_UNAVAILABLE")
    # As `operations list --failed | operations retry` has it.
    read = partial(_operations, service, "retry", given=f"\n{line}\n")
    (newer,) = await asyncio.to_thread(read)
    refused = await asyncio.to_thread(_operations, service, "retry", name, "x", status=1)
    assert refused[0] == f"{name} was retried; see {newer}."
    assert len(refused) == 2

    server.always(slow(_SOON_SECONDS, facts(TEA)))
    with _working(database_url, server, attempts=2) as victim:

        async def is_asked() -> bool:
            return len(server.seen) == 3

        await _until(is_asked)
        victim.kill()
        victim.wait()
    server.always(facts(TEA))
    path = path_of(newer)
    with _working(database_url, server, attempts=3):
        await _until(is_done)
    assert "response" in ok(await client.get(path))
    assert await listed(client) == [TEA]
    assert _newest(await _all(client)) == newer


async def _all(client: httpx.AsyncClient) -> list[Json]:
    found: list[Json] = ok(await client.get("/operations"))["operations"]
    return found


def _newest(operations: list[Json]) -> str:
    name: str = operations[0]["name"]
    assert len(operations) == 2
    return name
