"""The migration that moves keys which sessions share out of them, and gives them a time to show."""

import json
from typing import Any

import psycopg
import pytest

from app.adapters.db import migrate

_BEFORE = "e7f42a7c1100"
_Row = tuple[str, str, dict[str, Any], str, str]
_SESSIONS: list[_Row] = [
    # Of two that differ, that which was changed last counts, whatever their ids.
    ("b", "42", {"a": 1, "user:x": "old", "user:y": 1, "app:v": "old"}, "10:00", "tomorrow"),
    ("a", "42", {"user:x": "new", "app:v": {"n": None}, "temp:t": 1}, "11:00", "tomorrow"),
    ("c", "43", {"user:x": "other", "users": 1, "apple:": 1}, "09:00", "tomorrow"),
    ("gone", "42", {"user:x": "expired", "b": 1}, "12:00", "yesterday"),
    ("plain", "44", {"a": [1]}, "09:00", "tomorrow"),
]
_OWN: dict[str, dict[str, Any]] = {
    "b": {"a": 1},
    "a": {},
    "c": {"users": 1, "apple:": 1},
    "gone": {"b": 1},
    "plain": {"a": [1]},
}
_USERS: dict[str, dict[str, Any]] = {
    "42": {"user:x": "new", "user:y": 1},
    "43": {"user:x": "other"},
}
_APP: dict[str, Any] = {"app:v": {"n": None}}


@pytest.fixture
def url(empty_database_url: str) -> str:
    """A database of before the migration."""
    migrate.upgrade(empty_database_url)
    migrate.downgrade(empty_database_url, _BEFORE)
    return empty_database_url


def _states(connection: psycopg.Connection[Any], table: str, key: str) -> dict[Any, Any]:
    rows = connection.execute(f"select {key}, state from {table}".encode())
    return dict(rows.fetchall())


def _own(connection: psycopg.Connection[Any]) -> dict[str, Any]:
    return dict(connection.execute(b"select session_id, session_state from sessions").fetchall())


def test_keys_move_out_and_back(url: str) -> None:
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        cursor.executemany(
            "insert into sessions (engine_id, session_id, user_id, session_state, version,"
            " create_time, update_time, expire_time)"
            " values (1, %s, %s, %s, 1, 'yesterday', ('2026-01-15 ' || %s)::timestamptz, %s)",
            [(*row[:2], json.dumps(row[2]), *row[3:]) for row in _SESSIONS],
        )
    migrate.upgrade(url)
    with psycopg.connect(url) as connection:
        assert _own(connection) == _OWN
        assert _states(connection, "user_states", "user_id") == _USERS
        assert _states(connection, "app_states", "engine_id") == {1: _APP}
    migrate.downgrade(url, _BEFORE)
    with psycopg.connect(url) as connection:
        assert _own(connection) == {
            name: {**_OWN[name], **_USERS.get(user, {}), **_APP} for name, user, *_ in _SESSIONS
        }


def test_sessions_show_the_time_of_their_newest_event(url: str) -> None:
    """Unless they were changed after it; never before their creation, nor after its arrival."""
    cases = {
        "said": ("10:00", "11:00", "10:30", "10:30"),
        "early": ("10:00", "11:00", "09:00", "10:00"),
        "late": ("10:00", "11:00", "12:00", "11:00"),
        "changed": ("10:00", "11:30", "10:30", "11:30"),
    }
    day = "2026-01-15 "
    with psycopg.connect(url) as connection:
        for name, (created, changed, said, _) in cases.items():
            connection.execute(
                b"insert into sessions (engine_id, session_id, user_id, last_seq, version,"
                b" create_time, update_time, expire_time)"
                b" values (1, %s, '42', 2, 1, %s, %s, 'tomorrow')",
                (name, day + created, day + changed),
            )
            for seq, at in ((1, "10:45"), (2, said)):
                connection.execute(
                    b"insert into session_events (engine_id, session_id, seq, event_id, author,"
                    b' invocation_id, "timestamp", size_bytes, create_time)'
                    b" values (1, %s, %s, %s, 'user', 'i', %s, 1, %s)",
                    (name, seq, str(seq), day + at, day + "11:00"),
                )
    migrate.upgrade(url)
    with psycopg.connect(url) as connection:
        shown = b"select session_id, to_char(shown_update_time, 'HH24:MI') from sessions"
        found: dict[str, str] = dict(connection.execute(shown).fetchall())
    assert found == {name: case[3] for name, case in cases.items()}
