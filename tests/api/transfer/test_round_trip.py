"""An engine filled through every route, exported, restored beside the original, exported again."""

import json
from dataclasses import replace

import httpx
import pytest
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from app.process.features import register
from app.process.main import create_app
from tests.conftest import ADMIN_KEY
from tests.support.archives import export, of_kind, raw_lines
from tests.support.bank import Json, ok
from tests.support.ingestion import IDLE, event, ingest
from tests.support.keys import client_with
from tests.support.operations import create_memory
from tests.support.person import CANARY, PERSON, fill
from tests.support.restores import GZIP
from tests.support.sessions import append, new_path
from tests.support.summaries import BY_THREE
from tests.support.totals import held, recounted

_ENGINES = "http://test/v1beta1/projects/default/locations/local/reasoningEngines"


async def _restored(client: httpx.AsyncClient, archive: bytes, **query: str) -> tuple[str, Json]:
    """Restore into a new engine; return its address and the answer."""
    created = ok(await client.post(_ENGINES, json={}))["response"]["name"]
    url = f"http://test/v1beta1/{created}"
    answer = await client.post(f"{url}:restore", content=archive, headers=GZIP, params=query)
    return url, ok(answer)


def _lines(archive: bytes) -> list[Json]:
    """Return the lines after the header; what was left out differs, such as open operations."""
    *lines, trailer = map(json.loads, raw_lines(archive))
    return [*lines, {**trailer, "left": None}]


@pytest.fixture
async def filled(
    client: httpx.AsyncClient,
    app: FastAPI,
    database: Database,
    clock: FixedClock,
    runner: Runner,
) -> httpx.AsyncClient:
    await fill(client, app, database, clock, runner)
    return client


@pytest.mark.parametrize("vectors", ["false", "true"])
async def test_a_second_export_is_equal_after_its_header(
    filled: httpx.AsyncClient, database: Database, vectors: str
) -> None:
    archive = await export(filled, vectors=vectors)
    url, answer = await _restored(filled, archive)
    assert {kind for kind, count in answer["counts"].items() if count} >= {
        "engine",
        "toolPolicy",
        "memory",
        "userState",
        "session",
        "event",
        "summary",
        "stream",
        "streamEvent",
        "readLine",
        "namespace",
        "artifact",
        "page",
        "operation",
    }
    assert answer["vectors"] == ("USED" if vectors == "true" else "EMBEDDING")
    again = await export(filled, url, vectors=vectors)
    assert _lines(again) == _lines(archive)
    assert await held(database) == await recounted(database)


async def test_the_restored_engine_is_complete(
    filled: httpx.AsyncClient, database: Database, runner: Runner
) -> None:
    """Rollback, recovery, undo, contexts and search work, and what an archive lacks is made."""
    archive = await export(filled)
    url, _ = await _restored(filled, archive)
    await runner.run_pending()
    assert _lines(await export(filled, url)) == _lines(archive)
    path = f"{url}/memories/m-{PERSON}"
    revisions = ok(await filled.get(f"{path}/revisions"))["memoryRevisions"]
    first = min(revisions, key=lambda one: one["createTime"])
    body = {"targetRevisionId": first["name"].rpartition("/")[2]}
    ok(await filled.post(f"{path}:rollback", json=body))
    assert ok(await filled.get(path))["fact"] == f"I like {CANARY}."
    deleted = ok(await filled.get(f"{url}/memories", params={"showDeleted": "true"}))["memories"]
    gone = [one for one in deleted if "deleteTime" in one]
    for memory in gone:
        ok(await filled.post(f"http://test/v1beta1/{memory['name']}:undelete"))
    assert gone
    operations = ok(await filled.get(f"{url}/operations", params={"pageSize": "100"}))
    generated = [
        one
        for one in operations["operations"]
        if one["done"] and one["metadata"]["@type"].endswith("GenerateMemoriesOperationMetadata")
    ]
    assert generated
    assert all(
        one["name"].startswith(url.removeprefix("http://test/v1beta1/")) for one in generated
    )
    undone = [await _undo(filled, runner, one["name"]) for one in generated]
    assert any(undone)
    context = {"policy": BY_THREE}
    ok(await filled.post(f"{url}/sessions/s-{PERSON}:context", json=context))
    path = f"taskMemories/of-{PERSON}/namespaces/n-{PERSON}"
    for below in ("", "/artifacts/a", f"/artifacts/{CANARY}.bin"):
        copied = ok(await filled.get(f"{url}/{path}{below}"))
        assert {**copied, "name": ""} == {**ok(await filled.get(f"/{path}{below}")), "name": ""}
    content = await filled.get(f"{url}/{path}/artifacts/a/content")
    assert CANARY in content.text
    await create_memory(filled, "Written afterwards.")
    assert await held(database) == await recounted(database)


async def test_what_lies_before_zero_comes_back(client: httpx.AsyncClient) -> None:
    """Clocks of America are behind UTC, and callers number places as they like."""
    place = {"position": {"doubleValue": -1.5}, "source": {"stringValue": "diary"}}
    await create_memory(client, "I like tea.", metadata=place)
    path = await new_path(client)
    await append(client, path, "Hello.", timestamp="2025-11-26T23:30:00-05:00")
    text = event("I like milk.", time="2025-11-26T23:30:00-05:00")
    await ingest(client, text, **IDLE)
    archive = await export(client)
    url, _ = await _restored(client, archive)
    copied = await export(client, url=url)
    for kind in ("memory", "event", "streamEvent"):
        assert of_kind(copied, kind) == of_kind(archive, kind)
    assert [one["utcOffset"] for one in of_kind(copied, "event")] == [-300]
    assert [one["position"] for one in of_kind(copied, "memory")] == [-1.5]


async def _undo(client: httpx.AsyncClient, runner: Runner, name: str) -> bool:
    """Undo an operation; return True if it had changed anything."""
    answer = await client.post(f"http://test/v1beta1/{name}:undo", json={})
    if answer.status_code != 200:
        assert "NOTHING_TO_UNDO" in answer.text, answer.text
        return False
    await runner.run_pending()
    ended = ok(await client.get(f"http://test/v1beta1/{answer.json()['name']}"))
    assert "error" not in ended, ended
    return True


async def test_vectors_of_another_model_are_left(
    filled: httpx.AsyncClient, resources: Resources
) -> None:
    archive = await export(filled, vectors="true")
    other = replace(resources, registry=type(resources.registry)())
    register(other)
    object.__setattr__(other.embedder, "model_id", "another")
    async with client_with(create_app(other), ADMIN_KEY) as client:
        _, answer = await _restored(client, archive)
    assert answer["vectors"] == "EMBEDDING"
