"""Many generations at once, two worker processes, one of them killed with -9 in the middle."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.bank import Json
from tests.support.forks import Process
from tests.support.literal_model import literal
from tests.support.model_server import ModelServer, model_server, slow
from tests.support.workers import own_database, scripted, without_worker, worker

_GENERATIONS = 30
_LEASE_SECONDS = 2
_SOON_SECONDS = 90
_SHARED = "I like green tea."
_MODEL_SECONDS = 0.01


@pytest.fixture
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with own_database(tmp_path_factory.mktemp("workers")) as url:
        yield url


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as found:
        found.always(slow(_MODEL_SECONDS, literal))
        yield found


def writing_worker(url: str, server: ModelServer) -> AbstractContextManager[Process]:
    """Run a worker that generates with the scripted model."""
    return worker(url, **scripted(server), worker_lease_seconds=_LEASE_SECONDS)


@pytest.fixture
async def client(database: str, server: ModelServer, tmp_path: Path) -> AsyncIterator[Any]:
    async with without_worker(database, tmp_path, **scripted(server)) as (client, _):
        yield client


async def generate(client: httpx.AsyncClient, user: str, number: int) -> None:
    texts = [_SHARED, f"I own the red bicycle with the number {number}."]
    events = [{"content": {"role": "user", "parts": [{"text": text}]}} for text in texts]
    body = {"scope": {"user_id": user}, "directContentsSource": {"events": events}}
    answer = await client.post("/memories:generate", json=body)
    assert answer.status_code == 200, answer.text


async def ended(client: httpx.AsyncClient, share: float = 1) -> list[Json]:
    """Return the operations once a share of them has ended."""
    deadline = time.monotonic() + _SOON_SECONDS
    while True:
        answer = await client.get("/operations", params={"pageSize": 1000})
        found: list[Json] = answer.json()["operations"]
        if sum(one["done"] for one in found) >= share * len(found):
            return found
        assert time.monotonic() < deadline, Counter(one["done"] for one in found)
        await asyncio.sleep(0.3)


async def facts(client: httpx.AsyncClient, user: str) -> Counter[str]:
    body = {"scope": {"user_id": user}}
    answer = (await client.post("/memories:retrieve", json=body)).json()
    return Counter(one["memory"]["fact"] for one in answer["retrievedMemories"])


async def test_nothing_is_lost_or_done_twice(
    client: httpx.AsyncClient, database: str, server: ModelServer
) -> None:
    numbers = range(_GENERATIONS)
    with writing_worker(database, server), writing_worker(database, server) as victim:
        await asyncio.gather(
            *(generate(client, "shared", number) for number in numbers),
            *(generate(client, f"user-{number}", number) for number in numbers),
        )
        await ended(client, 0.4)
        victim.kill()
        operations = await ended(client)
    assert [one.get("error") for one in operations if "error" in one] == []
    own = {n: f"I own the red bicycle with the number {n}." for n in numbers}
    assert await facts(client, "shared") == Counter([_SHARED, *own.values()])
    for number in numbers:
        assert await facts(client, f"user-{number}") == Counter([_SHARED, own[number]])
    await check_history(client)


async def check_history(client: httpx.AsyncClient) -> None:
    """See that every generation of the one scope has left one revision of what they share."""
    listed = (await client.get("/memories", params={"pageSize": 1000})).json()["memories"]
    (shared,) = [
        one for one in listed if one["fact"] == _SHARED and one["scope"]["user_id"] == "shared"
    ]
    path = "/memories/" + shared["name"].rpartition("/")[2]
    params = {"pageSize": 1000}
    found = (await client.get(f"{path}/revisions", params=params)).json()["memoryRevisions"]
    assert shared["etag"] == str(_GENERATIONS)
    assert [one["action"] for one in found] == ["UPDATED"] * (_GENERATIONS - 1) + ["CREATED"]
    assert len({one["operation"] for one in found}) == _GENERATIONS
