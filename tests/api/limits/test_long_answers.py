"""Answers end at a number of bytes, count while they are held, and are encoded in turns."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from starlette.types import Message
from typing_extensions import override

from app.adapters.db.lists import ReadRows, Slice, exported
from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason
from app.kernel.reads import HeldAnswer, answering, hold
from app.memory.memories.schemas.memories import ListScopesResponse, ScopeInUse
from app.memory.memories.store.tables import MemoryRow
from app.process.main import create_app
from app.web.answers import PiecedAnswer, encoded
from tests.conftest import ADMIN_KEY
from tests.support.bank import ENGINE, ok
from tests.support.errors import refusal
from tests.support.keys import client_with, make_key
from tests.support.operations import USER, create_memory
from tests.support.senders import Sender, piece, scope_of
from tests.support.sessions import append, new_path

_MAX = 1024 * 1024
_COUNT = 14
_KEYS, _CHARS = 50, 4096


@pytest.fixture
def app(resources: Resources) -> FastAPI:
    """A process whose pages have at most a mebibyte."""
    settings = resources.settings.model_copy(update={"max_page_bytes": _MAX})
    return create_app(replace(resources, settings=settings))


@pytest.fixture
async def client(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    async with client_with(app, ADMIN_KEY) as found:
        yield found


def _metadata(text: str) -> dict[str, Any]:
    return {f"key{n}": {"stringValue": text * (_CHARS // len(text))} for n in range(_KEYS)}


@pytest.fixture
async def facts(client: httpx.AsyncClient, clock: FixedClock) -> list[str]:
    """Long memories, newest first: some take more bytes as JSON than they have letters."""
    found = []
    for number in range(_COUNT):
        text = ("x", '"', "é", "\x01")[number % 4]
        await create_memory(client, f"Fact {number}.", metadata=_metadata(text))
        clock.advance(timedelta(seconds=1))
        found.append(f"Fact {number}.")
    return found[::-1]


async def _pages(
    client: httpx.AsyncClient, path: str, **params: str | int
) -> AsyncIterator[tuple[dict[str, Any], int]]:
    """Yield each page of a list, with its length."""
    while True:
        answer = await client.get(path, params=params)
        page = ok(answer)
        yield page, len(answer.content)
        if "nextPageToken" not in page:
            return
        params["pageToken"] = page["nextPageToken"]


async def _each_once(
    client: httpx.AsyncClient, path: str, items: str, **params: str | int
) -> list[Any]:
    """Return the items of all pages, each of which ends in time and has an item."""
    found: list[Any] = []
    async for page, length in _pages(client, path, **params):
        assert length <= _MAX or len(page[items]) == 1
        assert page[items]
        found += page[items]
    return found


@pytest.mark.parametrize("size", [3, 10, 100, 1000])
@pytest.mark.parametrize("order", ["create_time desc", "update_time"])
async def test_who_pages_through_gets_each_long_memory_once(
    client: httpx.AsyncClient, facts: list[str], size: int, order: str
) -> None:
    listed = await _each_once(client, "/memories", "memories", pageSize=size, orderBy=order)
    expected = facts if order.endswith("desc") else facts[::-1]
    assert [one["fact"] for one in listed] == expected


@pytest.mark.parametrize("path", ["/memories/-/revisions", "/operations"])
async def test_other_lists_end_there_as_well(
    client: httpx.AsyncClient, facts: list[str], path: str
) -> None:
    items = "memoryRevisions" if "revisions" in path else "operations"
    listed = await _each_once(client, path, items, pageSize=100)
    assert len({one["name"] for one in listed}) == len(listed) == len(facts)


async def test_events_end_there_as_well(client: httpx.AsyncClient) -> None:
    path = await new_path(client)
    for number in range(_COUNT):
        await append(client, path, f"{number}", rawEvent={"k": '"' * 100_000})
    listed = await _each_once(client, f"{path}/events", "sessionEvents", pageSize=100)
    assert len({one["name"] for one in listed}) == _COUNT


async def test_scopes_end_there_as_well(client: httpx.AsyncClient) -> None:
    count = 70
    for first in range(0, count, 35):
        requests = [
            {"memory": {"fact": "x", "scope": _long_scope(number)}}
            for number in range(first, first + 35)
        ]
        ok(await client.post("/memories:batchCreate", json={"requests": requests}))
    listed = await _each_once(client, "/memories:listScopes", "scopes", pageSize=1000)
    assert len({json.dumps(one["scope"]) for one in listed}) == len(listed) == count


def _long_scope(number: int) -> dict[str, str]:
    return {f"key{n}": "€" * 1000 + str(number) for n in range(5)}


async def test_one_item_longer_than_a_page_is_a_page(client: httpx.AsyncClient) -> None:
    for number in range(2):
        await create_memory(client, f"Fact {number}.", metadata=_metadata("\x01"))
    pages = [page async for page in _pages(client, "/memories")]
    assert [len(page["memories"]) for page, _ in pages] == [1, 1]
    assert all(length > _MAX for _, length in pages)


async def test_an_export_has_each_long_revision_once(
    client: httpx.AsyncClient, facts: list[str]
) -> None:
    answer = await client.get("/memories/-/revisions:export")
    exported = [json.loads(line) for line in answer.text.splitlines()]
    assert [one["fact"] for one in exported] == facts[::-1]


_HOW: dict[str, dict[str, Any]] = {
    "newest": {},
    "newest with a filter": {"filter": 'fact=~"Fact .*"'},
    "few of the newest": {"simpleRetrievalParams": {"pageSize": 10}},
    "by everything": {"similaritySearchParams": {"searchQuery": "Fact 0.", "topK": 100}},
    "few by everything": {"similaritySearchParams": {"searchQuery": "Fact 0.", "topK": 10}},
    "with a filter": {
        "similaritySearchParams": {"searchQuery": "Fact 0.", "topK": 100},
        "filter": 'fact=~"Fact .*"',
    },
    "by vectors": {
        "similaritySearchParams": {"searchQuery": "Fact 0.", "topK": 100},
        "ranking": "vector",
    },
    "by vectors with a filter": {
        "similaritySearchParams": {"searchQuery": "Fact 0.", "topK": 100},
        "ranking": "vector",
        "filter": 'fact=~"Fact .*"',
    },
    "with a distance": {
        "similaritySearchParams": {"searchQuery": "Fact 0.", "topK": 100, "maxDistance": 2}
    },
}


@pytest.mark.usefixtures("facts")
@pytest.mark.parametrize("how", _HOW)
async def test_a_retrieval_ends_there_and_counts_the_rest(
    client: httpx.AsyncClient, how: str
) -> None:
    asked = 10 if "few" in how else _COUNT
    # The second takes the fast path, where there is one.
    for _ in range(2):
        answer = await client.post("/memories:retrieve", json={"scope": USER, **_HOW[how]})
        found = ok(answer)
        assert len(answer.content) <= _MAX
        assert 0 < len(found["retrievedMemories"]) < asked
        assert found["omittedCount"] == asked - len(found["retrievedMemories"])
        assert "nextPageToken" not in found


async def test_a_retrieval_that_pages_leaves_nothing_out(
    client: httpx.AsyncClient, facts: list[str]
) -> None:
    found: list[str] = []
    token: str | None = ""
    while token is not None:
        params = {"pageSize": 100, "pageToken": token}
        body = {"scope": USER, "simpleRetrievalParams": params}
        page = ok(await client.post("/memories:retrieve", json=body))
        assert "omittedCount" not in page
        found += [one["memory"]["fact"] for one in page["retrievedMemories"]]
        token = page.get("nextPageToken")
    assert found == facts


async def test_a_short_retrieval_leaves_nothing_out(client: httpx.AsyncClient) -> None:
    await create_memory(client, "Short.")
    found = ok(await client.post("/memories:retrieve", json={"scope": USER}))
    assert list(found) == ["retrievedMemories"]


class _Reader(Sender):
    """A client that takes the head of its answer, and no more until it is told to."""

    def __init__(self) -> None:
        super().__init__(piece(b"", is_last=True))
        self.may_take = asyncio.Event()
        self.has_head = asyncio.Event()

    @override
    async def send(self, message: Message) -> None:
        await super().send(message)
        if message["type"] == "http.response.start":
            self.has_head.set()
            await self.may_take.wait()


def _list_scope(secret: str) -> dict[str, Any]:
    scope = dict(scope_of(f"/v1beta1/{ENGINE}/memories", 0, method="GET"))
    headers = [header for header in scope["headers"] if header[0] != b"authorization"]
    scope["headers"] = [(b"authorization", f"Bearer {secret}".encode()), *headers]
    return scope


async def test_answers_count_for_their_key_until_they_are_taken(
    resources: Resources, database: Database, clock: FixedClock
) -> None:
    narrow = resources.settings.model_copy(
        update={"max_page_bytes": _MAX, "max_body_bytes_per_key": 3 * _MAX // 2}
    )
    app = create_app(replace(resources, settings=narrow))
    async with client_with(app, ADMIN_KEY) as client:
        for number in range(5):
            await create_memory(client, f"Fact {number}.", metadata=_metadata("x"))
        secret = await make_key(database, clock.now(), "viewer")
        reader = _Reader()
        reading = asyncio.create_task(app(_list_scope(secret), reader.receive, reader.send))
        await asyncio.wait_for(reader.has_head.wait(), 10)
        async with client_with(app, secret) as same:
            refused = await same.get("/memories")
            assert refusal(refused) == (429, "RESOURCE_EXHAUSTED", Reason.TOO_MANY_AT_ONCE)
            assert refused.headers["retry-after"] == "1"
            assert "connection" not in refused.headers
        ok(await client.get("/memories"))
        reader.may_take.set()
        await asyncio.wait_for(reading, 10)
        assert len(json.loads(reader.body)["memories"]) == 5
        assert max(len(one.get("body", b"")) for one in reader.answers) < _MAX // 2
        async with client_with(app, secret) as same:
            ok(await same.get("/memories"))


async def test_an_answer_whose_reader_goes_counts_no_more(resources: Resources) -> None:
    app = create_app(resources)
    async with client_with(app, ADMIN_KEY) as client:
        await create_memory(client, "Long.", metadata=_metadata("x"))
    reader = _Reader()
    reading = asyncio.create_task(app(_list_scope(ADMIN_KEY), reader.receive, reader.send))
    await asyncio.wait_for(reader.has_head.wait(), 10)
    bodies = app.state.gate.limits._bodies
    assert bodies._all.bytes > _KEYS * _CHARS
    reading.cancel()
    await asyncio.wait({reading})
    assert (bodies._all.bytes, bodies._shares) == (0, {})


class _Long(HeldAnswer):
    """An answer for which much was read."""

    def __init__(self) -> None:
        self.size = 2**20

    @override
    def keep(self, size: int) -> None:
        self.size = size


async def test_an_export_holds_the_rows_that_are_not_sent_yet() -> None:
    held = _Long()
    sizes: list[int] = []

    async def read(_: Slice) -> ReadRows[MemoryRow]:
        hold(_MAX)
        sizes.append(held.size)
        row = MemoryRow(engine_id=1, memory_id=str(len(sizes)))
        return ReadRows([row], has_more=len(sizes) < 10)

    before = held.size
    with answering(held):
        async for _ in exported(Slice.of_export((MemoryRow.memory_id,)), read):
            pass
    assert sizes == [before + _MAX] * 10
    assert held.size == before


@pytest.mark.parametrize("token", [None, "next"])
async def test_a_long_answer_is_encoded_in_turns(token: str | None) -> None:
    scopes = [ScopeInUse(scope={"user_id": f'"{n}"é'}, memory_count=1) for n in range(20_000)]
    answer = ListScopesResponse(scopes=scopes, next_page_token=token)
    held, turns = _Long(), 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    beside = asyncio.create_task(others())
    with answering(held):
        made = await encoded(answer)
    beside.cancel()
    assert isinstance(made, PiecedAnswer)
    reader = Sender()
    await made(scope_of(), reader.receive, reader.send)
    assert json.loads(reader.body) == answer.wire()
    assert int(reader.headers[b"content-length"]) == len(reader.body) == held.size
    assert turns > len(reader.answers) // 2


async def test_a_short_answer_is_left_to_the_framework() -> None:
    answer = ListScopesResponse(scopes=[])
    assert await encoded(answer) is answer
