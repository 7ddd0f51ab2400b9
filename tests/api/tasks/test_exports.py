"""Exports: artifacts get into the operator's folders, and nobody is told what they hold."""

import asyncio
import os
import stat
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.settings.settings import Settings
from tests.support.audit import events
from tests.support.bank import BAD, GONE, Json, field_of, ok, refusal
from tests.support.cases import in_one_test
from tests.support.keys import client_with, make_key
from tests.support.tasks import NAMESPACE, store, text_output, upload

CANARY = "canary-zq19c04ad7fe"
CONTENT = bytes(range(256)) * 2_000


@pytest.fixture
def sink(tmp_path: Path) -> Path:
    found = tmp_path / "out"
    found.mkdir()
    return found


@pytest.fixture
def settings(settings: Settings, sink: Path) -> Settings:
    return settings.model_copy(update={"task_export_sinks": {"out": sink}})


def _below(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


def _remove(folder: Path) -> None:
    folder.rmdir()


async def _export(client: httpx.AsyncClient, **fields: object) -> httpx.Response:
    return await client.post(f"{NAMESPACE}:export", json={"sink": "out", **fields})


async def test_a_file_gets_the_chosen_name(client: httpx.AsyncClient, sink: Path) -> None:
    ok(await store(client, text_output("one", name="a"), text_output("two", name="b")))
    chosen = {"directory": "d", "artifacts": ["b"], "fileName": "elden-ring.txt"}
    (file,) = ok(await _export(client, **chosen))["files"]
    assert (file["artifact"], file["path"]) == ("b", "1/tools/n/d/elden-ring.txt")
    assert (sink / file["path"]).read_text() == "two"
    ok(await _export(client, **{**chosen, "artifacts": ["a"]}))
    assert (sink / file["path"]).read_text() == "one"
    assert _below(sink / "1/tools/n/d") == ["elden-ring.txt"]


@pytest.mark.parametrize("chosen", [None, ["a", "b"]])
async def test_one_name_is_not_for_several_files(
    client: httpx.AsyncClient, sink: Path, chosen: list[str] | None
) -> None:
    ok(await store(client, text_output("one", name="a"), text_output("two", name="b")))
    assert field_of(await _export(client, artifacts=chosen, fileName="c")) == "fileName"
    assert _below(sink) == []


@pytest.mark.parametrize(
    "name", ["..", ".", "", "../a", "/etc/a", "a/b", "a\\b", "C:a", "a\0", ".a", "a\n", "x" * 129]
)
async def test_no_file_name_leads_elsewhere_or_is_hidden(
    client: httpx.AsyncClient, sink: Path, name: str
) -> None:
    ok(await store(client, text_output("one", name="a")))
    assert refusal(await _export(client, fileName=name)) == BAD
    assert _below(sink) == []


async def test_a_file_that_must_not_be_overwritten_stays(
    client: httpx.AsyncClient, sink: Path
) -> None:
    ok(await store(client, text_output("one", name="a"), text_output("two", name="b")))
    once = {"Idempotency-Key": "e1"}
    body = {"sink": "out", "artifacts": ["a"], "fileName": "c", "overwrite": False}
    first = await client.post(f"{NAMESPACE}:export", json=body, headers=once)
    again = await client.post(f"{NAMESPACE}:export", json=body, headers=once)
    assert ok(again) == ok(first)
    refused = await _export(client, artifacts=["b"], fileName="c", overwrite=False)
    assert refusal(refused) == (409, "ALREADY_EXISTS")
    assert refused.json()["error"]["details"][0]["reason"] == "ID_TAKEN"
    assert (sink / "1/tools/n/c").read_text() == "one"
    assert _below(sink / "1/tools/n") == ["c"]


async def test_of_two_exports_at_once_only_one_writes_the_file(
    client: httpx.AsyncClient, sink: Path
) -> None:
    sizes = {"a": 700_000, "b": 900_000}
    for name, size in sizes.items():
        ok(await upload(client, name.encode() * size, f"{NAMESPACE}/artifacts/{name}"))
    answers = await asyncio.gather(
        *(_export(client, artifacts=[one], fileName="c", overwrite=False) for one in "abab")
    )
    assert sorted(one.status_code for one in answers) == [200, 409, 409, 409]
    (written,) = [ok(one)["files"][0]["artifact"] for one in answers if one.is_success]
    assert (sink / "1/tools/n/c").read_bytes() == written.encode() * sizes[written]
    assert _below(sink / "1/tools/n") == ["c"]


async def test_a_link_with_the_name_of_a_file_is_not_followed(
    client: httpx.AsyncClient, sink: Path
) -> None:
    ok(await store(client, text_output("one", name="a")))
    outside, folder = sink.parent / "outside", sink / "1/tools/n"
    outside.write_text("kept")
    folder.mkdir(parents=True)
    (folder / "c").symlink_to(outside)
    assert refusal(await _export(client, fileName="c", overwrite=False))[0] == 409
    ok(await _export(client, fileName="c"))
    assert outside.read_text() == "kept"
    assert not (folder / "c").is_symlink()
    assert (folder / "c").read_text() == "one"


async def test_all_of_a_namespace_is_written_as_it_is(
    client: httpx.AsyncClient, sink: Path
) -> None:
    ok(await store(client, text_output(CANARY, name="a")))
    ok(await upload(client, CONTENT, f"{NAMESPACE}/artifacts/b.bin"))
    answer = await _export(client)
    found = ok(answer)
    assert CANARY not in f"{answer.text}{answer.headers}"
    assert [one["path"] for one in found["files"]] == ["1/tools/n/a", "1/tools/n/b.bin"]
    assert found["totalBytes"] == str(len(CANARY) + len(CONTENT))
    assert (sink / "1/tools/n/a").read_text() == CANARY
    assert (sink / "1/tools/n/b.bin").read_bytes() == CONTENT
    assert _below(sink / "1/tools/n") == ["a", "b.bin"]


async def test_some_of_it_goes_to_a_folder_and_takes_the_place_of_what_was_there(
    client: httpx.AsyncClient, sink: Path
) -> None:
    ok(await store(client, text_output("one", name="a"), text_output("two", name="b")))
    wanted = {"directory": "2026/november", "artifacts": ["b", "b"]}
    assert [one["artifact"] for one in ok(await _export(client, **wanted))["files"]] == ["b"]
    ok(await upload(client, b"three", f"{NAMESPACE}/artifacts/b", headers={"If-Match": "*"}))
    ok(await _export(client, **wanted))
    assert (sink / "1/tools/n/2026/november/b").read_text() == "three"
    assert refusal(await _export(client, artifacts=["c"])) == GONE


@pytest.mark.parametrize("directory", ["..", "a/../../b", "/etc", "a//b", "."])
async def test_no_way_leads_out_of_a_sink(
    client: httpx.AsyncClient, sink: Path, directory: str
) -> None:
    ok(await store(client, text_output("one", name="a")))
    assert refusal(await _export(client, directory=directory)) == BAD
    assert refusal(await client.post(f"{NAMESPACE}:export", json={"sink": "other"})) == BAD
    assert _below(sink) == []


async def test_nor_does_a_link_in_it(client: httpx.AsyncClient, sink: Path) -> None:
    ok(await store(client, text_output("one", name="a")))
    outside = sink.parent / "outside"
    outside.mkdir()
    (sink / "1").symlink_to(outside)
    answer = await _export(client)
    assert refusal(answer) == (503, "UNAVAILABLE")
    assert str(sink.parent) not in answer.text
    assert _below(outside) == []


async def test_a_sink_that_is_not_there_is_told_without_its_path(
    client: httpx.AsyncClient, sink: Path
) -> None:
    ok(await store(client, text_output("one", name="a")))
    _remove(sink)
    answer = await _export(client)
    assert refusal(answer) == (503, "UNAVAILABLE")
    assert answer.json()["error"]["details"][0]["metadata"] == {"sink": "out", "filesWritten": "0"}
    assert str(sink) not in answer.text


async def test_nobody_but_the_service_can_read_what_it_writes(
    client: httpx.AsyncClient, sink: Path
) -> None:
    ok(await store(client, text_output("one", name="a")))
    before = os.umask(0)
    try:
        ok(await _export(client, directory="d"))
    finally:
        os.umask(before)
    modes = {
        path: stat.S_IMODE((sink / path).stat().st_mode)
        for path in ("1", "1/tools", "1/tools/n", "1/tools/n/d", "1/tools/n/d/a")
    }
    assert modes.pop("1/tools/n/d/a") == 0o600
    assert set(modes.values()) == {0o700}


@pytest.mark.parametrize("first", ["folder", "file"])
async def test_what_is_in_the_way_is_told_and_not_for_later(
    client: httpx.AsyncClient, sink: Path, first: str
) -> None:
    ok(await store(client, text_output("one", name="a"), text_output("two", name="x")))
    ways: list[Json] = [{"directory": "x", "artifacts": ["a"]}, {}]
    before, after = ways if first == "folder" else ways[::-1]
    ok(await _export(client, **before))
    refused = await _export(client, **after)
    assert refusal(refused) == (409, "ALREADY_EXISTS")
    told = refused.json()["error"]["details"][0]
    # Those that were written before it stay.
    written = "1" if first == "folder" else "0"
    assert (told["reason"], told["metadata"]) == (
        "ID_TAKEN",
        {"sink": "out", "filesWritten": written},
    )
    assert str(sink) not in refused.text


async def test_a_repetition_writes_nothing_and_is_answered_as_the_first_time(
    client: httpx.AsyncClient, sink: Path
) -> None:
    ok(await store(client, text_output("one", name="a")))
    once = {"Idempotency-Key": "e1"}

    async def export() -> httpx.Response:
        return await client.post(f"{NAMESPACE}:export", json={"sink": "out"}, headers=once)

    first, at_once = [ok(answer) for answer in await asyncio.gather(export(), export())]
    assert at_once == first
    file = sink / "1/tools/n/a"
    file.rename(sink / "moved")
    ok(await store(client, text_output("two")))
    again = await export()
    assert ok(again) == first
    assert again.headers["Idempotent-Replayed"] == "true"
    assert _below(sink / "1/tools/n") == []


async def test_with_the_id_of_another_request_nothing_is_written(
    client: httpx.AsyncClient, sink: Path
) -> None:
    body = {"artifacts": [text_output("one", name="a")]}
    once = {"Idempotency-Key": "e1"}
    ok(await client.post(f"{NAMESPACE}:store", json=body, headers=once))
    refused = await client.post(f"{NAMESPACE}:export", json={"sink": "out"}, headers=once)
    assert refusal(refused) == (409, "ALREADY_EXISTS")
    assert refused.json()["error"]["details"][0]["reason"] == "REQUEST_ID_REUSED"
    assert _below(sink) == []


async def test_it_can_be_exported_says_the_reference(
    client: httpx.AsyncClient, app: FastAPI, database: Database, clock: FixedClock
) -> None:
    ok(await upload(client, b"\x89PNG\r\n\x1a\n\x00\x01"))
    assert ok(await client.get(NAMESPACE))["reference"]["readableWith"] == ["export"]
    secret = await make_key(database, clock.now(), permissions=["artifacts.write"])
    async with client_with(app, secret) as writer:
        assert refusal(await _export(writer)) == (403, "PERMISSION_DENIED")
    assert await events(client, "method=exportNamespace result=PERMISSION_DENIED")


async def test_readers_are_told_to_agents_as_tools(client: httpx.AsyncClient) -> None:
    found = ok(await client.get("/toolSpecs"))
    kinds = ("query", "summarize", "extract", "export", "list")
    names = {f"{kind}_task_memory" for kind in kinds}
    assert {one["function"]["name"] for one in found["openai"]} == names
    for form in ("gemini", "anthropic"):
        assert {one["name"] for one in found[form]} == names
        alone = ok(await client.get("/toolSpecs", params={"format": form}))
        assert alone == {form: found[form]}
    bound = ok(await client.get("/toolSpecs", params={"memory": "tools"}))
    assert '"enum": ["tools"]' in str(bound).replace("'", '"')
    assert refusal(await client.get("/toolSpecs", params={"memory": "a/b"})) == BAD
    answer = await client.get("/toolSpecs", params={"format": "xml"})
    assert field_of(answer) == "format"
    assert "openai, gemini, anthropic" in answer.text


@in_one_test("may_derive", [True, False])
async def test_a_prompt_names_the_readers_that_the_key_has_tools_for(
    app: FastAPI, database: Database, clock: FixedClock, *, may_derive: bool
) -> None:
    permissions = ["artifacts.write", "artifacts.reference"]
    permissions += ["artifacts.derive"] if may_derive else []
    secret = await make_key(database, clock.now(), permissions=permissions)
    async with client_with(app, secret) as agent:
        tools = ok(await agent.get("/toolSpecs", params={"format": "openai"}))["openai"]
        name = f"a-{may_derive}".lower()
        output = {"kind": "json", "json": ["A long text."], "name": name}
        stored = ok(await store(agent, output))
        artifact = ok(await agent.get(f"{NAMESPACE}/artifacts/{output['name']}"))
        namespace = ok(await agent.get(NAMESPACE))
        (listed,) = ok(await agent.get(NAMESPACE.rpartition("/")[0]))["namespaces"]
    named = stored["promptText"].rpartition("readers: ")[2].split(", ")
    held = [tool["function"]["name"].removesuffix("_task_memory") for tool in tools]
    # It reads no content.
    held.remove("list")
    assert named == (held if may_derive else ["none"])
    assert len(held) == (4 if may_derive else 0)
    references = [stored["reference"], namespace["reference"], listed["reference"], artifact]
    assert [one["readableWith"] for one in references] == [held] * 4
    assert stored.get("warnings", []) == ([] if may_derive else ["no_reader"])
