"""The programs that `memory-bank connect` knows: their files, and their forms of an entry.

The formats were read on 2026-11-29. The page of each program stands beside it.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from app.process.connecting import jsonc, toml
from app.process.remote_api import KEY_VARIABLE
from app.process.typed import whole_path
from app.settings.environment import environment

Entry = Mapping[str, Any]


@dataclass(frozen=True)
class Program:
    """A program that uses MCP servers.

    Attributes:
        shown: the file of its user, as people write it.
        file: the same on this machine.
        project_file: the file in the folder of a project; None: there is none.
        section: the object or table that holds the entries of servers.
        entry: the entry for an address and a key.
        form: reads and edits the file.
    """

    title: str
    shown: str
    file: Callable[[], Path]
    project_file: str | None
    section: str
    entry: Callable[[str, str], Entry]
    form: ModuleType = jsonc


def _folder(variable: str, otherwise: str) -> Path:
    """Return the folder that a variable names, else one in the home folder."""
    named = environment().get(variable)
    return Path(named) if named else Path.home() / otherwise


def _application(name: str) -> Path:
    """Return the folder of a desktop application's configuration."""
    if sys.platform == "darwin":
        return Path.home() / "Library/Application Support" / name
    if sys.platform == "win32":
        return _folder("APPDATA", "AppData/Roaming") / name
    return _folder("XDG_CONFIG_HOME", ".config") / name


def _claude_code_file() -> Path:
    named = environment().get("CLAUDE_CONFIG_DIR")
    return Path(named or Path.home()) / ".claude.json"


def _headers(key: str) -> Entry:
    return {"Authorization": f"Bearer {key}"}


def _proxy(url: str, key: str) -> Entry:
    """Return the entry of a program whose file takes commands only."""
    command = {"command": whole_path(), "args": ["mcp", "--url", url]}
    return {**command, "env": {KEY_VARIABLE: key}}


PROGRAMS: Mapping[str, Program] = {
    # https://code.claude.com/docs/en/mcp
    "claude-code": Program(
        "Claude Code",
        "~/.claude.json",
        _claude_code_file,
        ".mcp.json",
        "mcpServers",
        lambda url, key: {"type": "http", "url": url, "headers": _headers(key)},
    ),
    # https://cursor.com/docs/mcp
    "cursor": Program(
        "Cursor",
        "~/.cursor/mcp.json",
        lambda: Path.home() / ".cursor/mcp.json",
        ".cursor/mcp.json",
        "mcpServers",
        lambda url, key: {"url": url, "headers": _headers(key)},
    ),
    # https://code.visualstudio.com/docs/agents/reference/mcp-configuration
    "vscode": Program(
        "VS Code",
        "mcp.json of the user's profile",
        lambda: _application("Code") / "User/mcp.json",
        ".vscode/mcp.json",
        "servers",
        lambda url, key: {"type": "http", "url": url, "headers": _headers(key)},
    ),
    # https://modelcontextprotocol.io/quickstart/user
    "claude-desktop": Program(
        "Claude Desktop",
        "claude_desktop_config.json",
        lambda: _application("Claude") / "claude_desktop_config.json",
        None,
        "mcpServers",
        _proxy,
    ),
    # https://developers.openai.com/codex/mcp
    "codex": Program(
        "Codex",
        "~/.codex/config.toml",
        lambda: _folder("CODEX_HOME", ".codex") / "config.toml",
        ".codex/config.toml",
        "mcp_servers",
        lambda url, key: {"url": url, "http_headers": _headers(key)},
        form=toml,
    ),
}
