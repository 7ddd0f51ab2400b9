"""`memory-bank import` against a live server: all there, nothing twice, all taken back."""

import gzip
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner, Result

from app.adapters.api_client import ApiClient, RemoteError
from app.process.cli import app
from tests.packaging.checkout import scratch_folder
from tests.support.live import KEY, LiveServer, live_server
from tests.unit.imports.test_products import CASES

_DATA = Path(__file__).parents[2] / "data/importers"
_ROWS = 1_000


@pytest.fixture(scope="module")
def server() -> Iterator[LiveServer]:
    settings = {"MEMORY_BANK_EMBEDDER": "hash", "MEMORY_BANK_LOG_LEVEL": "WARNING"}
    with scratch_folder() as folder, live_server(folder, **settings) as running:
        yield running


@dataclass
class Bank:
    """An engine of its own, and the command on it."""

    http: httpx.Client
    engine: str
    url: str
    key_file: Path

    def run(self, *arguments: str, given: bytes | None = None) -> Result:
        """Run the command, which must not fail by itself."""
        told = ["import", *arguments, "--url", self.url, "--key-file", str(self.key_file)]
        ended = CliRunner().invoke(app, told, input=given)
        assert ended.exception is None or isinstance(ended.exception, SystemExit), ended.exception
        return ended

    def load(self, file: Path, source: str, *arguments: str) -> Result:
        """Import a file; the exit code is the caller's to judge."""
        return self.run(str(file), "--from", source, "--engine", self.engine, *arguments)

    def get(self, path: str, **query: Any) -> Any:
        answer = self.http.get(f"/reasoningEngines/{self.engine}/{path}", params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def other(self) -> "Bank":
        """Return another engine."""
        return replace(self, engine=new_engine(self.http))

    def memories(self) -> dict[str, Any]:
        """Return all live memories by their ids."""
        found: dict[str, Any] = {}
        token = ""
        while True:
            page = self.get("memories", pageSize=100, **({"pageToken": token} if token else {}))
            found |= {one["name"].rpartition("/")[2]: one for one in page.get("memories", ())}
            token = page.get("nextPageToken", "")
            if not token:
                return found


@pytest.fixture
def bank(server: LiveServer, tmp_path: Path) -> Iterator[Bank]:
    key_file = tmp_path / "key"
    key_file.write_text(KEY)
    headers = {"Authorization": f"Bearer {KEY}"}
    with httpx.Client(base_url=f"{server.url}/v1beta1", headers=headers, timeout=60) as http:
        yield Bank(http, new_engine(http), server.url, key_file)


def new_engine(http: httpx.Client) -> str:
    """Create an engine; return its id."""
    made = http.post("/reasoningEngines", json={"displayName": "imports"}).json()
    return str(made["name"].partition("/reasoningEngines/")[2].partition("/")[0])


def counts(ended: Result) -> dict[str, int]:
    """Return the counts that a command printed, by their words."""
    pairs = (line.split(": ") for line in ended.stdout.splitlines() if line[:1].isupper())
    return {
        name: int(count.replace(",", ""))
        for name, count in ([*pair, ""][:2] for pair in pairs)
        if count.replace(",", "").isdecimal()
    }


def _row(number: int) -> dict[str, Any]:
    return {
        "id": str(uuid.uuid5(uuid.NAMESPACE_OID, str(number))),
        "memory": f"Fact number {number} of a user.",
        "hash": "0" * 32,
        "metadata": {"source": "chat", "turn": number},
        "created_at": f"2025-01-{number % 28 + 1:02}T08:00:00.{number:06}-08:00",
        "updated_at": f"2025-02-{number % 28 + 1:02}T08:00:00-08:00",
        "user_id": f"user {number % 40}",
        "agent_id": "helper" if number % 3 == 0 else None,
    }


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return [_row(number) for number in range(_ROWS)]


def test_a_dump_of_mem0_moves_in_once_and_out_again(
    bank: Bank, rows: list[dict[str, Any]], tmp_path: Path
) -> None:
    file = tmp_path / "mem0.json"
    file.write_text(json.dumps({"results": rows}))
    first = bank.load(file, "mem0", "--label", "origin=mem0")
    assert (first.exit_code, counts(first)) == (0, {"Imported": _ROWS}), first.output
    stored = bank.memories()
    assert {one["fact"] for one in stored.values()} == {row["memory"] for row in rows}
    memory = stored[f"mem0-{rows[3]['id']}"]
    assert (memory["scope"], memory["createTime"], memory["updateTime"], memory["metadata"]) == (
        {"user_id": "user 3", "agent_id": "helper"},
        "2025-01-04T16:00:00.000003Z",
        "2025-02-04T16:00:00Z",
        {"source": {"stringValue": "chat"}, "turn": {"doubleValue": 3.0}},
    )

    again = bank.load(file, "mem0")
    assert (again.exit_code, counts(again)) == (0, {"Imported": 0, "Existing": _ROWS})
    assert bank.memories() == stored

    (operation,) = first.stdout.splitlines()[-1:]
    assert operation.startswith("projects/")
    undone = bank.run("--undo", f"{file}.result")
    assert (undone.exit_code, counts(undone)) == (0, {"Undone": _ROWS})
    assert bank.memories() == {}
    assert not Path(f"{file}.result").exists()

    third = bank.load(file, "mem0")
    assert (third.exit_code, counts(third)) == (0, {"Imported": 0, "Restored": _ROWS})
    assert {key: one["fact"] for key, one in bank.memories().items()} == {
        key: one["fact"] for key, one in stored.items()
    }


def test_a_new_engine_is_made_once_until_all_is_in_it(
    bank: Bank, rows: list[dict[str, Any]], tmp_path: Path
) -> None:
    file = tmp_path / "mem0.json"
    file.write_text(json.dumps([*rows[:2], {"id": "x", "memory": "Whose?"}]))
    told = [str(file), "--from", "mem0", "--engine", "new"]
    before = _engines(bank)
    assert bank.run(*told, "--dry-run").exit_code == 1
    assert _engines(bank) == before

    rejected = bank.run(*told)
    assert (rejected.exit_code, counts(rejected)["Imported"]) == (1, 2)
    (made,) = _engines(bank) - before
    assert rejected.stderr.startswith(f"Importing into {made} (--engine {made.split('/')[1]}).\n")
    assert len(replace(bank, engine=made.split("/")[1]).memories()) == 2

    file.write_text(json.dumps(rows[:3]))
    mended = bank.run(*told)
    assert (mended.exit_code, counts(mended)) == (0, {"Imported": 1, "Existing": 2})
    assert _engines(bank) - before == {made}

    other = bank.run(*told)
    assert (other.exit_code, counts(other)) == (0, {"Imported": 3})
    assert len(_engines(bank) - before) == 2


def test_a_new_engine_gets_memories_with_their_revisions(bank: Bank, tmp_path: Path) -> None:
    file, revisions = tmp_path / "vertex.json", tmp_path / "revisions.json"
    file.write_bytes((_DATA / "vertex.json").read_bytes())
    revisions.write_bytes((_DATA / "vertex-revisions.json").read_bytes())
    before = _engines(bank)
    told = [str(file), "--from", "vertex", "--revisions", str(revisions), "--engine", "new"]
    for number in (1, 2):
        ended = bank.run(*told)
        assert (ended.exit_code, counts(ended)["Imported"]) == (1, 3), ended.output
        assert len(_engines(bank) - before) == number
    made = {engine.split("/")[1] for engine in _engines(bank) - before}
    assert {len(replace(bank, engine=engine).memories()) for engine in made} == {3}


def _engines(bank: Bank) -> set[str]:
    page = bank.http.get("/reasoningEngines", params={"pageSize": 1000}).json()
    names = (engine["name"] for engine in page["reasoningEngines"])
    return {"reasoningEngines/" + name.rpartition("/")[2] for name in names}


def _arguments(name: str) -> list[str]:
    case = CASES[name]
    scopes = [f"{key}={value}" for key, value in case.pairs.items()]
    scopes += [",".join(case.keys)] if case.keys else []
    told = [part for scope in scopes for part in ("--scope", scope)]
    return [*told, "--sessions"] if case.sessions else told


def _golden(name: str) -> list[dict[str, Any]]:
    lines = (_DATA / "golden" / f"{name}.ndjson").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("name", CASES)
def test_every_source_moves_in_as_the_preview_says(bank: Bank, name: str, tmp_path: Path) -> None:
    file = tmp_path / CASES[name].file
    file.write_bytes((_DATA / CASES[name].file).read_bytes())
    made = _golden(name)
    wanted = {one["memoryId"]: one for one in made if "memoryId" in one and "ended" not in one}
    rejected = [one["rejected"] for one in made if "rejected" in one]
    sessions = [one for one in made if "session" in one]

    seen = bank.load(file, name, *_arguments(name), "--dry-run")
    assert (seen.exit_code, counts(seen)["Would import"]) == (int(bool(rejected)), len(wanted))
    assert bank.memories() == {}

    done = bank.load(file, name, *_arguments(name))
    assert (done.exit_code, counts(done)["Imported"]) == (int(bool(rejected)), len(wanted))
    stored = bank.memories()
    assert stored.keys() == wanted.keys()
    for memory_id, line in wanted.items():
        told = {key: line[key] for key in line.keys() & stored[memory_id].keys()}
        assert told == {key: stored[memory_id][key] for key in told}
        assert told.keys() >= line.keys() - {"memoryId"}
    for one in sessions:
        events = bank.get(f"sessions/{one['session']}/events")["sessionEvents"]
        assert [event["content"] for event in events] == [
            event["content"] for event in one["events"]
        ]
        assert [event["timestamp"] for event in events] == [
            event["timestamp"] for event in one["events"]
        ]

    refused = Path(f"{file}.rejected.ndjson")
    assert refused.exists() == bool(rejected)
    if rejected:
        assert stat.S_IMODE(refused.stat().st_mode) == 0o600
        lines = [json.loads(line) for line in refused.read_text().splitlines()]
        assert [line["reason"] for line in lines] == rejected
        assert lines[0].keys() == {"line", "reason", "detail", "item"}

    again = bank.load(file, name, *_arguments(name))
    assert (counts(again)["Imported"], counts(again).get("Sessions")) == (0, None)
    assert bank.memories() == stored

    assert bank.run("--undo", f"{file}.result").exit_code == 0
    assert bank.memories() == {}
    assert bank.get("sessions").get("sessions", []) == []


def test_memories_of_vertex_move_in_with_their_revisions(bank: Bank, tmp_path: Path) -> None:
    file, revisions = tmp_path / "vertex.json", tmp_path / "revisions.json"
    file.write_bytes((_DATA / "vertex.json").read_bytes())
    revisions.write_bytes((_DATA / "vertex-revisions.json").read_bytes())
    config = {"memoryBankConfig": {"ttlConfig": {"memoryRevisionDefaultTtl": "864000s"}}}
    engine = f"/reasoningEngines/{bank.engine}"
    assert bank.http.patch(engine, json={"contextSpec": config}).status_code == 200
    told = ("--revisions", str(revisions), "--label", "origin=vertex")
    first = bank.load(file, "vertex", *told)
    assert first.exit_code == 1, first.output
    assert (counts(first)["Imported"], counts(first)["Revisions"]) == (3, 6)
    assert "Rejected: 2" in first.stderr
    stored = bank.memories()
    assert len(stored) == 3
    (seat,) = [key for key, one in stored.items() if one.get("fact") == "I prefer a window seat."]
    assert (stored[seat]["createTime"], stored[seat]["updateTime"]) == (
        "2025-11-01T10:00:00.123456Z",
        "2025-11-03T10:00:00Z",
    )
    history = bank.get(f"memories/{seat}/revisions")["memoryRevisions"]
    assert [
        (one["name"].rpartition("/")[2], one["action"], one["fact"], one["createTime"])
        for one in history
    ] == [
        ("502", "UPDATED", "I prefer a window seat.", "2026-01-03T10:00:00Z"),
        ("499", "DELETED", "", "2026-01-02T10:00:00Z"),
        ("501", "CREATED", "I prefer an aisle seat.", "2026-01-01T10:00:00.123456Z"),
    ]
    assert history[0]["labels"] == {"origin": "vertex", "run": "b"}
    assert history[0]["extractedMemories"] == [{"fact": "Window seats are best."}]
    shown = bank.http.get(engine).json()
    assert (shown["displayName"], shown["contextSpec"]) == ("imports", config)

    again = bank.load(file, "vertex", *told)
    assert (again.exit_code, again.stdout) == (1, first.stdout)
    assert bank.memories() == stored
    assert bank.get(f"memories/{seat}/revisions")["memoryRevisions"] == history

    path = f"{engine}/memories/{seat}:rollback"
    assert bank.http.post(path, json={"targetRevisionId": "501"}).status_code == 200
    back = bank.memories()[seat]
    assert (back["fact"], back["metadata"]) == (
        "I prefer an aisle seat.",
        {"source": {"stringValue": "chat"}},
    )
    newest = bank.get(f"memories/{seat}/revisions")["memoryRevisions"]
    assert [one["action"] for one in newest] == ["ROLLED_BACK", "UPDATED", "DELETED", "CREATED"]

    refused = bank.load(file, "vertex", *told, "--limit", "1")
    assert (refused.exit_code, "ENGINE_NOT_EMPTY" in refused.stderr) == (1, True)


def test_a_session_goes_on_where_an_import_broke_off(bank: Bank, tmp_path: Path) -> None:
    whole = json.loads((_DATA / "letta.af").read_text())
    part = json.loads((_DATA / "letta.af").read_text())
    part["agents"][0]["messages"] = part["agents"][0]["messages"][:3]
    file = tmp_path / "agent.af"
    for document, events in ((part, 2), (whole, 2)):
        file.write_text(json.dumps(document))
        ended = bank.load(file, "letta", "--sessions", "--scope", "user_id=ida")
        assert (ended.exit_code, counts(ended)["Events"]) == (0, events), ended.output
    (session,) = bank.get("sessions")["sessions"]
    assert session["userId"] == "ida"
    name = session["name"].rpartition("/")[2]
    assert len(bank.get(f"sessions/{name}/events")["sessionEvents"]) == 4


def test_what_was_changed_here_stays_unless_overwritten(bank: Bank, tmp_path: Path) -> None:
    file = tmp_path / "lines.jsonl"
    file.write_text('{"memoryId": "cat", "fact": "I own a cat.", "scope": {"user_id": "42"}}\n')
    assert bank.load(file, "jsonl").exit_code == 0
    path = f"/reasoningEngines/{bank.engine}/memories/cat"
    assert bank.http.patch(path, json={"fact": "I own two cats."}).status_code == 200

    kept = bank.load(file, "jsonl")
    assert (kept.exit_code, counts(kept)) == (0, {"Imported": 0, "Changed here": 1})
    assert bank.memories()["cat"]["fact"] == "I own two cats."
    replaced = bank.load(file, "jsonl", "--overwrite")
    assert counts(replaced)["Overwritten"] == 1, replaced.output
    assert bank.memories()["cat"]["fact"] == "I own a cat."


def test_ended_facts_come_deleted_and_recoverable(bank: Bank, tmp_path: Path) -> None:
    file = tmp_path / "zep.json"
    file.write_bytes((_DATA / "zep.json").read_bytes())
    ended = bank.load(file, "zep", "--scope", "user_id=kim", "--with-ended")
    assert (ended.exit_code, counts(ended)) == (0, {"Imported": 2, "Ended and deleted": 1})
    assert [one["fact"] for one in bank.memories().values()] == ["Kim prefers trains to planes."]
    deleted = bank.get("memories", showDeleted="true")["memories"]
    assert "Kim lives in Oslo." in {one["fact"] for one in deleted}
    assert len(Path(f"{file}.result").read_text().splitlines()) == 2
    assert bank.run("--undo", f"{file}.result").exit_code == 0
    assert bank.memories() == {}


def test_texts_can_be_generated_from(bank: Bank, tmp_path: Path) -> None:
    file = tmp_path / "talk.ndjson"
    texts = ["I live in Oslo.", "I prefer window seats.", "Hello."]
    lines = [
        {"id": str(number), "memory": text, "user_id": "42"} for number, text in enumerate(texts)
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    ended = bank.load(file, "mem0", "--infer")
    assert (ended.exit_code, counts(ended)["Texts"]) == (0, 3), ended.output
    assert {one["fact"] for one in bank.memories().values()} == set(texts[:2])
    assert bank.run("--undo", f"{file}.result").exit_code == 0
    assert bank.memories() == {}


def test_lines_that_the_service_refuses_are_rejected(bank: Bank, tmp_path: Path) -> None:
    file = tmp_path / "lines.jsonl"
    lines: list[Mapping[str, Any]] = [
        {"fact": "One.", "scope": {"user_id": "42"}, "topics": [{"unknown": "x"}]},
        {"fact": "Two.", "scope": {"user_id": "42"}},
        {"fact": "Three.", "scope": {"user_id": "42"}, "createTime": "1950-01-01T00:00:00Z"},
    ]
    file.write_text("\n".join(json.dumps(line) for line in lines))
    ended = bank.load(file, "jsonl")
    assert (ended.exit_code, counts(ended)["Imported"]) == (1, 1)
    assert "Rejected: 2" in ended.stderr
    rejected = Path(f"{file}.rejected.ndjson").read_text().splitlines()
    assert [json.loads(line)["line"] for line in rejected] == [1, 3]
    assert json.loads(rejected[1])["item"] == lines[2]
    assert "createTime" in json.loads(rejected[1])["detail"]


def test_the_standard_input_is_read_packed_or_not(
    bank: Bank, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data = (_DATA / "graphiti.ndjson").read_bytes()
    told = ["-", "--from", "graphiti", "--engine", bank.engine, "--limit", "1"]
    for given, imported in ((data, 1), (gzip.compress(data), 0)):
        ended = bank.run(*told, given=given)
        assert (ended.exit_code, counts(ended)["Imported"]) == (0, imported), ended.output
    assert Path("stdin.result").exists()


def test_a_file_that_breaks_off_keeps_what_was_read(bank: Bank, tmp_path: Path) -> None:
    file = tmp_path / "mem0.json"
    whole = json.dumps({"results": [_row(1), _row(2)]})
    file.write_text(whole[:-20])
    ended = bank.load(file, "mem0")
    assert (ended.exit_code, counts(ended)) == (1, {"Imported": 1})
    assert "not JSON after item 1" in ended.stderr
    assert len(bank.memories()) == 1
    file.write_text(whole)
    assert counts(bank.load(file, "mem0")) == {"Imported": 1, "Existing": 1}


def test_what_was_stored_before_a_refusal_is_told(
    bank: Bank, rows: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload, calls = ApiClient.upload, count()

    def refused(api: ApiClient, *arguments: Any) -> Any:
        if next(calls) > 0:
            raise RemoteError("The disk is full.")
        return upload(api, *arguments)

    monkeypatch.setattr(ApiClient, "upload", refused)
    file = tmp_path / "mem0.json"
    file.write_text(json.dumps([*rows, _row(_ROWS)]))
    ended = bank.load(file, "mem0")
    assert (ended.exit_code, counts(ended)) == (1, {"Imported": _ROWS})
    assert "The disk is full." in ended.stderr
    assert f"import --undo {file}.result" in ended.stdout


def test_a_scope_that_is_no_object_is_rejected(bank: Bank, tmp_path: Path) -> None:
    file = tmp_path / "lines.ndjson"
    file.write_text(json.dumps({"fact": "A fact.", "scope": "user 1"}) + "\n")
    ended = bank.load(file, "jsonl", "--scope", "user_id=1")
    assert (ended.exit_code, counts(ended)) == (1, {})
    (line,) = Path(f"{file}.rejected.ndjson").read_text().splitlines()
    assert json.loads(line)["reason"] == "SCOPE_INVALID"


def test_a_key_without_the_permission_of_times_is_told_so(bank: Bank, tmp_path: Path) -> None:
    made = bank.http.post("/keys", json={"displayName": "mover", "roles": ["editor"]})
    assert made.status_code == 200, made.text
    bank.key_file.write_text(made.json()["secret"])
    file = tmp_path / "mem0.json"
    file.write_text(json.dumps([_row(1)]))
    ended = bank.load(file, "mem0")
    assert (ended.exit_code, counts(ended)) == (1, {"Imported": 0})
    (line,) = Path(f"{file}.rejected.ndjson").read_text().splitlines()
    assert json.loads(line)["reason"] == "PERMISSION_MISSING"


def test_a_service_that_is_not_there_is_named(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("x")
    file = Path(shutil.copy(_DATA / "mem0.json", tmp_path))
    told = ["import", str(file), "--from", "mem0", "--engine", "1"]
    ended = CliRunner().invoke(app, [*told, "--url", "http://127.0.0.1:9", "--key-file", str(key)])
    assert ended.exit_code == 1
    assert "127.0.0.1:9" in ended.stderr


def test_a_plain_export_moves_in_elsewhere(bank: Bank, tmp_path: Path) -> None:
    file = tmp_path / "vertex.json"
    file.write_bytes((_DATA / "vertex.json").read_bytes())
    bank.load(file, "vertex")
    path = f"/reasoningEngines/{bank.engine}/memories"
    made = {"fact": "Stored here.", "scope": {"user_id": "44"}}
    assert bank.http.post(path, json=made).status_code == 200
    plain = tmp_path / "plain.jsonl"
    told = ["export", "--engine", bank.engine, "--plain", "--output", str(plain)]
    ended = CliRunner().invoke(
        app, [*told, "--url", bank.url, "--key-file", str(bank.key_file)], catch_exceptions=False
    )
    assert ended.exit_code == 0, ended.output

    elsewhere = bank.other()
    moved = elsewhere.load(plain, "jsonl")
    assert (moved.exit_code, counts(moved)["Imported"]) == (0, 4), moved.output
    assert sorted(map(_shown, elsewhere.memories().values())) == sorted(
        map(_shown, bank.memories().values())
    )


def _shown(memory: Mapping[str, Any]) -> str:
    """Return a memory without its name and version."""
    kept = {key: value for key, value in memory.items() if key not in {"name", "etag"}}
    return json.dumps(kept, sort_keys=True)


def test_an_interrupted_import_goes_on_and_can_be_taken_back(
    bank: Bank, rows: list[dict[str, Any]], tmp_path: Path
) -> None:
    more = [*rows, *(_row(number) for number in range(_ROWS, _ROWS + 50))]
    file = tmp_path / "mem0.ndjson"
    file.write_text("".join(json.dumps(row) + "\n" for row in more))
    told = ["import", "-", "--from", "mem0", "--engine", bank.engine, "--url", bank.url]
    command = [sys.executable, "-m", "app.process.cli", *told, "--key-file", str(bank.key_file)]
    begun = subprocess.Popen(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path.cwd())},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert begun.stdin is not None
    assert begun.stderr is not None
    begun.stdin.write(file.read_bytes())
    begun.stdin.flush()
    result = tmp_path / "stdin.result"
    deadline = time.monotonic() + 60
    while not result.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    begun.send_signal(signal.SIGINT)
    assert begun.wait(timeout=30) == 130
    assert b"The same command goes on" in begun.stderr.read()
    begun.stdin.close()
    begun.stderr.close()
    assert len(bank.memories()) == _ROWS

    again = bank.load(file, "mem0")
    assert counts(again) == {"Imported": 50, "Existing": _ROWS}
    assert counts(bank.run("--undo", str(result))) == {"Undone": _ROWS}
    assert len(bank.memories()) == 50
