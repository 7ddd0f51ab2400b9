"""Clients that generators make of the OpenAPI document: typed, and they work."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.documents import ROOT
from tests.support.live import KEY, LiveServer

_DOCUMENT = ROOT / "openapi" / "openapi.json"
_FOLDER = ROOT / "tests" / "clients"
_NODE_TOOLS = _FOLDER / "node_modules" / ".bin"
_ANSWERED = ["I like tea. taste", "CREATED", "2"]


def test_a_client_of_openapi_python_client_is_typed_and_works(
    server: LiveServer, engine: str, tmp_path: Path
) -> None:
    _run(
        Path(sys.executable).with_name("openapi-python-client"),
        *("generate", "--path", _DOCUMENT, "--config", _FOLDER / "openapi-python-client.yml"),
        *("--meta", "none", "--output-path", tmp_path / "bank_client"),
    )
    program = shutil.copy(_FOLDER / "program.py", tmp_path)
    _run(sys.executable, "-m", "mypy", "--strict", "--config-file", os.devnull, program)
    answered = _run(sys.executable, program, server.url, KEY, engine)
    assert answered.splitlines() == [*_ANSWERED, "INVALID_ARGUMENT"]


@pytest.mark.node
@pytest.mark.skipif(
    shutil.which("node") is None or not _NODE_TOOLS.is_dir(),
    reason="openapi-typescript is not installed: make test-node",
)
def test_a_client_of_openapi_typescript_is_typed_and_works(
    server: LiveServer, engine: str, tmp_path: Path
) -> None:
    _run(
        _NODE_TOOLS / "openapi-typescript",
        *(_DOCUMENT, "--output", tmp_path / "schema.ts", "--default-non-nullable", "false"),
    )
    for name in ("program.ts", "tsconfig.json"):
        shutil.copy(_FOLDER / name, tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    _run(_NODE_TOOLS / "tsc", "--project", tmp_path)
    program = tmp_path / "program.js"
    answered = _run("node", program, server.url, KEY, engine)
    assert answered.splitlines() == _ANSWERED


def _run(*command: str | Path) -> str:
    """Run a command, which must succeed; return what it prints."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
