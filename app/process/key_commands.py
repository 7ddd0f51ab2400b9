"""The commands `memory-bank keys ...`.

The implementation, `app.process.key_admin`, is slow to import and is imported when needed.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from pydantic import ValidationError

from app.adapters.db.migrate import SchemaError
from app.adapters.postgres.process import PostgresStartError
from app.adapters.terminal import FAILED, MISUSED, fail, read_settings
from app.kernel.errors import InvalidArgument, ServiceError
from app.process.agent_commands import connecting_lines, endpoint

if TYPE_CHECKING:
    from app.platform.access.schemas import ApiKey, CreateKeyRequest
    from app.process.key_admin import Managed
    from app.settings.settings import Settings

_T = TypeVar("_T")

app = typer.Typer(
    help="Manage API keys: who may call, and what each caller may do and reach. The commands work"
    " on the database of MEMORY_BANK_DATABASE_URL, else on the one in the data folder, with or"
    " without a running server.",
    no_args_is_help=True,
)

_DataDir = Annotated[Path | None, typer.Option(help="Folder of the embedded Postgres.")]
_AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, as the API answers.")]
_Key = Annotated[
    str, typer.Argument(metavar="KEY", help="Id or name of the key, as `list` shows them.")
]
_Name = Annotated[
    str | None, typer.Option(help="Purpose of the key; with --for-agent it may be left out.")
]
_ExpiresIn = Annotated[
    str | None, typer.Option(help="Lifetime: 30d, 12h, 3600s ...; absent: unlimited.")
]
_ForAgent = Annotated[
    str | None,
    typer.Option(
        metavar="USER",
        help="An editor's key, bound to user_id=USER, for an agent of one person; prints the lines"
        " that connect agents as well.",
    ),
]
_FormerScope = Annotated[list[str] | None, typer.Option(hidden=True)]
_USER = "user_id"
_OPTIONS = {
    "displayName": "--name",
    "roles": "--role",
    "permissions": "--permission",
    "projects": "--project",
    "engines": "--engine",
    "scopeConditions": "--scope",
    "ttl": "--expires-in",
    "gracePeriod": "--grace",
}
"""The option that sets each field of a request."""


@app.command("create")
def create(  # noqa: PLR0913 - one parameter for each option: typer reads them
    *,
    name: _Name = None,
    role: Annotated[
        list[str] | None, typer.Option(help="viewer, user, editor or admin; repeatable.")
    ] = None,
    permission: Annotated[
        list[str] | None, typer.Option(help="A single permission, such as metrics.get; repeatable.")
    ] = None,
    project: Annotated[
        list[str] | None, typer.Option(help="Project that it reaches; repeatable.")
    ] = None,
    engine: Annotated[
        list[str] | None, typer.Option(help="Engine that it reaches, by its id; repeatable.")
    ] = None,
    scope: Annotated[
        list[str] | None,
        typer.Option(help="KEY=VALUE that a scope must have; repeatable, also for one key."),
    ] = None,
    condition: _FormerScope = None,
    expires_in: _ExpiresIn = None,
    for_agent: _ForAgent = None,
    as_json: _AsJson = False,
    data_dir: _DataDir = None,
) -> None:
    """Create a key and print its secret once. Without bounds it reaches everything."""
    from app.process import key_admin  # noqa: PLC0415 - slow import

    pairs = _with_user([*(scope or []), *(condition or [])], for_agent)
    if for_agent is not None:
        name, role = name or f"agent of {for_agent}", role or ["editor"]
    if name is None:
        fail("Give a --name, or --for-agent.", MISUSED)
    if not (role or permission):
        fail("Give at least one --role or --permission.", MISUSED)
    given = {
        "displayName": name,
        "roles": role,
        "permissions": permission,
        "projects": project,
        "engines": engine,
        "scopeConditions": pairs and _read(key_admin.read_conditions, pairs, "--scope"),
        "ttl": expires_in and _read(key_admin.read_length, expires_in, "--expires-in"),
    }
    request = _request({field: value for field, value in given.items() if value not in (None, [])})
    settings = read_settings(data_dir=data_dir)
    made = _managed(settings, "createKey", lambda managed: managed.keys.create(request))
    _show_secret(made, as_json=as_json)
    if for_agent is not None and not as_json:
        _show_connecting(made, settings)


@app.command("list")
def list_all(*, as_json: _AsJson = False, data_dir: _DataDir = None) -> None:
    """List all keys, newest first, including revoked and expired keys."""
    from app.process import key_admin  # noqa: PLC0415 - slow import

    keys = _managed(
        read_settings(data_dir=data_dir),
        "listKeys",
        lambda managed: key_admin.list_all(managed.keys),
    )
    if as_json:
        _show_json({"keys": [key.wire() for key in keys]})
    else:
        typer.echo(key_admin.table(keys))


@app.command("revoke")
def revoke(
    key: _Key,
    *,
    force: Annotated[
        bool, typer.Option("--force", help="Revoke even the last key that can manage keys.")
    ] = False,
    as_json: _AsJson = False,
    data_dir: _DataDir = None,
) -> None:
    """Revoke a key for good; servers refuse it within a second."""
    settings = read_settings(data_dir=data_dir)
    revoked = _managed(
        settings,
        "revokeKey",
        lambda managed: managed.keys.revoke(managed.key_id, force=force),
        named=key,
    )
    if as_json:
        _show_json(revoked.wire())
    else:
        typer.echo(f"{revoked.name} is revoked.")


@app.command("rotate")
def rotate(
    key: _Key,
    *,
    grace: Annotated[
        str, typer.Option(help="Time for which the former secrets stay valid, such as 1h.")
    ] = "0s",
    as_json: _AsJson = False,
    data_dir: _DataDir = None,
) -> None:
    """Replace the secret of a key, and print the new one once."""
    from app.process import key_admin  # noqa: PLC0415 - slow import

    length = _read(key_admin.read_grace, grace, "--grace")
    settings = read_settings(data_dir=data_dir)
    rotated = _managed(
        settings,
        "rotateKey",
        lambda managed: managed.keys.rotate(managed.key_id, length),
        named=key,
    )
    _show_secret(rotated, as_json=as_json)


def _with_user(pairs: list[str], user: str | None) -> list[str]:
    """Return the pairs of a scope with the pair for the user, if there is a user."""
    if user is None:
        return pairs
    if any(pair.partition("=")[0] == _USER for pair in pairs):
        fail(f"--scope: {_USER} is what --for-agent sets.", MISUSED)
    return [*pairs, f"{_USER}={user}"]


def _read(read: Callable[[_T], Any], value: _T, option: str) -> Any:  # noqa: ANN401 - as read has it
    try:
        return read(value)
    except ValueError as error:
        fail(f"{option}: {error}.", MISUSED)


def _request(given: Mapping[str, Any]) -> "CreateKeyRequest":
    from app.platform.access.schemas import CreateKeyRequest  # noqa: PLC0415 - slow import

    try:
        return CreateKeyRequest.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        message = str(first["msg"]).removeprefix("Value error, ")
        fail(f"{_OPTIONS[str(first['loc'][0])]}: {message}.", MISUSED)


def _managed(
    settings: "Settings",
    method: str,
    work: "Callable[[Managed], Awaitable[_T]]",
    named: str | None = None,
) -> _T:
    """Run `work` on the keys, or on the named key; `method` is the equivalent API method."""
    from app.process import key_admin  # noqa: PLC0415 - slow import

    async def main() -> _T:
        async with key_admin.managed_keys(settings, method, named) as managed:
            return await work(managed)

    try:
        return asyncio.run(main())
    except InvalidArgument as error:
        first = error.violations[0] if error.violations else None
        option = first and _OPTIONS.get(first.field)
        fail(f"{option}: {first.description}" if first and option else error.message, MISUSED)
    except (SchemaError, PostgresStartError, ServiceError) as error:
        fail(str(error), FAILED)


def _show_secret(key: "ApiKey", *, as_json: bool) -> None:
    if as_json:
        _show_json(key.wire())
        return
    typer.echo(key.name)
    typer.echo(f"API key, shown only this once: {key.secret}")


def _show_connecting(key: "ApiKey", settings: "Settings") -> None:
    from app.adapters.postgres.embedded import holder_of  # noqa: PLC0415 - slow import

    holder = None if settings.database_url else holder_of(settings.data_dir)
    # With a key for one engine, `/mcp` serves that engine without an id in the path.
    path = f"/{key.engines[0]}" if key.engines and len(key.engines) > 1 else ""
    url = endpoint(holder.address if holder else None) + path
    typer.echo(f"\n{connecting_lines(url)}")


def _show_json(value: Mapping[str, Any]) -> None:
    json.dump(value, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")
