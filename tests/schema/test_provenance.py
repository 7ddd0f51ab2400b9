"""The migration that makes plain columns of what was computed from the metadata."""

import json
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from app.adapters.db import migrate

_BEFORE = "f8a53b8d0800"
_MAY = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
_METADATA: dict[str, dict[str, Any]] = {
    "all": {
        "source": {"stringValue": "mail"},
        "position": {"doubleValue": 4.5},
        "event_time": {"timestampValue": "2023-05-08T13:56:00Z"},
    },
    "long": {"source": {"stringValue": "x" * 300}},
    "none": {"source": {"doubleValue": 1}, "event_time": {"stringValue": "2023"}},
}
_COLUMNS = {
    "all": ("mail", 4.5, _MAY),
    "long": ("x" * 200, None, None),
    "none": (None, None, None),
}
_INSERT = """
insert into memories (engine_id, memory_id, version, scope, scope_hash, fact, topics, metadata,
                      memory_type, create_time, update_time)
values (1, %s, 1, '{}', 'x', 'I like tea.', '[]', %s, 'NATURAL_LANGUAGE_COLLECTION', now(), now())
"""


@pytest.fixture
def url(empty_database_url: str) -> str:
    """A database of before the migration."""
    migrate.upgrade(empty_database_url)
    migrate.downgrade(empty_database_url, _BEFORE)
    return empty_database_url


def _read(connection: psycopg.Connection[Any], *columns: str) -> dict[str, Any]:
    names = ", ".join(columns)
    rows = connection.execute(f"select memory_id, {names} from memories".encode())
    return {name: tuple(values) for name, *values in rows}


def test_the_values_stay_and_can_be_set(url: str) -> None:
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        cursor.executemany(_INSERT, [(name, json.dumps(one)) for name, one in _METADATA.items()])
    migrate.upgrade(url)
    with psycopg.connect(url) as connection:
        assert _read(connection, "source", "position", "event_time") == _COLUMNS
        connection.execute("update memories set source = 'chat', position = 1")
    migrate.downgrade(url, _BEFORE)
    with psycopg.connect(url) as connection:
        plain = {name: values[:2] for name, values in _COLUMNS.items()}
        assert _read(connection, "source", "position") == plain


def test_what_an_older_release_writes_has_none(url: str) -> None:
    migrate.upgrade(url)
    with psycopg.connect(url) as connection:
        connection.execute(_INSERT, ("old", json.dumps(_METADATA["all"])))
        assert _read(connection, "source", "position") == {"old": (None, None)}
