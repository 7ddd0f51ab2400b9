"""A bank whose embedding model is behind HTTP: away at the start, back, and of another length."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx
import pytest
from structlog.testing import capture_logs

from app.adapters.resources import Resources
from app.kernel.errors import Reason, ServiceError
from app.memory.memories.store.tables import UnembeddedRow
from app.memory.reembedding.service import Backlog
from app.process.main import create_app
from app.process.start import open_process
from app.process.worker import make_runner
from app.settings.settings import Settings
from tests.conftest import ADMIN_KEY
from tests.support.bank import ENGINE_URL, Json, count, ok, refusal
from tests.support.keys import client_with
from tests.support.model_server import ModelServer, slow, status

TEA: Json = {"fact": "I like tea.", "scope": {"user_id": "42"}}
AT_START = ["embedder.opened", "embedder.warm_failed"]
QUERY: Json = {
    "scope": {"user_id": "42"},
    "similaritySearchParams": {"searchQuery": "I like tea."},
}


@asynccontextmanager
async def started(
    url: str, folder: Path, server: ModelServer, **given: object
) -> AsyncIterator[tuple[Resources, httpx.AsyncClient]]:
    """Open a process as it starts, with its model behind HTTP, and wait until it has been asked."""
    values = {
        "data_dir": folder,
        "database_url": url,
        "admin_key": ADMIN_KEY,
        "embedder": "http",
        "embedding_base_url": server.url,
        "embedding_model": "small",
        "embedding_retry_seconds": 0.01,
        "model_max_attempts": 1,
        "model_breaker_failures": 100,
    }
    async with open_process(Settings.model_validate(values | given)) as found:
        with suppress(ServiceError):
            await found.resources.embedder.warm()
        async with client_with(create_app(found.resources), ADMIN_KEY) as client:
            yield found.resources, client


async def found_by(client: httpx.AsyncClient, text: str = "I like tea.") -> Json:
    body = {**QUERY, "similaritySearchParams": {"searchQuery": text}}
    (found,) = ok(await client.post("/memories:retrieve", json=body))["retrievedMemories"]
    assert found["memory"]["fact"] == "I like tea."
    return dict(found)


@pytest.mark.usefixtures("database")
async def test_a_server_that_is_away_at_the_start_keeps_nobody_waiting(
    database_url: str, tmp_path: Path, server: ModelServer
) -> None:
    server.always(status(503))
    async with started(database_url, tmp_path, server) as (resources, client):
        assert (await client.get("http://test/readyz")).status_code == 200
        ok(await client.post("/memories", json=TEA))
        await found_by(client)
        assert await Backlog.of(resources).run() == 0
        server.reset()
        await asyncio.sleep(0.05)
        assert await Backlog.of(resources).run() == 1
        assert await found_by(client)


@pytest.mark.usefixtures("database")
async def test_a_search_waits_for_a_slow_server_no_longer_than_it_may(
    database_url: str, tmp_path: Path, server: ModelServer
) -> None:
    quick = started(database_url, tmp_path, server, embedding_query_seconds=0.2)
    async with quick as (_, client):
        ok(await client.post("/memories", json=TEA))
        server.always(slow(60, {}))
        async with asyncio.timeout(30):
            await found_by(client, "Do I like tea?")


@pytest.mark.usefixtures("database")
async def test_vectors_of_another_length_are_told_at_the_start_and_refused(
    database_url: str, tmp_path: Path, server: ModelServer
) -> None:
    async with started(database_url, tmp_path, server) as (_, client):
        ok(await client.post("/memories", json=TEA))
    server.dimensions = 12
    with capture_logs() as logs:
        async with started(database_url, tmp_path, server) as (_, client):
            for _ in range(100):
                if len(logs) < len(AT_START):
                    await asyncio.sleep(0.05)
            answer = await client.post("/memories", json={**TEA, "fact": "New."})
            assert refusal(answer) == (400, "FAILED_PRECONDITION")
            detail = answer.json()["error"]["details"][0]
            assert detail["reason"] == Reason.EMBEDDING_LENGTH_CHANGED
            assert detail["metadata"] == {"model": "http:small", "stored": "8", "given": "12"}
            await found_by(client)
    assert [one["event"] for one in logs[:2]] == AT_START


@pytest.mark.usefixtures("database")
async def test_with_a_revision_it_is_another_model_that_a_reembedding_brings(
    database_url: str, tmp_path: Path, server: ModelServer
) -> None:
    async with started(database_url, tmp_path, server) as (_, client):
        ok(await client.post("/memories", json=TEA))
    server.dimensions = 12
    again = started(database_url, tmp_path, server, embedding_revision="2")
    async with again as (resources, client):
        name = ok(await client.post(f"{ENGINE_URL}:reembed"))["name"]
        await make_runner(resources).run_pending()
        done = ok(await client.get(f"/operations/{name.rpartition('/')[2]}"))
        assert done["response"]["embeddingModel"] == "http:small@2"
        ok(await client.post("/memories", json={**TEA, "fact": "New."}))
        found = ok(await client.post("/memories:retrieve", json=QUERY))["retrievedMemories"]
        assert found[0]["memory"]["fact"] == "I like tea."


@pytest.mark.usefixtures("database")
async def test_a_fact_that_the_server_refuses_is_passed_over(
    database_url: str, tmp_path: Path, server: ModelServer
) -> None:
    async with started(database_url, tmp_path, server) as (_, client):
        name = ok(await client.post("/memories", json=TEA))["response"]["name"]
    again = started(database_url, tmp_path, server, embedding_revision="2")
    async with again as (resources, client):
        queued = ok(await client.post(f"{ENGINE_URL}:reembed"))["name"]
        server.will(status(400))
        await make_runner(resources).run_pending()
        done = ok(await client.get(f"/operations/{queued.rpartition('/')[2]}"))
        assert done["response"]["refusedMemories"] == [name]
        await found_by(client)
        # It was asked whether it takes any other text.
        (probe,) = server.seen[-2].body["input"]
        assert probe.startswith("Hello ")


@pytest.mark.parametrize("code", [401, 404])
@pytest.mark.usefixtures("database")
async def test_a_server_that_takes_no_request_refuses_no_fact(
    database_url: str, tmp_path: Path, server: ModelServer, code: int
) -> None:
    async with started(database_url, tmp_path, server) as (_, client):
        ok(await client.post("/memories", json=TEA))
    again = started(database_url, tmp_path, server, embedding_revision="2")
    async with again as (resources, client):
        queued = ok(await client.post(f"{ENGINE_URL}:reembed"))["name"]
        server.always(status(code))
        await make_runner(resources).run_pending()
        done = ok(await client.get(f"/operations/{queued.rpartition('/')[2]}"))
        assert done["error"]["details"][0]["reason"] == Reason.MODEL_REFUSED
        assert await count(resources.db, UnembeddedRow) == (0,)
