"""A node of a distributed database that hangs: requests for the engines of others go on."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import TypeVar

import httpx
import pytest

from app.adapters.db.server import PLACES, SECONDS
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason
from app.process.features import register
from app.process.main import create_app
from tests.conftest import ADMIN_KEY
from tests.support.bank import ENGINE_URL, id_of, ok
from tests.support.errors import refusal
from tests.support.keys import client_with
from tests.support.nodes import HangingNode, distributed_with
from tests.support.operations import USER

_ENGINES = ENGINE_URL.rpartition("/")[0]
_KEYS = "http://test/v1beta1/keys"
_MOST_SECONDS = SECONDS - 0.5
"""Less than a statement over all shards may take."""
_SEARCH = {"scope": USER, "similaritySearchParams": {"searchQuery": "What do I drink?"}}

_V = TypeVar("_V")


@pytest.fixture
def node() -> HangingNode:
    return HangingNode()


@pytest.fixture
async def distributed(
    node: HangingNode, resources: Resources, database_url: str, clock: FixedClock
) -> AsyncIterator[Resources]:
    """A process on a distributed database, one node of which may hang."""
    async with distributed_with(node, database_url, resources.settings) as database:
        yield register(
            Resources(
                resources.settings, clock, database.at(clock), database_url, resources.embedder
            )
        )


@pytest.fixture
async def asked(distributed: Resources) -> AsyncIterator[httpx.AsyncClient]:
    """A client of that process."""
    async with client_with(create_app(distributed), ADMIN_KEY) as found:
        yield found


async def _soon(answering: Awaitable[_V]) -> _V:
    async with asyncio.timeout(_MOST_SECONDS):
        return await answering


async def _ask_of_engine(client: httpx.AsyncClient) -> None:
    """Search, write, read and erase in one engine, and revoke a key, each within the time."""
    for number in range(20):
        body = {"scope": USER, "fact": f"I drink tea number {number}."}
        ok(await _soon(client.post("/memories", json=body)))
        for _ in range(2):
            ok(await _soon(client.post("/memories:retrieve", json=_SEARCH)))
    ok(await _soon(client.get("/memories")))
    ok(await _soon(client.get("/operations")))
    ok(await _soon(client.post(f"{ENGINE_URL}:eraseScope", json={"scope": USER})))
    made = ok(await _soon(client.post(_KEYS, json={"displayName": "new", "roles": ["user"]})))
    ok(await _soon(client.post(f"{_KEYS}/{id_of(made)}:revoke")))
    ok(await _soon(client.get("http://test/readyz")))


async def test_no_request_for_an_engine_waits_for_a_node_that_hangs(
    asked: httpx.AsyncClient, node: HangingNode
) -> None:
    """The first request of the process, too."""
    with node.hanging():
        await _ask_of_engine(asked)


async def test_requests_for_all_engines_end_soon_and_take_few_connections(
    asked: httpx.AsyncClient, node: HangingNode
) -> None:
    with node.hanging():
        listing = [asyncio.create_task(asked.get(_ENGINES)) for _ in range(30)]
        await asyncio.sleep(0)
        await _ask_of_engine(asked)
        for answer in await asyncio.gather(*listing):
            assert refusal(answer) == (503, "UNAVAILABLE", Reason.DATABASE_UNAVAILABLE)
        # They still wait for the node, which does not even take a cancellation.
        assert 0 < len(node.waiting) <= PLACES
    assert ok(await _soon(asked.get(_ENGINES)))["reasoningEngines"]


async def test_indexes_of_large_scopes_are_read_beside_the_search(
    asked: httpx.AsyncClient, node: HangingNode
) -> None:
    ok(await asked.post("/memories", json={"scope": USER, "fact": "I drink tea."}))
    with node.hanging():
        ok(await _soon(asked.post("/memories:retrieve", json=_SEARCH)))
        await asyncio.sleep(0.05)
        assert any("scope_indexes" in one for one in node.waited)
