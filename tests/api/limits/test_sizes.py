"""Sizes that an operator has set lower than the API does: pages, scopes, metadata, streams."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx
import pytest
from pydantic import ValidationError

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.tuning import Tuning
from app.platform.operations.services.runner import Runner
from app.process.main import create_app
from app.settings.settings import Settings
from tests.conftest import ADMIN_KEY
from tests.support.bank import Json, field_of, listed, ok, retrieved
from tests.support.generation import given, run
from tests.support.ingestion import IDLE, ended, event, ingest
from tests.support.keys import client_with
from tests.support.operations import USER, create_memory
from tests.support.sessions import append, create_session, events, ids, new_path
from tests.support.totals import waiting

_FEW = {
    "max_page_size": 2,
    "max_scope_pairs": 2,
    "max_scope_value_chars": 10,
    "max_metadata_entries": 2,
    "max_metadata_value_chars": 10,
    "max_stream_pending_events": 3,
}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update=_FEW)


@pytest.fixture
async def as_the_api(resources: Resources) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a process that has the API's own sizes."""
    whole = resources.settings.model_copy(update={name: getattr(Tuning(), name) for name in _FEW})
    async with client_with(create_app(replace(resources, settings=whole)), ADMIN_KEY) as found:
        yield found


def _scope(pairs: int) -> dict[str, str]:
    return {f"key{n}": "1" for n in range(pairs)}


def _texts(*lengths: int) -> Json:
    return {f"key{n}": {"stringValue": "x" * length} for n, length in enumerate(lengths)}


def _said(**fields: object) -> Json:
    return {"scope": USER, "directContentsSource": {"events": [event("I like tea.")]}, **fields}


_WRITERS: tuple[tuple[str, Any], ...] = (
    ("/memories", lambda **fields: {"fact": "I like tea.", "scope": USER, **fields}),
    ("/memories:generate", _said),
    ("/memories:ingestEvents", _said),
)
every_writer = pytest.mark.parametrize(("path", "body"), _WRITERS, ids=[w[0] for w in _WRITERS])


@every_writer
async def test_a_scope_has_so_many_pairs(client: httpx.AsyncClient, path: str, body: Any) -> None:
    for pairs in (1, 2):
        ok(await client.post(path, json=body(scope=_scope(pairs))))
    answer = await client.post(path, json=body(scope=_scope(3)))
    assert field_of(answer) == "scope"
    assert "must have 1 to 2 pairs" in answer.json()["error"]["message"]


@every_writer
async def test_a_value_of_a_scope_has_so_many_characters(
    client: httpx.AsyncClient, path: str, body: Any
) -> None:
    for length in (9, 10):
        ok(await client.post(path, json=body(scope={"user_id": "x" * length})))
    answer = await client.post(path, json=body(scope={"user_id": "x" * 11}))
    assert field_of(answer) == "scope"
    assert "at most 10 characters" in answer.json()["error"]["message"]


@every_writer
async def test_metadata_have_so_many_keys(client: httpx.AsyncClient, path: str, body: Any) -> None:
    for lengths in ((1,), (1, 1)):
        ok(await client.post(path, json=body(metadata=_texts(*lengths))))
    answer = await client.post(path, json=body(metadata=_texts(1, 1, 1)))
    assert field_of(answer) == "metadata"
    assert "at most 2 keys" in answer.json()["error"]["message"]


@every_writer
async def test_a_text_of_metadata_has_so_many_characters(
    client: httpx.AsyncClient, path: str, body: Any
) -> None:
    for length in (9, 10):
        ok(await client.post(path, json=body(metadata=_texts(1, length))))
    answer = await client.post(path, json=body(metadata=_texts(1, 11)))
    assert field_of(answer) == "metadata"
    assert "at most 10 characters" in answer.json()["error"]["message"]


async def test_an_update_is_bounded_as_well(client: httpx.AsyncClient) -> None:
    memory = await create_memory(client, "I like tea.")
    url = f"http://test/v1beta1/{memory['name']}"
    ok(await client.patch(url, json={"metadata": _texts(10, 10)}))
    assert field_of(await client.patch(url, json={"metadata": _texts(1, 1, 1)})) == "metadata"
    assert field_of(await client.patch(url, json={"metadata": _texts(11)})) == "metadata"


async def test_what_was_written_before_can_be_read_and_changed(
    client: httpx.AsyncClient, as_the_api: httpx.AsyncClient
) -> None:
    scope = {**_scope(3), "key3": "x" * 1_024}
    memory = await create_memory(as_the_api, "I like tea.", scope, metadata=_texts(1, 1, 4_096))
    assert await retrieved(client, scope=scope) == ["I like tea."]
    url = f"http://test/v1beta1/{memory['name']}"
    changed = ok(await client.patch(url, json={"fact": "I like jam."}))["response"]
    assert changed["metadata"] == memory["metadata"]
    assert changed["scope"] == scope


async def test_the_scope_of_a_session_is_bounded_as_well(
    client: httpx.AsyncClient, as_the_api: httpx.AsyncClient
) -> None:
    for length in (10, 11):
        await create_session(as_the_api, f"s{length}", userId="x" * length)
    source = {"vertexSessionSource": {"session": "reasoningEngines/1/sessions/s{}"}}
    for length, status in ((10, 200), (11, 400)):
        name = source["vertexSessionSource"]["session"].format(length)
        body = {"vertexSessionSource": {"session": name}}
        assert (await client.post("/memories:generate", json=body)).status_code == status


async def test_metadata_that_would_be_too_many_are_not_merged(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await create_memory(client, "I like green tea.", metadata={"a": {"doubleValue": 1}})

    async def merged(*keys: str) -> list[str]:
        given_keys = {key: {"doubleValue": 2} for key in keys}
        merge = {"metadata": given_keys, "metadataMergeStrategy": "MERGE"}
        await run(client, runner, given("I like green tea."), **merge)
        (memory,) = ok(await client.get("/memories"))["memories"]
        return sorted(memory["metadata"])

    assert await merged("b") == ["a", "b"]
    assert await merged("b") == ["a", "b"]
    assert await merged("c") == ["c"]


@pytest.mark.parametrize(("asked", "rows"), [(1, 1), (2, 2), (3, 2), (0, 2), (None, 2)])
async def test_a_page_has_so_many_rows(
    client: httpx.AsyncClient, asked: int | None, rows: int
) -> None:
    params = {} if asked is None else {"pageSize": asked}
    for n in range(3):
        await create_memory(client, f"I like thing {n}.")
        await create_session(client)
    path = await new_path(client)
    for _ in range(3):
        await append(client, path)
    assert len(await listed(client, **params)) == rows
    assert len(await ids(client, **params)) == rows
    assert len(await events(client, path, **params)) == rows
    for collection, name in (
        ("/memories/-/revisions", "memoryRevisions"),
        ("/operations", "operations"),
    ):
        page = ok(await client.get(collection, params=params))
        assert len(page[name]) == rows
        assert page["nextPageToken"]


@pytest.mark.parametrize(("asked", "found"), [(1, 1), (2, 2), (3, 2), (0, 2)])
async def test_a_retrieval_brings_so_many(
    client: httpx.AsyncClient, asked: int, found: int
) -> None:
    for n in range(3):
        await create_memory(client, f"I like thing {n}.")
    search = {"searchQuery": "things", "topK": asked}
    assert len(await retrieved(client, similaritySearchParams=search)) == found
    assert len(await retrieved(client, simpleRetrievalParams={"pageSize": asked})) == found
    assert len(await retrieved(client)) == 2


def _exhausted(answer: httpx.Response) -> tuple[str, str, str]:
    assert answer.status_code == 429, answer.text
    (info,) = answer.json()["error"]["details"]
    assert info["reason"] == "QUOTA_EXHAUSTED"
    assert "Retry-After" not in answer.headers
    return info["metadata"]["quota"], info["metadata"]["used"], info["metadata"]["limit"]


async def _send(client: httpx.AsyncClient, *sent: Json, **fields: object) -> httpx.Response:
    body = {"scope": USER, "directContentsSource": {"events": sent}, **IDLE, **fields}
    return await client.post("/memories:ingestEvents", json=body)


async def test_so_many_events_wait_in_a_stream(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    ok(await _send(client, event("I like tea.", "a"), event("I live in Oslo.", "b")))
    two = (event("I like jam."), event("I like milk."))
    assert _exhausted(await _send(client, *two)) == ("streamPendingEvents", "2", "3")
    # Nothing of what is refused is taken.
    assert [count for count, _ in await waiting(database)] == [2]
    # What the stream knows takes no room, and the last place can be had.
    ok(await _send(client, event("I like tea.", "a"), two[0]))
    assert _exhausted(await _send(client, two[1])) == ("streamPendingEvents", "3", "3")
    # Another stream has a room of its own; a request without events needs none.
    ok(await _send(client, two[1], streamId="other"))
    flushed = await ingest(client, forceFlush=True)
    await ended(client, runner, flushed)
    assert min(await waiting(database)) == (0, 0)
    ok(await _send(client, *two, event("I like rain.")))


class TestBytes:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"max_stream_pending_bytes": 300})

    async def test_so_many_bytes_wait_in_a_stream(
        self, client: httpx.AsyncClient, runner: Runner, database: Database
    ) -> None:
        first = "I like tea."
        ok(await _send(client, event(first)))
        ((_, one),) = await waiting(database)
        room = 300 - one
        # What every event needs beside its text.
        rest = one - len(first)
        answer = await _send(client, event("x" * (room - rest + 1)))
        assert _exhausted(answer) == ("streamPendingBytes", str(one), "300")
        ok(await _send(client, event("x" * (room - rest))))
        assert await waiting(database) == [(2, 300)]
        assert _exhausted(await _send(client, event("a")))[0] == "streamPendingBytes"
        ok(await _send(client, event("x" * (299 - rest)), streamId="other"))
        await ended(client, runner, await ingest(client, forceFlush=True))
        assert sorted(await waiting(database)) == [(0, 0), (1, 299)]


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("max_page_size", 1_000),
        ("max_scope_pairs", 5),
        ("max_scope_value_chars", 1_024),
        ("max_metadata_entries", 50),
        ("max_metadata_value_chars", 4_096),
    ],
)
def test_no_setting_goes_beyond_the_api(name: str, most: int) -> None:
    assert getattr(Tuning(), name) == most
    with pytest.raises(ValidationError, match="less than or equal"):
        Settings.model_validate({name: most + 1})


def test_a_quota_can_be_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_BANK_ENGINE_MAX_BYTES", "none")
    assert Settings().engine_max_bytes is None
