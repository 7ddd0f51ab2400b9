"""The source and the scope of an operation: what its memories were made of, and for whom."""

import json
from collections.abc import AsyncIterator
from datetime import timedelta

import httpx
import pytest
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason, Unavailable
from app.platform.operations.services.runner import Runner
from app.settings.settings import Settings
from tests.support.bank import ENGINE, Json, ok
from tests.support.engines import API, create_engine
from tests.support.errors import refusal
from tests.support.generation import given, run, said, start
from tests.support.ingestion import MeddlingEmbedder, ended, ingest
from tests.support.keys import client_with, make_key
from tests.support.operations import USER, create_memories, create_memory, path_of
from tests.support.person import erase
from tests.support.queue import overwrite
from tests.support.rows import rows_of
from tests.support.sessions import append, create_session, events
from tests.support.sweeping import sweep

TEA, OSLO = "I like tea.", "I live in Oslo."
SESSION = f"{ENGINE}/sessions/talk-5"
FAILED = Unavailable("Away.", Reason.MODEL_UNAVAILABLE).as_operation_error()


async def _talk(client: httpx.AsyncClient, *texts: str, **fields: object) -> Json:
    """Begin the session `talk-5`; return it as a source."""
    await create_session(client, "talk-5", **fields)
    for text in texts:
        await append(client, "/sessions/talk-5", text)
    return {"vertexSessionSource": {"session": SESSION}}


async def _sources(client: httpx.AsyncClient, text: str = "") -> dict[str, Json | None]:
    """Return the source of each operation that a filter finds, by its path."""
    page = ok(await client.get("/operations", params={"filter": text}))
    return {path_of(one["name"]): one["metadata"].get("source") for one in page["operations"]}


async def test_a_generation_names_its_session_and_the_events_read(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    source = await _talk(client, TEA, "Well.", OSLO)
    path = await start(client, source, scope=None)
    metadata = ok(await client.get(path))["metadata"]
    assert (metadata["source"], metadata["scope"]) == ({"session": SESSION}, USER)
    await runner.run_pending()
    first, _, last = (one["name"] for one in await events(client, "/sessions/talk-5"))
    operation = ok(await client.get(path))
    read = {"session": SESSION, "events": {"first": first, "last": last}}
    assert operation["metadata"]["source"] == read
    (memory, _) = ok(await client.get("/memories"))["memories"]
    revisions = ok(await client.get(f"{path_of(memory['name'])}/revisions"))["memoryRevisions"]
    assert [one["operation"] for one in revisions] == [operation["name"]]


async def test_a_session_is_not_named_to_readers_of_another_users_scope(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    source = await _talk(client, TEA)
    for scope, is_named in (({"user_id": "other"}, False), ({**USER, "app": "a"}, True)):
        path = await start(client, source, scope=scope)
        assert ("source" in ok(await client.get(path))["metadata"]) is is_named
        await runner.run_pending()
        done = ok(await client.get(path))
        assert ("source" in done["metadata"]) is is_named
        assert "generatedMemories" in done["response"]


async def test_what_was_given_is_counted(client: httpx.AsyncClient, runner: Runner) -> None:
    expected: dict[str, Json | None] = {}
    expected[await start(client, said(TEA, OSLO, "Well."))] = {"directEvents": 3}
    expected[await start(client, given(TEA, OSLO))] = {"directMemories": 2}
    await runner.run_pending()
    before = set(expected)

    async def add(source: Json) -> None:
        (path,) = (await _sources(client)).keys() - before - expected.keys()
        expected[path] = source

    await create_memory(client, TEA)
    await add({"directMemories": 1})
    await create_memories(client, TEA, OSLO)
    await add({"directMemories": 2})
    lines = "".join(json.dumps({"fact": fact, "scope": USER}) + "\n" for fact in "abc")
    headers = {"Content-Type": "application/x-ndjson"}
    ok(await client.post("/memories:import", content=lines.encode(), headers=headers))
    await add({"directMemories": 3})
    assert await _sources(client) == expected


async def test_an_ingestion_and_its_generation_name_the_stream(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    for sent, named in (({}, "default"), ({"streamId": "chat-7"}, "chat-7")):
        operation = await ended(client, runner, await ingest(client, TEA, **sent))
        generation = operation["metadata"]["generateMemoriesOperation"]
        metadata = ok(await client.get(path_of(generation)))["metadata"]
        for told in (operation["metadata"], metadata):
            assert (told["source"], told["scope"]) == ({"stream": named}, USER)


async def test_only_what_concerns_one_scope_names_it(client: httpx.AsyncClient) -> None:
    other = {"user_id": "7", "app": "x"}
    await create_memory(client, TEA, other)
    body = {"requests": [{"memory": {"fact": TEA, "scope": scope}} for scope in (USER, other)]}
    ok(await client.post("/memories:batchCreate", json=body))
    listed = ok(await client.get("/operations"))["operations"]
    assert [one["metadata"].get("scope") for one in listed] == [None, other]


async def test_operations_are_found_by_their_session_and_by_a_whole_scope(
    client: httpx.AsyncClient,
) -> None:
    talk = await _talk(client, TEA)
    mine = await start(client, talk, scope=USER)
    again = await start(client, talk, scope={**USER, "app": "x"})
    other = await start(client, said(OSLO), scope=USER)
    created = next(path for path in await _sources(client) if path not in {mine, again, other})
    scope = json.dumps(json.dumps(USER))
    for text, expected in (
        ('source.session="talk-5"', {mine, again}),
        (f'source.session="{SESSION}"', {mine, again}),
        ("source.session!=talk-5", {other, created}),
        ("source.session=none", set()),
        (f'name="{mine.rpartition("/")[2]}"', {mine}),
        (f'name="{ENGINE}{mine}" OR name={again.rpartition("/")[2]}', {mine, again}),
        (f'NOT name="{ENGINE}/memories/m{mine}"', {again, other, created}),
        ("name=none", set()),
        (f"scope={scope}", {mine, other, created}),
        (f"scope!={scope}", {again}),
    ):
        assert (text, set(await _sources(client, text))) == (text, expected)
    for text in (
        f'source.session="{ENGINE}2/sessions/talk-5"',
        "source.session:*",
        f'name="{ENGINE}2{mine}"',
        f'name="{SESSION}"',
        "source.stream=default",
        'scope="42"',
    ):
        answer = await client.get("/operations", params={"filter": text})
        assert refusal(answer) == (400, "INVALID_ARGUMENT", Reason.FILTER_INVALID)


async def test_a_retry_keeps_the_source(client: httpx.AsyncClient, database: Database) -> None:
    path = await start(client, await _talk(client, TEA))
    await overwrite(database, path.rpartition("/")[2], state="FAILED", error=FAILED)
    retried = ok(await client.post(f"{path}:retry", json={}))
    assert retried["metadata"]["source"] == {"session": SESSION}


async def test_a_session_of_another_engine_is_not_named(
    client: httpx.AsyncClient, app: FastAPI, runner: Runner
) -> None:
    """Its deletion there would not reach the operation here."""
    other = (await create_engine(client))["name"]
    transport, url = httpx.ASGITransport(app=app), f"{API}/{other}"
    async with httpx.AsyncClient(
        transport=transport, base_url=url, headers=client.headers
    ) as theirs:
        await _talk(theirs, TEA)
    session = f"{other}/sessions/talk-5"
    operation = await run(client, runner, {"vertexSessionSource": {"session": session}})
    assert "source" not in operation["metadata"]
    assert operation["response"]["generatedMemories"]


@pytest.mark.parametrize("way", ["deleted", "deleted by its user", "expired", "replaced", "erased"])
async def test_a_session_that_is_gone_is_named_by_no_operation(
    client: httpx.AsyncClient,
    app: FastAPI,
    runner: Runner,
    resources: Resources,
    clock: FixedClock,
    database: Database,
    way: str,
) -> None:
    """Not even by one on a scope that is not of its user."""
    source = await _talk(client, TEA, userId="quill-77", ttl="86400s")
    done = await run(client, runner, source, scope={"team": "x"})
    waiting = await start(client, source, scope={"team": "y"})
    if way == "deleted":
        ok(await client.delete("/sessions/talk-5"))
    elif way == "deleted by its user":
        own = {"user_id": ["quill-77"]}
        key = await make_key(database, clock.now(), "admin", scope_conditions=own)
        async with client_with(app, key) as bound:
            ok(await bound.delete("/sessions/talk-5"))
    elif way == "expired":
        clock.advance(timedelta(days=1))
        assert await sweep(resources, "sessions")
    elif way == "replaced":
        clock.advance(timedelta(days=1))
        await _talk(client, TEA, userId="wren-78")
    else:
        await erase(client, runner, {"user_id": "quill-77"})
    assert "source" not in ok(await client.get(path_of(done["name"])))["metadata"]
    assert "source" not in ok(await client.get(waiting))["metadata"]
    assert await _sources(client, "source.session=talk-5") == {}
    if way == "erased":
        assert "operations" not in await rows_of(database, "talk-5")


class TestInRounds:
    """A session that is longer than what one generation reads."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"max_generation_chars": 1_000})

    async def test_the_first_and_the_last_event_of_all_rounds_are_named(
        self, client: httpx.AsyncClient, runner: Runner
    ) -> None:
        source = await _talk(client, *(f"I keep {count} bees.{'?' * 600}" for count in range(4)))
        path = await start(client, source)
        assert await runner.run_pending() > 1
        named = ok(await client.get(path))["metadata"]["source"]["events"]
        all_events = [one["name"] for one in await events(client, "/sessions/talk-5")]
        assert named == {"first": all_events[0], "last": all_events[-1]}


class TestWhileItRuns:
    """A session that is deleted after a generation has read it."""

    @pytest.fixture
    async def embedder(self) -> AsyncIterator[MeddlingEmbedder]:
        meddling = MeddlingEmbedder()
        yield meddling
        await meddling.close()

    async def test_its_name_does_not_come_back(
        self, client: httpx.AsyncClient, runner: Runner, embedder: MeddlingEmbedder
    ) -> None:
        path = await start(client, await _talk(client, TEA))

        async def delete() -> None:
            ok(await client.delete("/sessions/talk-5"))

        embedder.meddle = delete
        await runner.run_pending()
        operation = ok(await client.get(path))
        assert operation["response"]["generatedMemories"]
        assert "source" not in operation["metadata"]
