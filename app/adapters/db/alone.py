"""A snapshot on a separate connection, for reads that take minutes."""

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import psycopg
from psycopg.types.json import set_json_loads

from app.adapters.db.definitions import direct_address
from app.settings.settings import Settings

_DECODER = json.JSONDecoder()

Connection = psycopg.Connection[tuple[Any, ...]]


@contextmanager
def open_snapshot(url: str, settings: Settings, seconds: float) -> Iterator[Connection]:
    """Open a read-only snapshot outside the pool; use it in a thread, because calls block.

    No statement runs longer than `seconds`; behind a pooler, the pooler's own limit applies.

    Raises:
        psycopg.Error: the database is unreachable.
    """
    limits = {
        "statement_timeout": f"{max(seconds * 1000, 1):.0f}",
        "timezone": "UTC",
        "jit": "off",
    }
    address, options = direct_address(url, settings, limits)
    connection = psycopg.connect(
        address,
        prepare_threshold=None,
        connect_timeout=settings.tuning.database_connect_timeout_seconds,
        application_name="open-memory-bank-export",
        **options,
    )
    with closing(connection):
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        set_json_loads(_loads, connection)
        yield connection


def _loads(data: str | bytes) -> Any:  # noqa: ANN401 - JSON
    """Parse JSON as Postgres writes it, with a shortcut for the frequent empty values."""
    if data == b"{}":
        return {}
    if data == b"[]":
        return []
    return _DECODER.decode(data.decode() if isinstance(data, bytes) else data)
