"""The implementation of `memory-bank keys ...`: manages API keys directly in the database.

The commands need no key and therefore work even if no key may manage keys. They use the database
from the settings, else the embedded Postgres. The latter belongs to a running server or is started
for the duration of the command.
"""

import asyncio
import re
import sys
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

from app.adapters.db import migrate
from app.adapters.db.clock import DatabaseClock, Skew
from app.adapters.db.engine import open_engine
from app.adapters.db.session import Database
from app.adapters.db.urls import plain_url
from app.adapters.postgres.embedded import check_exists
from app.adapters.postgres.server import find_running
from app.kernel.audit import Audited
from app.kernel.auth import Caller
from app.kernel.clock import Clock, SystemClock
from app.kernel.errors import InvalidArgument, NotFound, Reason
from app.kernel.names import parse_text_id
from app.kernel.paging import MAX_PAGE_SIZE, PageRequest
from app.kernel.permissions import Permission
from app.platform.access.schemas import ApiKey, check_grace
from app.platform.access.services.access import AccessService, KeyService
from app.platform.audit.service import AuditService
from app.platform.engines.services.engines import EngineService
from app.process.migrating import own_database
from app.process.reporting import tell_new_folder
from app.settings.settings import Settings

CALLER = Caller("command-line", frozenset(Permission))
"""The caller of these commands in the audit log, and the creator of their keys."""

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_LENGTH = re.compile(r"([0-9]{1,8})([smhdw])")
_COLLECTION = "keys/"
_NONE = "-"
_GAP = "  "


@dataclass(frozen=True)
class Managed:
    """The key service, and the id of the key named by the command, or an empty text."""

    keys: KeyService
    key_id: str


@asynccontextmanager
async def managed_keys(
    settings: Settings, method: str, named: str | None = None
) -> AsyncIterator[Managed]:
    """Open the database for one command; the audit log records its changes.

    Args:
        settings: the settings with the database or the data folder.
        method: the equivalent API method; only `createKey` may start with a new database.
        named: the key named by the command, if any; see `find_id`.

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
        key_id = "" if named is None else await find_id(KeyService(whole, clock), named)
        resource = f"keys/{key_id}" if key_id else "keys"
        audited = Audited(CALLER.key_id, method, resource, engine_id=None)
        record = partial(AuditService(whole, clock, settings).record, audited=audited)
        yield Managed(KeyService(whole.for_caller(CALLER, record), clock), key_id)


async def _begin(db: Database, clock: Clock, settings: Settings) -> None:
    """Create the first engine as a server would: once a key exists, no later start does so."""
    if not await AccessService(db, clock).has_keys():
        await EngineService(db, clock, settings).ensure_first()


@asynccontextmanager
async def database_of(settings: Settings, *, may_make: bool) -> AsyncIterator[str]:
    """Open the configured database, even while a server uses it, and yield its address.

    Raises:
        PostgresStartError: the embedded Postgres cannot start, or does not exist and must not be
            created.
        SchemaError: the database is not ready for this release.
    """
    if settings.database_url is not None:
        url = settings.database_url.get_secret_value()
        await asyncio.to_thread(
            migrate.check, url, settings.tuning.database_connect_timeout_seconds
        )
        yield plain_url(url)
        return
    running = await asyncio.to_thread(find_running, settings.data_dir)
    if running is not None:
        await asyncio.to_thread(migrate.check, running)
        yield running
        return
    if not may_make:
        await asyncio.to_thread(check_exists, settings.data_dir)
    tell_new_folder(settings.data_dir, sys.stderr)
    async with own_database(settings) as url:
        yield url


async def list_all(keys: KeyService) -> list[ApiKey]:
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
    listed = await list_all(keys)
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
    """Parse a duration, such as `30d`.

    Raises:
        ValueError: the text is not a duration.
    """
    match = _LENGTH.fullmatch(text)
    if match is None:
        raise ValueError("must be a number with s, m, h, d or w, such as 30d, 12h or 3600s")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def read_grace(text: str) -> timedelta:
    """Parse the grace period of former secrets.

    Raises:
        ValueError: the text is not a duration, or is too long.
    """
    return check_grace(read_length(text))


def read_conditions(pairs: Iterable[str]) -> dict[str, list[str]]:
    """Parse `key=value` pairs; a repeated key has several values.

    Raises:
        ValueError: a text is not such a pair.
    """
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
    """Escape control characters in foreign text for the terminal."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
