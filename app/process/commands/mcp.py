"""Serve MCP on standard input and output, for clients that cannot use HTTP.

The key is read from MEMORY_BANK_CLIENT_KEY, never from an argument, which others could read.
"""

import asyncio
import shlex
from typing import Annotated

import typer

from app.adapters.postgres.embedded import holder_of
from app.adapters.terminal import MISUSED, fail
from app.process.connecting.programs import PROGRAMS
from app.process.remote_api import KEY_VARIABLE, URL_VARIABLE
from app.settings.environment import PREFIX, environment
from app.settings.settings import Settings

_DEFAULT_PORT = 8_000
MCP_PATH = "/mcp"
SERVER_NAME = "memory"
STAND_IN = "KEY"
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


def address_of(settings: Settings) -> str | None:
    """Return the address of the server of these settings; None: there is none on this machine."""
    holder = None if settings.database_url else holder_of(settings.data_dir)
    return holder.address if holder else None


def service_address(serving: str | None = None) -> str:
    """Return the public address of the service; `serving` is the address of a known server."""
    known = environment()
    port = known.get(f"{PREFIX}PORT") or _DEFAULT_PORT
    named = (known.get(variable) for variable in (URL_VARIABLE, f"{PREFIX}PUBLIC_URL"))
    address = next(filter(None, named), None) or serving or f"http://127.0.0.1:{port}"
    return address.rstrip("/")


def endpoint(serving: str | None = None) -> str:
    """Return the public URL of the MCP endpoint, as `service_address` finds the service."""
    return service_address(serving) + MCP_PATH


def connecting_lines(url: str) -> str:
    """Return the commands and configurations to paste into agents."""
    bearer = f'"Authorization: Bearer {STAND_IN}"'
    claude = f"claude mcp add --transport http {SERVER_NAME} {shlex.quote(url)} --header {bearer}"
    parts = [f"Put the key in place of {STAND_IN}.", f"Claude Code:\n{claude}"]
    for program in list(PROGRAMS.values())[1:]:
        entry = program.entry(url, STAND_IN)
        text = program.form.dump(program.section, SERVER_NAME, entry)
        parts.append(f"{program.title}, in {program.shown}:\n{text}")
    return "\n\n".join(parts)
