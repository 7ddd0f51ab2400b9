"""A worker killed with -9 between the model's answer and the commit: one summary in the end.

The model's server is on the loopback address, and speaks a provider's protocol.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from app.adapters.db.session import Database
from tests.support.bank import Json
from tests.support.forks import Process
from tests.support.locks import until_waiting
from tests.support.model_server import ModelServer, model_server
from tests.support.summaries import BY_THREE, context, covers, session_with, summaries, talk
from tests.support.workers import own_database, scripted, without_worker, worker

_LEASE_SECONDS = 1
_SOON_SECONDS = 60


@pytest.fixture
def database_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with own_database(tmp_path_factory.mktemp("summarize")) as url:
        yield url


def answer(request: Mapping[str, Any]) -> Json:
    """Tell how long the conversation was."""
    told = str(request["messages"][-1]["content"])
    return {"summary": f"A conversation of {told.count('Human:')} questions."}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as found:
        found.always(answer)
        yield found


def summarizing(url: str, server: ModelServer) -> AbstractContextManager[Process]:
    return worker(url, **scripted(server), worker_lease_seconds=_LEASE_SECONDS)


@pytest.fixture
async def service(
    database_url: str, server: ModelServer, tmp_path: Path
) -> AsyncIterator[tuple[httpx.AsyncClient, Database]]:
    """A client of the service, which runs no worker itself, and its database."""
    async with without_worker(database_url, tmp_path, **scripted(server)) as (client, resources):
        yield client, resources.db


async def until_answered(server: ModelServer, database: Database) -> None:
    """Wait until a worker has its answer, and waits for the session's row."""
    deadline = time.monotonic() + _SOON_SECONDS
    while not server.seen:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)
    await until_waiting(database)


async def until_summarised(client: httpx.AsyncClient, path: str) -> None:
    deadline = time.monotonic() + _SOON_SECONDS
    while not await summaries(client, path):
        assert time.monotonic() < deadline
        await asyncio.sleep(0.1)


async def test_a_worker_killed_after_the_answer_leaves_one_summary_in_the_end(
    service: tuple[httpx.AsyncClient, Database], database_url: str, server: ModelServer
) -> None:
    client, database = service
    path = await session_with(client, **BY_THREE)
    await talk(client, path, 1, 2, 3)
    with summarizing(database_url, server) as victim:
        # The session's row is held, so that the worker has its answer and cannot write it.
        async with database.transaction() as session:
            await session.execute(text("select 1 from sessions for update"))
            await until_answered(server, database)
            victim.kill()
            victim.wait()
    assert await summaries(client, path) == []
    assert (await context(client, path))["coverage"]["verbatim"] == [{"firstSeq": 1, "lastSeq": 6}]
    with summarizing(database_url, server):
        await until_summarised(client, path)
    assert await covers(client, path) == [(1, 6)]
    assert await summaries(client, path, state=None) == await summaries(client, path)
    (found,) = await summaries(client, path)
    assert found["text"] == "A conversation of 3 questions."
    assert found["model"] == "openai:scripted"
    assert len(server.seen) == 2
