"""The lines that connect an agent to a key."""

import json
from pathlib import Path

import pytest

from app.process.commands.mcp import connecting_lines, endpoint

_NAMES = ("CLIENT_URL", "PUBLIC_URL", "PORT")


@pytest.mark.parametrize(
    ("variables", "url"),
    [
        ({}, "http://127.0.0.1:8000/mcp"),
        ({"PORT": "9000"}, "http://127.0.0.1:9000/mcp"),
        ({"PORT": "9000", "PUBLIC_URL": "https://b.example/bank/"}, "https://b.example/bank/mcp"),
        ({"PUBLIC_URL": "https://b.example", "CLIENT_URL": "http://c.test"}, "http://c.test/mcp"),
        ({"PUBLIC_URL": "", "CLIENT_URL": ""}, "http://127.0.0.1:8000/mcp"),
    ],
)
def test_agents_find_the_service_where_it_is_configured(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], url: str
) -> None:
    for name in _NAMES:
        monkeypatch.delenv(f"MEMORY_BANK_{name}", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(f"MEMORY_BANK_{name}", value)
    assert endpoint() == url


def test_a_server_that_runs_is_found_where_it_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in _NAMES:
        monkeypatch.delenv(f"MEMORY_BANK_{name}", raising=False)
    monkeypatch.setenv("MEMORY_BANK_PORT", "9000")
    assert endpoint("http://127.0.0.1:9123") == "http://127.0.0.1:9123/mcp"
    monkeypatch.setenv("MEMORY_BANK_PUBLIC_URL", "https://b.example")
    assert endpoint("http://127.0.0.1:9123") == "https://b.example/mcp"


def test_the_proxy_is_named_by_its_whole_path() -> None:
    """An application does not have the `PATH` of a shell."""
    lines = connecting_lines("http://127.0.0.1:8000/mcp")
    pasted = lines.partition("claude_desktop_config.json:\n")[2].partition("\n\n")[0]
    assert Path(json.loads(pasted)["mcpServers"]["memory"]["command"]).is_file()
