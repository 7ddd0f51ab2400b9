"""Loading: files of the operator's folders become artifacts, and no path leads out of a folder."""

import os
import socket
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason
from app.settings.settings import Settings
from tests.support.audit import events
from tests.support.bank import BAD, Json, configure, field_of, ok
from tests.support.errors import refusal
from tests.support.keys import client_with, make_key
from tests.support.tasks import AGENT, MEMORY, NAMESPACE, NOTHING, names, stored

CANARY = "canary-zqd07ac531"
STALE = (409, "ABORTED", Reason.ETAG_STALE)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    found = tmp_path / "in"
    (found / "2026").mkdir(parents=True)
    (found / "note.md").write_text("Slow and idle connections are closed.")
    (tmp_path / "secret").write_text(CANARY)
    return found


@pytest.fixture
def settings(settings: Settings, source: Path) -> Settings:
    changed = {
        "task_import_sources": {"in": source, "devices": Path("/dev")},
        "task_max_artifact_bytes": 1_000_000,
    }
    return settings.model_copy(update=changed)


async def _load(
    client: httpx.AsyncClient, path: str = "note.md", **fields: object
) -> httpx.Response:
    headers = {"If-Match": str(fields.pop("etag"))} if "etag" in fields else {}
    body = {"source": "in", "path": path, **fields}
    return await client.post(f"{NAMESPACE}:load", json=body, headers=headers)


def _named(answer: Json) -> list[str]:
    return [one["name"].rpartition("/")[2] for one in answer["artifacts"]]


async def test_a_file_is_stored_like_an_upload(client: httpx.AsyncClient, source: Path) -> None:
    answer = ok(await _load(client))
    (artifact,) = answer["artifacts"]
    assert answer["reference"]["namespace"] == "n"
    assert answer["skippedCount"] == 0
    assert "namespace=n" in answer["promptText"]
    assert artifact == ok(await client.get(f"{NAMESPACE}/artifacts/note.md"))
    assert (artifact["kind"], artifact["mediaType"]) == ("text", "text/markdown")
    content = await client.get(f"{NAMESPACE}/artifacts/note.md/content")
    assert content.content == (source / "note.md").read_bytes()
    found = ok(await client.post(f"{NAMESPACE}:query", json={"query": "Which are closed?"}))
    assert found["answer"] == "Slow and idle connections are closed."


async def test_the_same_bytes_change_nothing_and_others_need_an_etag(
    client: httpx.AsyncClient, database: Database, source: Path
) -> None:
    first = ok(await _load(client))
    rows = await stored(database)
    assert ok(await _load(client)) == first
    assert await stored(database) == rows
    (source / "note.md").write_text("Keys expire.")
    answer = await _load(client)
    assert refusal(answer) == STALE
    assert "Keys expire" not in answer.text
    changed = ok(await _load(client, etag=first["artifacts"][0]["etag"]))
    assert changed["artifacts"][0]["sizeBytes"] == str(len("Keys expire."))
    assert await stored(database) == rows


async def test_a_key_that_may_not_know_the_bytes_is_not_told_that_they_are_the_same(
    app: FastAPI, client: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    secret = await make_key(database, clock.now(), permissions=AGENT)
    async with client_with(app, secret) as agent:
        ok(await _load(agent))
        ok(await _load(agent))
        ok(await client.patch(NAMESPACE, json={"sensitive": True}))
        assert refusal(await _load(agent)) == STALE
    ok(await _load(client))


async def test_the_files_of_a_folder_are_loaded_by_name(
    client: httpx.AsyncClient, source: Path, tmp_path: Path
) -> None:
    folder = source / "2026"
    for name in ("b.csv", "a.bin", ".hidden", "c d.txt"):
        (folder / name).write_text(name)
    (folder / "below").mkdir()
    (folder / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(folder / "pipe")
    answer = ok(await _load(client, "2026"))
    assert _named(answer) == ["a.bin", "b.csv"]
    assert answer["skippedCount"] == 5
    types = [one["mediaType"] for one in answer["artifacts"]]
    assert types == ["application/octet-stream", "text/csv"]
    (folder / "d.csv").write_text("d")
    some = ok(await _load(client, "2026", pattern="*.csv"))
    assert (_named(some), some["skippedCount"]) == (["b.csv", "d.csv"], 0)
    assert await names(client) == ["a.bin", "b.csv", "d.csv"]
    assert field_of(await _load(client, "2026", pattern="*.md")) == "path"
    for number in range(101):
        (folder / f"{number}.txt").touch()
    answer_of_many = await _load(client, "2026")
    assert field_of(answer_of_many) == "path"
    assert "1 to 100 files" in answer_of_many.text


async def test_without_a_path_the_files_of_the_source_are_loaded(
    client: httpx.AsyncClient, source: Path
) -> None:
    (source / "2026" / "below.md").write_text("Keys expire.")
    answer = ok(await client.post(f"{NAMESPACE}:load", json={"source": "in"}))
    assert (_named(answer), answer["skippedCount"]) == (["note.md"], 1)


async def test_files_before_an_error_stay_and_are_counted(
    client: httpx.AsyncClient, source: Path
) -> None:
    (source / "2026" / "a.txt").write_text("a")
    (source / "2026" / "b.txt").write_text("b" * 1_000_001)
    answer = await _load(client, "2026")
    assert refusal(answer) == (413, "RESOURCE_EXHAUSTED", Reason.ARTIFACT_TOO_LARGE)
    assert answer.json()["error"]["details"][0]["metadata"]["filesLoaded"] == "1"
    assert await names(client) == ["a.txt"]


async def test_a_name_can_be_chosen_for_one_file(client: httpx.AsyncClient, source: Path) -> None:
    (source / "c d.txt").write_text("c")
    answer = await _load(client, "c d.txt")
    assert field_of(answer) == "path"
    assert "c d" not in answer.text
    assert _named(ok(await _load(client, "c d.txt", **{"as": "c"}))) == ["c.txt"]
    (source / "2026" / "a").touch()
    assert field_of(await _load(client, "2026", **{"as": "c"})) == "as"
    assert field_of(await _load(client, "note.md", pattern="*")) == "pattern"


@pytest.mark.parametrize(
    "path",
    [
        "..",
        ".",
        "",
        "../secret",
        "2026/../../secret",
        "/etc/passwd",
        "2026//a",
        "note.md/",
        "note.md\0",
        "note.md\n",
        "x" * 1_025,
        "note.md/a",
        "missing",
        "2026/missing",
        "link",
        "up/secret",
        "pipe",
        "socket",
        "\ud800",
    ],
)
async def test_no_path_leads_elsewhere(
    client: httpx.AsyncClient, database: Database, source: Path, tmp_path: Path, path: str
) -> None:
    (source / "link").symlink_to(tmp_path / "secret")
    (source / "up").symlink_to(tmp_path)
    os.mkfifo(source / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(source / "socket"))
    body = f'{{"source": "in", "path": {_as_json(path)}}}'
    answer = await client.post(
        f"{NAMESPACE}:load", content=body, headers={"Content-Type": "application/json"}
    )
    assert refusal(answer)[:2] == BAD
    assert CANARY not in answer.text
    assert "secret" not in answer.text
    assert await stored(database) == NOTHING


def _as_json(text: str) -> str:
    return '"' + "".join(f"\\u{ord(sign):04x}" for sign in text) + '"'


async def test_a_device_is_no_file(client: httpx.AsyncClient) -> None:
    body = {"source": "devices", "path": "null"}
    assert field_of(await client.post(f"{NAMESPACE}:load", json=body)) == "path"


async def test_an_unknown_source_is_told_which_there_are(client: httpx.AsyncClient) -> None:
    answer = await client.post(f"{NAMESPACE}:load", json={"source": "etc", "path": "a"})
    assert field_of(answer) == "source"
    assert answer.json()["error"]["message"] == "source: must be a configured source: devices, in."


async def test_a_loaded_file_is_under_the_policy_and_rules(client: httpx.AsyncClient) -> None:
    policy = {"sensitive": True, "activities": {"drop": {"deny": True}}}
    ok(await client.put(f"{MEMORY}/toolPolicies/files", json=policy))
    refused = await _load(client, tool="files", activity="drop")
    assert refusal(refused) == (403, "PERMISSION_DENIED", Reason.ACTIVITY_DENIED)
    ok(await _load(client, tool="files", activity="read", userId="42", readers=["query"]))
    found = ok(await client.get(NAMESPACE))
    assert (found["sensitive"], found["userId"], found["readers"]) == (True, "42", ["query"])
    assert (found["tool"], found["activity"]) == ("files", "read")


async def test_a_policy_names_activities_as_they_are_sent(client: httpx.AsyncClient) -> None:
    await configure(client, privacyConfig={"rules": [{"kind": "IBAN", "action": "MASK"}]})
    policy = {"sensitive": True, "activities": {"DE89370400440532013000": {"sensitive": False}}}
    ok(await client.put(f"{MEMORY}/toolPolicies/files", json=policy))
    ok(await _load(client, tool="files", activity="DE89370400440532013000"))
    found = ok(await client.get(NAMESPACE))
    assert (found["sensitive"], found["activity"]) == (False, "IBAN")


class TestWhereTextsAloneAreStored:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"task_storable": ["text"]})

    async def test_a_file_of_another_kind_is_refused(
        self, client: httpx.AsyncClient, source: Path
    ) -> None:
        (source / "a.bin").write_bytes(b"\0")
        answer = await _load(client, "a.bin")
        assert refusal(answer)[2] == Reason.UNSUPPORTED_ARTIFACT_TYPE
        assert answer.json()["error"]["message"].startswith("path: must be of a kind")


async def test_sensitive_values_in_a_loaded_file_are_masked(
    client: httpx.AsyncClient, source: Path
) -> None:
    await configure(client, privacyConfig={"rules": [{"kind": "EMAIL", "action": "MASK"}]})
    (source / "mail.txt").write_text("Write to ada@example.com.")
    ok(await _load(client, "mail.txt"))
    content = await client.get(f"{NAMESPACE}/artifacts/mail.txt/content")
    assert content.text == "Write to [EMAIL]."


async def test_loading_needs_the_permission_of_uploads_and_is_audited(
    app: FastAPI, client: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    reader = await make_key(database, clock.now(), permissions=AGENT[1:])
    async with client_with(app, reader) as other:
        assert refusal(await _load(other))[:2] == (403, "PERMISSION_DENIED")
    ok(await _load(client))
    assert await events(client, "method=loadFiles result=PERMISSION_DENIED")
    assert await events(client, "method=loadFiles result=OK")
