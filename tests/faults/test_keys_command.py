"""`memory-bank keys`: on a new database, beside a running server, and without one."""

import json
import os
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support import forks
from tests.support.live import KEY, LiveServer, live_server

_SECOND = 1.0
_PAUSE_SECONDS = 0.02


def _keys(
    at: Mapping[str, str], *options: str, status: int = 0
) -> "subprocess.CompletedProcess[str]":
    """Run a command; `at` are the settings that name its database."""
    variables = {f"MEMORY_BANK_{name.upper()}": value for name, value in at.items()}
    arguments = ["-m", "app.process.cli", "keys", *options]
    done = forks.run(arguments, {**os.environ, **variables}, 120)
    assert done.returncode == status, done.stderr
    # What went wrong is one sentence, and so is that a data folder is made.
    is_said = bool(status) or done.stderr.startswith("New data folder: ")
    assert done.stderr.count("\n") == is_said, done.stderr
    return done


def _asked(at: Mapping[str, str], *options: str) -> Any:
    return json.loads(_keys(at, *options, "--json").stdout)


def _status(server: LiveServer, secret: str, path: str = "reasoningEngines/1") -> int:
    headers = {"Authorization": f"Bearer {secret}"}
    return httpx.get(f"{server.url}/v1/{path}", headers=headers).status_code


def _assert_soon_refused(server: LiveServer, secret: str) -> None:
    """See that a key stops working within a second."""
    deadline = time.monotonic() + _SECOND
    while (status := _status(server, secret)) == 200 and time.monotonic() < deadline:
        time.sleep(_PAUSE_SECONDS)
    assert status == 401


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for parent in (tmp_path, *tmp_path.parents[:2]):
        parent.chmod(0o755)
    return tmp_path


def test_keys_are_managed_before_beside_and_after_a_server(folder: Path) -> None:
    at = {"data_dir": str(folder)}
    absent = _keys(at, "list", status=1)
    assert "There is no database" in absent.stderr
    made_early = _keys(at, "create", "--name", "early", "--role", "viewer")
    assert made_early.stderr == f"New data folder: {folder}\n"
    early_name, said = made_early.stdout.splitlines()
    early = said.removeprefix("API key, shown only this once: ")
    with live_server(folder, MEMORY_BANK_EMBEDDER="hash") as server:
        # The first engine is there, as if the server had been first.
        assert _status(server, early) == 200
        made = _asked(
            at,
            *("create", "--name", "bound", "--role", "user", "--permission", "metrics.get"),
            *("--project", "default", "--engine", "reasoningEngines/1", "--expires-in", "12h"),
            *("--scope", "user_id=42", "--condition", "user_id=43"),
        )
        assert _status(server, made["secret"]) == 200
        assert made["creator"] == "command-line"
        assert made["scopeConditions"] == {"user_id": ["42", "43"]}
        rotated = _asked(at, "rotate", made["name"])
        assert _status(server, rotated["secret"]) == 200
        _assert_soon_refused(server, made["secret"])
        revoked = _asked(at, "revoke", made["name"].removeprefix("keys/"))
        assert revoked["revokeTime"]
        _assert_soon_refused(server, rotated["secret"])
        assert _audited(server) == [
            ("revokeKey", made["name"]),
            ("rotateKey", made["name"]),
            ("createKey", made["name"]),
            ("createKey", early_name),
        ]
        _end_the_last(at)
        _assert_soon_refused(server, KEY)
    lines = _keys(at, "list").stdout.splitlines()
    assert [line.split()[-1] for line in lines[1:]] == ["revoked", "revoked", "active"]


def _end_the_last(at: Mapping[str, str]) -> None:
    """The last key that manages keys goes by force only."""
    (admin,) = [key["name"] for key in _asked(at, "list")["keys"] if "admin" in key["roles"]]
    assert "the last key that can manage keys" in _keys(at, "revoke", admin, status=1).stderr
    assert _keys(at, "revoke", admin, "--force").stdout == f"{admin} is revoked.\n"


def _audited(server: LiveServer) -> list[tuple[str, str]]:
    answer = httpx.get(
        f"{server.url}/v1/auditEvents",
        headers={"Authorization": f"Bearer {KEY}"},
        params={"filter": 'caller="command-line"'},
    )
    return [(event["method"], event["resource"]) for event in answer.json()["auditEvents"]]


def test_keys_are_managed_on_an_external_database(database: object, database_url: str) -> None:
    del database  # which is empty, and emptied afterwards
    at = {"database_url": database_url, "data_dir": "/nonexistent"}
    made = _asked(at, "create", "--name", "one", "--role", "admin")
    assert [key["name"] for key in _asked(at, "list")["keys"]] == [made["name"]]


def test_a_key_is_revoked_by_the_name_that_the_list_shows(
    database: object, database_url: str
) -> None:
    del database
    at = {"database_url": database_url, "data_dir": "/nonexistent"}
    for name in ("agent of 42", "twin", "twin"):
        _keys(at, "create", "--name", name, "--role", "user")
    shown = _keys(at, "list").stdout.splitlines()[1:]
    (agent,) = (line.split()[0] for line in shown if "agent of 42" in line)
    assert _keys(at, "revoke", "agent of 42").stdout == f"keys/{agent} is revoked.\n"
    assert "Several keys have this name" in _keys(at, "revoke", "twin", status=2).stderr
    assert "No key has this id or name" in _keys(at, "rotate", "absent", status=1).stderr
