"""Manage API keys: who may call, and what each caller may do and reach.

The commands work on the database of MEMORY_BANK_DATABASE_URL, else on the one in the data folder,
with or without a running server.
"""

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from pydantic import ValidationError

from app.adapters.db.clock import DatabaseClock, Skew
from app.adapters.db.engine import open_engine
from app.adapters.db.migrate import SchemaError
from app.adapters.db.session import Database
from app.adapters.postgres.programs import PostgresStartError
from app.adapters.terminal import FAILED, MISUSED, fail, read_settings
from app.kernel.audit import Audited
from app.kernel.auth import Caller
from app.kernel.clock import Clock, SystemClock
from app.kernel.errors import InvalidArgument, NotFound, Reason, ServiceError
from app.kernel.names import parse_text_id
from app.kernel.paging import MAX_PAGE_SIZE, PageRequest
from app.kernel.permissions import Permission
from app.platform.access.schemas import ApiKey, CreateKeyRequest, check_grace
from app.platform.access.services.access import AccessService, KeyService
from app.platform.audit.service import AuditService
from app.platform.engines.services.engines import EngineService
from app.process.commands.mcp import address_of, connecting_lines, endpoint
from app.process.on_database import database_of
from app.settings.settings import Settings

_T = TypeVar("_T")
CALLER = Caller("command-line", frozenset(Permission))
"""The caller of these commands in the audit log, and the creator of their keys."""

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_LENGTH = re.compile(r"([0-9]{1,8})([smhdw])")
_COLLECTION = "keys/"
_NONE = "-"
_GAP = "  "

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False)

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
        list[str] | None, typer.Option(help="Project whose engines it reaches; repeatable.")
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
        "scopeConditions": pairs and _read(read_conditions, pairs, "--scope"),
        "ttl": expires_in and _read(read_length, expires_in, "--expires-in"),
    }
    request = _request({field: value for field, value in given.items() if value not in (None, [])})
    settings = read_settings(data_dir=data_dir)
    created = managed(settings, "createKey", lambda keys, _: keys.create(request))
    _show_secret(created, as_json=as_json)
    if for_agent is not None and not as_json:
        _show_connecting(created, settings)


@app.command("list")
def list_all(*, as_json: _AsJson = False, data_dir: _DataDir = None) -> None:
    """List all keys, newest first, including revoked and expired keys."""
    keys = managed(
        read_settings(data_dir=data_dir),
        "listKeys",
        lambda keys, _: all_keys(keys),
    )
    if as_json:
        _show_json({"keys": [key.wire() for key in keys]})
    else:
        typer.echo(table(keys))


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
    revoked = managed(
        settings,
        "revokeKey",
        lambda keys, key_id: keys.revoke(key_id, force=force),
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
    length = _read(read_grace, grace, "--grace")
    settings = read_settings(data_dir=data_dir)
    rotated = managed(
        settings,
        "rotateKey",
        lambda keys, key_id: keys.rotate(key_id, length),
        named=key,
    )
    _show_secret(rotated, as_json=as_json)


def _with_user(pairs: list[str], user: str | None) -> list[str]:
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


def _request(given: Mapping[str, Any]) -> CreateKeyRequest:
    try:
        return CreateKeyRequest.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        message = str(first["msg"]).removeprefix("Value error, ")
        fail(f"{_OPTIONS[str(first['loc'][0])]}: {message}.", MISUSED)


@asynccontextmanager
async def managed_keys(
    settings: Settings, method: str, named: str | None = None
) -> AsyncIterator[tuple[KeyService, str]]:
    """Open the database for one command; yield the service, and the id of the key `named`, or "".

    The audit log records the changes. `method` is the equivalent API method; only `createKey` may
    start with a new database.

    Raises:
        InvalidArgument: several keys have this name.
        NotFound: no key has this name.
        PostgresStartError: the embedded Postgres cannot start, or there is no database.
        SchemaError: the database is not ready for this release.
    """
    clock = DatabaseClock(SystemClock(), Skew())
    is_creating = method == "createKey"
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(database_of(settings, may_make=is_creating))
        whole = Database(open_engine(url, settings))
        stack.push_async_callback(whole.close)
        await clock.measure(whole)
        if is_creating:
            await _begin(whole, clock, settings)
        key_id = "" if named is None else await find_id(KeyService(whole, clock, settings), named)
        resource = f"keys/{key_id}" if key_id else "keys"
        audited = Audited(CALLER.key_id, method, resource, engine_id=None)
        record = partial(AuditService(whole, clock, settings).record, audited=audited)
        yield KeyService(whole.for_caller(CALLER, record), clock, settings), key_id


async def _begin(db: Database, clock: Clock, settings: Settings) -> None:
    """Create the first engine as a server would: once a key exists, no later start does so."""
    if not await AccessService(db, clock).has_keys():
        await EngineService(db, clock, settings).ensure_first()


def managed(
    settings: Settings,
    method: str,
    work: Callable[[KeyService, str], Awaitable[_T]],
    named: str | None = None,
) -> _T:
    """Return the result of `work` with `managed_keys`; end the command if it fails."""

    async def main() -> _T:
        async with managed_keys(settings, method, named) as (keys, key_id):
            return await work(keys, key_id)

    try:
        return asyncio.run(main())
    except InvalidArgument as error:
        first = error.violations[0] if error.violations else None
        option = first and _OPTIONS.get(first.field)
        fail(f"{option}: {first.description}" if first and option else error.message, MISUSED)
    except (SchemaError, PostgresStartError, ServiceError) as error:
        fail(str(error), FAILED)


def _show_secret(key: ApiKey, *, as_json: bool) -> None:
    if as_json:
        _show_json(key.wire())
        return
    typer.echo(key.name)
    typer.echo(f"API key, shown only this once: {key.secret}")


def _show_connecting(key: ApiKey, settings: Settings) -> None:
    # With a key for one engine, `/mcp` serves that engine without an id in the path.
    path = f"/{key.engines[0]}" if key.engines and len(key.engines) > 1 else ""
    url = endpoint(address_of(settings)) + path
    typer.echo(f"\n{connecting_lines(url)}")


def _show_json(value: Mapping[str, Any]) -> None:
    json.dump(value, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


async def all_keys(keys: KeyService) -> list[ApiKey]:
    """Return every key, newest first."""
    listed: list[ApiKey] = []
    token = None
    while True:
        page = await keys.list_keys(PageRequest(MAX_PAGE_SIZE, token))
        listed += page.keys
        token = page.next_page_token
        if token is None:
            return listed


async def find_id(keys: KeyService, text: str) -> str:
    """Return the id of the key named by `keys/ID`, its id, or its display name.

    Among keys with the same display name, keys that are not revoked take precedence.

    Raises:
        InvalidArgument: several keys have this name.
        NotFound: no key has this name.
    """
    if text.startswith(_COLLECTION):
        return parse_text_id("keys", text.removeprefix(_COLLECTION))
    listed = await all_keys(keys)
    named = [key for key in listed if text == key.display_name]
    live = [key for key in named if key.revoke_time is None]
    by_id = [key for key in listed if key.name == _COLLECTION + text]
    names = {key.name for key in (*by_id, *(live or named))}
    if not names:
        raise NotFound(
            "No key has this id or name; see `memory-bank keys list`.", Reason.RESOURCE_NOT_FOUND
        )
    if len(names) > 1:
        raise InvalidArgument(
            f"Several keys have this name; give one of: {', '.join(sorted(names))}.",
            Reason.FIELD_INVALID,
        )
    return names.pop().removeprefix(_COLLECTION)


def read_length(text: str) -> timedelta:
    """Parse a duration, such as `30d`, or raise ValueError."""
    match = _LENGTH.fullmatch(text)
    if match is None:
        raise ValueError("must be a number with s, m, h, d or w, such as 30d, 12h or 3600s")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def read_grace(text: str) -> timedelta:
    """Parse the grace period of former secrets, or raise ValueError if it is none or too long."""
    return check_grace(read_length(text))


def read_conditions(pairs: Iterable[str]) -> dict[str, list[str]]:
    """Parse `key=value` pairs, or raise ValueError; a repeated key has several values."""
    conditions: dict[str, list[str]] = {}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        if not separator:
            raise ValueError("must be key=value, such as user_id=42")
        conditions.setdefault(key, []).append(value)
    return conditions


def table(keys: Sequence[ApiKey]) -> str:
    """Return keys as a table."""
    now = SystemClock().now()
    head = ("ID", "NAME", "MAY", "BOUND TO", "CREATED", "EXPIRES", "LAST USE", "STATE")
    rows = [head, *(_row(key, now) for key in keys)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        _GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _row(key: ApiKey, now: datetime) -> tuple[str, ...]:
    return (
        key.name.removeprefix(_COLLECTION),
        _printable(key.display_name),
        ", ".join([*(key.roles or []), *(key.permissions or [])]),
        _printable(_bounds(key)) or _NONE,
        *map(_moment, (key.create_time, key.expire_time, key.last_use_time)),
        _state(key, now),
    )


def _bounds(key: ApiKey) -> str:
    bounds = [("projects", key.projects), ("engines", key.engines)]
    bounds += [(f"scope {name}", values) for name, values in (key.scope_conditions or {}).items()]
    return "; ".join(f"{name}: {', '.join(values)}" for name, values in bounds if values)


def _moment(moment: datetime | None) -> str:
    return _NONE if moment is None else f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}"


def _state(key: ApiKey, now: datetime) -> str:
    if key.revoke_time is not None:
        return "revoked"
    return "expired" if key.expire_time is not None and key.expire_time <= now else "active"


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
