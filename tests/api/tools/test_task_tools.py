"""Tools of task memory, run by one method, so that a loop around a model need not know others."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason
from app.settings.settings import Settings
from app.surfaces.tools import tasks
from tests.support.audit import events
from tests.support.bank import Json, ok
from tests.support.errors import refusal
from tests.support.keys import client_with, make_key
from tests.support.readers import ITEMS
from tests.support.tasks import AGENT, MEMORY, NAMESPACE, store, text_output, upload

CANARY = "canary-zq70be14fd"
FACT = "The kettle costs 42 coins."
PLACE = {"memory": "tools", "namespace": "n"}
NOT_THERE = (404, "NOT_FOUND", Reason.TOOL_UNKNOWN)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("in", "out"):
        (tmp_path / name).mkdir()
    (tmp_path / "in" / "note.md").write_text(FACT)
    return tmp_path


@pytest.fixture
def settings(settings: Settings, folder: Path) -> Settings:
    changed = {
        "task_export_sinks": {"out": folder / "out"},
        "task_import_sources": {"in": folder / "in"},
    }
    return settings.model_copy(update=changed)


async def _call(
    client: httpx.AsyncClient, name: str, arguments: object = None, **fields: Any
) -> httpx.Response:
    body = {"name": f"{name}_task_memory", "arguments": arguments or {}, **fields}
    return await client.post("./taskTools:call", json=body)


async def _told(client: httpx.AsyncClient, name: str, **arguments: Any) -> Json:
    return ok(await _call(client, name, arguments))


async def test_every_tool_that_is_declared_can_be_called(client: httpx.AsyncClient) -> None:
    specs = ok(await client.get("/toolSpecs", params={"format": "anthropic"}))["anthropic"]
    assert {spec["name"] for spec in specs} == tasks.NAMES


async def test_a_loop_needs_no_other_method(client: httpx.AsyncClient, folder: Path) -> None:
    loaded = await _told(client, "load", **PLACE, source="in", path="note.md")
    assert loaded["text"] == loaded["result"]["promptText"]
    assert FACT not in str(loaded)
    listed = await _told(client, "list", memory="tools")
    assert listed["text"] == (
        "- n: 1 artifacts, text/markdown, 26 bytes; readers: query, summarize, export"
    )
    of_it = await _told(client, "list", **PLACE)
    assert of_it["text"] == "- note.md: text/markdown, 26 bytes; readers: query, summarize, export"
    answer = await _told(client, "query", **PLACE, query="What does the kettle cost?")
    assert answer["text"] == f"{FACT}\n- from note.md, page 1, characters 0 to 26"
    assert answer["tokens"] == -(-len(answer["text"]) // 4)
    summary = await _told(client, "summarize", **PLACE, max_tokens=50.0)
    assert summary["text"] == summary["result"]["summary"]
    kept = await _told(client, "query", **PLACE, query="What does it cost?", off_prompt=True)
    assert kept["text"] == kept["result"]["promptText"]
    assert FACT not in str(kept)
    asked = {**PLACE, "artifact": "note.md", "folder": "a/b", "file_name": "kettle.md"}
    saved = ok(await _call(client, "export", json.dumps(asked)))
    assert saved["text"] == "Saved in out: 1/tools/n/a/b/kettle.md."
    assert (folder / "out/1/tools/n/a/b/kettle.md").read_text() == FACT
    assert not any(told["isError"] for told in (loaded, listed, of_it, answer, summary, saved))


async def test_a_list_has_references_alone_and_goes_on(client: httpx.AsyncClient) -> None:
    assert (await _told(client, "list", memory="tools"))["text"] == "Nothing is stored there."
    for number in range(101):
        path = f"{MEMORY}/namespaces/n-{number}"
        ok(await store(client, text_output(CANARY), path=path))
    first = await _told(client, "list", memory="tools")
    *lines, more = first["text"].splitlines()
    assert CANARY not in str(first)
    assert more == f"More with page_token {first['result']['nextPageToken']}"
    token = first["result"]["nextPageToken"]
    rest = await _told(client, "list", memory="tools", page_token=token)
    assert len(lines) + len(rest["text"].splitlines()) == 101


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("query", {}, "memory: is required; namespace: is required; query: is required."),
        ("query", {**PLACE, "query": 3.5}, "query: must be text."),
        ("query", {**PLACE, "query": "x", CANARY: 1}, "arguments: one is not a parameter."),
        ("query", {**PLACE, "query": "x", "off_prompt": CANARY}, "off_prompt: must be true or fal"),
        ("query", {**PLACE, "query": "x", "artifacts": CANARY}, "artifacts: must be a list."),
        ("query", CANARY, "arguments: must be an object"),
        ("query", [CANARY], "arguments: must be an object"),
        ("summarize", {**PLACE, "max_tokens": CANARY}, "max_tokens: must be a whole number."),
        ("load", {**PLACE, "source": CANARY, "path": "a"}, "source: must be in."),
    ],
)
async def test_wrong_arguments_are_told_to_the_model(
    client: httpx.AsyncClient, name: str, arguments: object, text: str
) -> None:
    if isinstance(arguments, list):
        arguments = json.dumps(arguments)
    answer = ok(await _call(client, name, arguments))
    assert answer["isError"] is True
    assert "result" not in answer
    assert answer["text"].startswith(text)
    assert CANARY not in answer["text"]
    assert f"{name}_task_memory accepts: memory, namespace, " in answer["text"]


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("summarize", {"max_tokens": 3}, "max_tokens: "),
        ("export", {"file_name": "../a"}, "file_name: "),
        ("export", {"folder": ".."}, "folder: "),
        ("export", {"artifact": "a b"}, "artifact[0]: "),
        ("export", {"file_name": "x"}, "file_name: names one file, and 2 artifacts are chosen."),
        ("load", {"source": "in", "path": "../a"}, "path: "),
        ("query", {"query": "x", "namespace": "missing"}, "taskMemories/tools/namespaces/missing"),
        ("query", {"query": "x", "namespace": ".."}, ""),
        ("query", {"query": "x", "artifacts": ["c"]}, "artifacts: must be names of artifacts in"),
        ("extract", {"schema": "{}", "artifacts": []}, "artifacts: "),
        ("list", {"page_token": "x"}, "page_token"),
        ("load", {"source": "in", "path": "note.md"}, "artifacts/note.md exists with other con"),
    ],
)
async def test_refusals_name_the_arguments_of_the_tool(
    client: httpx.AsyncClient, name: str, arguments: Json, text: str
) -> None:
    ok(await store(client, text_output("a", name="note.md"), text_output("b")))
    answer = ok(await _call(client, name, {**PLACE, **arguments}))
    assert answer["isError"] is True
    assert answer["text"].startswith(text)
    for field in ("fileName", "maxTokens", "offPrompt", "directory", "If-Match", "projects/"):
        assert field not in answer["text"]


async def test_the_model_is_told_to_keep_sensitive_results_off_its_prompt(
    app: FastAPI, client: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    ok(await store(client, text_output(FACT), sensitive=True))
    asked = {**PLACE, "query": "What does it cost?"}
    async with client_with(app, await make_key(database, clock.now(), permissions=AGENT)) as agent:
        refused = await _told(agent, "query", **asked)
        assert refused["isError"] is True
        assert refused["text"].startswith("off_prompt: must be true: the namespace is sensitive")
        assert (await _told(agent, "query", **asked, off_prompt=True))["isError"] is False
    ok(await client.patch(NAMESPACE, json={"readers": ["summarize"]}))
    assert (await _told(client, "query", **asked))["text"].startswith("query: the readers of this")


async def test_a_key_has_the_tools_of_its_permissions(
    app: FastAPI, database: Database, clock: FixedClock
) -> None:
    calls = {
        "query": {**PLACE, "query": "x"},
        "summarize": PLACE,
        "export": PLACE,
        "load": {**PLACE, "source": "in", "path": "note.md"},
        "list": {"memory": "tools"},
    }
    expected = {
        "artifacts.reference": {"list"},
        "artifacts.derive": {"query", "summarize", "export", "list"},
        "artifacts.write": {"load", "list"},
    }
    for permission, held in expected.items():
        permissions = sorted({"artifacts.reference", permission})
        secret = await make_key(database, clock.now(), permissions=permissions)
        async with client_with(app, secret) as agent:
            answers = {name: await _call(agent, name, sent) for name, sent in calls.items()}
            unknown = await agent.post("./taskTools:call", json={"name": CANARY})
        got = {name for name, answer in answers.items() if answer.status_code == 200}
        assert got == held
        refused = [answer for name, answer in answers.items() if name not in held]
        assert {refusal(answer) for answer in [*refused, unknown]} == {NOT_THERE}
        assert CANARY not in unknown.text
        assert "list_task_memory" in unknown.text
    writer = await make_key(database, clock.now(), permissions=["artifacts.write"])
    async with client_with(app, writer) as other:
        assert (await _call(other, "list", {"memory": "tools"})).status_code == 403


async def test_rows_are_told_with_those_that_are_missing(client: httpx.AsyncClient) -> None:
    content = b"item,unitPrice\ncup,cheap\n" + b"kettle,42\n" * 1_001
    ok(await upload(client, content, f"{NAMESPACE}/artifacts/a.csv", "text/csv"))
    asked = {**PLACE, "schema": json.dumps(ITEMS)}
    told = await _told(client, "extract", **asked)
    rows, rejected, more = told["text"].splitlines()
    assert json.loads(rows) == [{"item": "kettle", "unitPrice": 42}] * told["result"]["rowCount"]
    reason = told["result"]["rejected"][0]["reason"]
    assert rejected == f"Rows that did not fit the schema: 1. The first: {reason}"
    assert more == "There may be more rows."
    deep = await _told(client, "extract", **{**asked, "schema": "[" * 20_000})
    assert deep["isError"] is True
    assert deep["text"].startswith("schema: ")


@pytest.mark.parametrize("name", ["query", "extract"])
async def test_an_empty_result_is_told_in_words(client: httpx.AsyncClient, name: str) -> None:
    ok(await upload(client, b"item\n", f"{NAMESPACE}/artifacts/a.csv", "text/csv"))
    more = {"query": {"query": "x"}, "extract": {"schema": json.dumps(ITEMS)}}
    assert (await _told(client, name, **PLACE, **more[name]))["text"] == "Nothing was found."


async def test_the_application_chooses_memory_and_sink(client: httpx.AsyncClient) -> None:
    ok(await store(client, text_output("a")))
    other = ok(await _call(client, "list", {"memory": "other"}, memory="tools"))
    assert other["text"].startswith("memory: must be tools.")
    assert ok(await _call(client, "list", PLACE, memory="tools"))["isError"] is False
    wrong = await _call(client, "export", PLACE, sink="etc")
    assert refusal(wrong) == (400, "INVALID_ARGUMENT", Reason.FIELD_INVALID)
    assert wrong.json()["error"]["message"] == "sink: must be one of: out."
    assert ok(await _call(client, "export", PLACE, sink="out"))["isError"] is False


async def test_a_bound_key_loads_for_its_user(
    app: FastAPI, client: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    conditions = {"user_id": ["42"]}
    key = await make_key(database, clock.now(), permissions=AGENT, scope_conditions=conditions)
    async with client_with(app, key) as agent:
        await _told(agent, "load", **PLACE, source="in", path="note.md")
        ok(await upload(client, b"a", f"{MEMORY}/namespaces/foreign/artifacts/a"))
        listed = await _told(agent, "list", memory="tools")
        assert [line.partition(":")[0] for line in listed["text"].splitlines()] == ["- n"]
        foreign = await _told(agent, "list", memory="tools", namespace="foreign")
        assert foreign["text"].endswith("namespaces/foreign does not exist. (RESOURCE_NOT_FOUND)")
    assert ok(await client.get(NAMESPACE))["userId"] == "42"


async def test_the_methods_behind_the_tools_are_audited_as_calls_of_tools(
    client: httpx.AsyncClient,
) -> None:
    once = {"Idempotency-Key": "once"}
    asked = {**PLACE, "source": "in", "path": "note.md"}
    body = {"name": "load_task_memory", "arguments": asked}
    first = ok(await client.post("./taskTools:call", json=body, headers=once))
    assert ok(await client.post("./taskTools:call", json=body, headers=once)) == first
    loads = await events(client, "method=loadFiles")
    assert [one["surface"] for one in loads] == ["tools/load_task_memory"] * 2
