"""The program of the guide that writes what the official client lists, and its way back in."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from app.process.cli import app
from tests.support.documents import DOCS, samples
from tests.support.live import KEY, LiveServer
from tests.support.official import Bank, at, new_engine, platform_client


def _program() -> str:
    """Return the program of the guide, without its client, and its continuation."""
    parts = samples(DOCS / "guides" / "import.md", "python")
    (first,) = (part for part in parts if 'open("vertex.ndjson"' in part)
    (rest,) = (part for part in parts if "client.sessions.list" in part)
    return first[first.index("with open") :] + rest


def test_what_the_client_lists_moves_in_whole(
    bank: Bank,
    http: httpx.Client,
    server: LiveServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    line = {
        "memoryId": "seat",
        "fact": "I prefer a window seat.",
        "scope": {"user_id": "42"},
        "topics": [{"managedMemoryTopic": "USER_PREFERENCES"}],
        "metadata": {"source": {"stringValue": "chat"}, "turn": {"doubleValue": 3}},
        "createTime": "2025-01-02T03:04:05.123456Z",
        "updateTime": "2025-01-03T03:04:05Z",
    }
    said = {
        "author": "user",
        "invocationId": "e-1",
        "timestamp": "2025-01-02T03:04:05Z",
        "content": {"role": "user", "parts": [{"text": "Is 12A free?"}]},
    }
    headers = {"content-type": "application/x-ndjson"}
    posts: list[tuple[str, dict[str, Any]]] = [
        ("memories:import", {"content": json.dumps(line), "headers": headers}),
        ("sessions?sessionId=trip", {"json": {"userId": "42", "sessionState": {"seat": "12A"}}}),
        ("sessions/trip/events:batch", {"json": {"events": [said]}}),
    ]
    for path, body in posts:
        assert http.post(f"{bank.name}/{path}", **body).status_code == 200

    monkeypatch.chdir(tmp_path)
    client = platform_client(**at(server.url))
    exec(_program(), {"json": json, "client": client, "name": bank.name})
    there = new_engine(http)
    told = ["import", "vertex.ndjson", "--from", "vertex", "--engine", there.rpartition("/")[2]]
    monkeypatch.setenv("MEMORY_BANK_CLIENT_KEY", KEY)
    ended = CliRunner().invoke(app, [*told, "--sessions", "--url", server.url])
    assert ended.exit_code == 0, ended.output

    (memory,) = http.get(f"{there}/memories").json()["memories"]
    assert memory["name"].endswith("/seat")
    assert {key: memory[key] for key in line.keys() - {"memoryId"}} == {
        key: value for key, value in line.items() if key != "memoryId"
    }
    (session,) = http.get(f"{there}/sessions").json()["sessions"]
    assert (session["userId"], session["sessionState"]) == ("42", {"seat": "12A"})
    session_id = session["name"].rpartition("/")[2]
    (event,) = http.get(f"{there}/sessions/{session_id}/events").json()["sessionEvents"]
    assert {key: event[key] for key in said} == said
