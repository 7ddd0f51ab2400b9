"""MCP Inspector, the tool of the protocol's own authors, unmodified: `make test-node`."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from open_memory_bank import Client
from tests.support.documents import ROOT
from tests.support.live import KEY, LiveServer

_INSPECTOR = ROOT / "tests" / "clients" / "node_modules" / ".bin" / "mcp-inspector"
_NEEDED = (22, 19)
_TIMEOUT_SECONDS = 60
_TOOL_ERROR = 5
"""The exit status of a call whose result is an error."""


def _node_version() -> tuple[int, ...]:
    node = shutil.which("node")
    if node is None:
        return ()
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(map(int, said.strip().removeprefix("v").split(".")))


pytestmark = [
    pytest.mark.node,
    pytest.mark.skipif(
        not _INSPECTOR.exists() or _node_version() < _NEEDED,
        reason="MCP Inspector and Node 22.19 or newer are not installed: make test-node",
    ),
]


class Inspector:
    """Runs the Inspector, connected with a key that is bound to one person in a new engine."""

    def __init__(self, server: LiveServer, home: Path) -> None:
        with Client(server.url, key=KEY) as bank:
            engine = bank.engines.create(display_name="inspected")["name"]
            key = bank.keys.create(
                display_name="inspector",
                roles=["editor"],
                engines=[engine],
                scope_conditions={"user_id": "42"},
            )
        header = f"Authorization: Bearer {key['secret']}"
        self._command = [
            *(str(_INSPECTOR), "--cli", f"{server.url}/mcp", "--transport", "http"),
            *("--header", header, "--stored-auth-only"),
        ]
        # It keeps files at home.
        self._variables = {**os.environ, "HOME": str(home)}

    def run(self, *options: str, status: int = 0) -> Any:
        """Return the result that it prints; it must end with the exit status."""
        ended = subprocess.run(
            [*self._command, *options],
            env=self._variables,
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIMEOUT_SECONDS,
        )
        assert ended.returncode == status, ended.stdout + ended.stderr
        return json.loads(ended.stdout)

    def call(self, era: str, tool: str, arguments: Any, status: int = 0) -> Any:
        """Return the result of a tool."""
        sent = ("--tool-name", tool, "--tool-args-json", json.dumps(arguments))
        return self.run("--method", "tools/call", "--protocol-era", era, *sent, status=status)


@pytest.fixture(scope="module")
def inspector(server: LiveServer, tmp_path_factory: pytest.TempPathFactory) -> Inspector:
    return Inspector(server, tmp_path_factory.mktemp("home"))


@pytest.mark.parametrize("era", ["legacy", "auto", "modern"])
def test_the_inspector_finds_no_fault_in_the_tools(inspector: Inspector, era: str) -> None:
    """It ends with another status where other clients might refuse a schema."""
    listed = inspector.run("--method", "tools/list", "--strict", "--protocol-era", era)
    assert len(listed["tools"]) == 8
    assert not any("scope" in tool["inputSchema"]["properties"] for tool in listed["tools"])


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_remembers_and_finds(inspector: Inspector, era: str) -> None:
    fact = f"My {era} parcel is green."
    stored = inspector.call(era, "remember", {"facts": [fact]})
    [memory] = stored["structuredContent"]["memories"]
    assert (memory["action"], memory["fact"]) == ("CREATED", fact)
    found = inspector.call(era, "search_memories", {"query": f"{era} parcel", "limit": 1})
    assert memory["id"] in found["content"][0]["text"]
    wrong = inspector.call(era, "search_memories", {"limit": 1}, status=_TOOL_ERROR)
    assert wrong["content"][0]["text"].startswith("query: is required.")
