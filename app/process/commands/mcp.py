"""Serve MCP on standard input and output, for clients that cannot use HTTP.

The key is read from MEMORY_BANK_CLIENT_KEY, never from an argument, which others could read.
"""

import asyncio
import json
import shlex
from typing import Annotated

import typer

from app.adapters.terminal import MISUSED, fail
from app.process.remote_api import KEY_VARIABLE, URL_VARIABLE
from app.process.typed import whole_path
from app.settings.environment import PREFIX, environment

_DEFAULT_PORT = 8_000
_PATH = "/mcp"
_NAME = "memory"
_STAND_IN = "KEY"
"""Placeholder for the secret, which is shown only once."""


def run(
    *,
    url: Annotated[
        str | None,
        typer.Option(help=f"The service's MCP endpoint; absent: {URL_VARIABLE} and /mcp."),
    ] = None,
    scope: Annotated[
        list[str] | None,
        typer.Option(help="KEY=VALUE of the scope, where the key does not fix it; repeatable."),
    ] = None,
) -> None:
    key = environment().get(KEY_VARIABLE, "").strip()
    if not key:
        fail(
            f"Set {KEY_VARIABLE} to a key, such as one of `keys create --for-agent USER`.", MISUSED
        )
    # The package takes a second to import, and `keys` imports this module, too.
    from app.surfaces.mcp import stdio  # noqa: PLC0415 - as above

    pairs = dict(_pair(written) for written in scope or ())
    asyncio.run(stdio.run(url or endpoint(), pairs, key))


def _pair(written: str) -> tuple[str, str]:
    key, separator, value = written.partition("=")
    if not separator or not key:
        fail("--scope: must be KEY=VALUE, such as user_id=42.", MISUSED)
    return key, value


def endpoint(serving: str | None = None) -> str:
    """Return the public URL of the MCP endpoint; `serving` is the address of a known server."""
    known = environment()
    port = known.get(f"{PREFIX}PORT") or _DEFAULT_PORT
    named = (known.get(variable) for variable in (URL_VARIABLE, f"{PREFIX}PUBLIC_URL"))
    address = next(filter(None, named), None) or serving or f"http://127.0.0.1:{port}"
    return address.rstrip("/") + _PATH


def connecting_lines(url: str) -> str:
    """Return the commands and configurations to paste into agents."""
    header = {"Authorization": f"Bearer {_STAND_IN}"}
    http = {"url": url, "headers": header}
    proxy = {
        "command": whole_path(),
        "args": ["mcp", "--url", url],
        "env": {KEY_VARIABLE: _STAND_IN},
    }
    bearer = f'"Authorization: Bearer {_STAND_IN}"'
    claude = f"claude mcp add --transport http {_NAME} {shlex.quote(url)} --header {bearer}"
    lines = {
        "Claude Code": claude,
        "Cursor, in ~/.cursor/mcp.json": _json({"mcpServers": {_NAME: http}}),
        "VS Code, in .vscode/mcp.json": _json({"servers": {_NAME: {"type": "http", **http}}}),
        "Claude Desktop, in claude_desktop_config.json": _json({"mcpServers": {_NAME: proxy}}),
    }
    parts = [f"{client}:\n{text}" for client, text in lines.items()]
    return "\n\n".join([f"Put the key in place of {_STAND_IN}.", *parts])


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
