"""Places for costly requests, as callers meet them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from prometheus_client import REGISTRY
from starlette.types import Message

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason
from app.process.main import create_app
from tests.conftest import ADMIN_KEY
from tests.support.bank import ok
from tests.support.errors import refusal
from tests.support.keys import client_with, make_key
from tests.support.operations import USER, path_of

FULL = (429, "RESOURCE_EXHAUSTED", Reason.TOO_MANY_AT_ONCE)
SEARCH = {"scope": USER}


@pytest.fixture
def narrow(resources: Resources) -> FastAPI:
    """A process with two places, one for each key."""
    places = {"max_costly_requests_per_key": 1, "max_costly_requests": 2}
    return create_app(replace(resources, settings=resources.settings.model_copy(update=places)))


@pytest.fixture
async def queued(client: httpx.AsyncClient) -> str:
    """The path of an operation that nobody works at."""
    body = {"scope": USER, "directMemoriesSource": {"directMemories": [{"fact": "I like tea."}]}}
    operation = ok(await client.post("/memories:generate", json=body))
    return path_of(operation["name"])


def taken(app: FastAPI) -> int:
    """Return how many places of a process are taken."""
    found: int = app.state.gate.limits._places._taken_in_all
    return found


async def until(app: FastAPI, count: int) -> None:
    """Return as soon as so many places are taken."""
    async with asyncio.timeout(5):
        while taken(app) != count:  # noqa: ASYNC110 - a place is not to know who looks
            await asyncio.sleep(0.01)


@asynccontextmanager
async def waiting(app: FastAPI, secret: str, operation: str) -> AsyncIterator[asyncio.Task[Any]]:
    """Wait for an operation while the block runs; break it off then."""
    before = taken(app)
    async with client_with(app, secret) as client:
        task = asyncio.create_task(client.post(f"{operation}:wait"))
        await until(app, before + 1)
        yield task
        task.cancel()
        await asyncio.wait({task})


async def test_who_waits_holds_a_place_until_the_answer(narrow: FastAPI, queued: str) -> None:
    async with client_with(narrow, ADMIN_KEY) as client:
        wait = asyncio.create_task(client.post(f"{queued}:wait", params={"timeout": "0.5s"}))
        await until(narrow, 1)
        answer = await client.post("/memories:retrieve", json=SEARCH)
        assert refusal(answer) == FULL
        assert answer.headers["retry-after"] == "1"
        info = answer.json()["error"]["details"][0]
        assert info["metadata"] == {"limit": "key", "requests": "1"}
        assert refusal(await client.post(f"{queued}:wait")) == FULL
        # What is not costly needs no place.
        ok(await client.get("memories"))
        assert ok(await wait)["done"] is False
        assert taken(narrow) == 0
        ok(await client.post("/memories:retrieve", json=SEARCH))


async def test_keys_have_places_of_their_own_up_to_those_of_the_process(
    narrow: FastAPI, queued: str, database: Database, clock: FixedClock
) -> None:
    one, two = [await make_key(database, clock.now(), "viewer") for _ in range(2)]
    async with (
        waiting(narrow, ADMIN_KEY, queued),
        client_with(narrow, one) as first,
        client_with(narrow, two) as second,
    ):
        ok(await first.post("/memories:retrieve", json=SEARCH))
        async with waiting(narrow, one, queued):
            answer = await second.post("/memories:retrieve", json=SEARCH)
            assert refusal(answer) == FULL
            info = answer.json()["error"]["details"][0]
            assert info["metadata"] == {"limit": "process", "requests": "2"}
        ok(await second.post("/memories:retrieve", json=SEARCH))


async def test_a_request_that_is_broken_off_frees_its_place(narrow: FastAPI, queued: str) -> None:
    async with waiting(narrow, ADMIN_KEY, queued):
        assert taken(narrow) == 1
    assert taken(narrow) == 0


@pytest.mark.parametrize("body", [{}, {"scope": USER, "unknown": 1}, {"scope": {"user_id": "*"}}])
async def test_a_request_that_fails_frees_its_place(narrow: FastAPI, body: dict[str, Any]) -> None:
    async with client_with(narrow, ADMIN_KEY) as client:
        for _ in range(3):
            answer = await client.post("/memories:retrieve", json=body)
            assert answer.status_code == 400
    assert taken(narrow) == 0


async def test_a_failure_of_the_service_frees_the_place(
    narrow: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("app.memory.retrieval.services.retrieval.retrieve", fail)
    async with client_with(narrow, ADMIN_KEY) as client:
        for _ in range(3):
            answer = await client.post("/memories:retrieve", json=SEARCH)
            assert answer.status_code == 500
    assert taken(narrow) == 0


async def test_who_goes_away_while_waiting_frees_the_place(narrow: FastAPI, queued: str) -> None:
    gone = asyncio.Event()
    asked: list[Message] = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Message:
        if asked:
            return asked.pop()
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(_: Message) -> None:
        pass

    path = f"/v1beta1/projects/default/locations/local/reasoningEngines/1{queued}:wait"
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"timeout=60s",
        "root_path": "",
        "headers": [(b"authorization", f"Bearer {ADMIN_KEY}".encode())],
        "client": ("127.0.0.1", 1),
        "server": ("test", 80),
    }
    served = asyncio.ensure_future(narrow(scope, receive, send))
    await until(narrow, 1)
    gone.set()
    await until(narrow, 0)
    await served


async def test_requests_without_a_place_are_counted(narrow: FastAPI, queued: str) -> None:
    def value() -> float:
        found = REGISTRY.get_sample_value("memory_bank_requests_refused_total", {"by": "places"})
        assert found is not None
        return found

    before = value()
    async with waiting(narrow, ADMIN_KEY, queued), client_with(narrow, ADMIN_KEY) as client:
        for _ in range(3):
            assert refusal(await client.post("/memories:retrieve", json=SEARCH)) == FULL
    assert value() == before + 3
