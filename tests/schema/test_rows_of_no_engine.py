"""The migration that moves audit events and request ids of no engine into tables of their own."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import psycopg
import pytest

from app.adapters.db import migrate

_BEFORE = "c7e4a52d0900"
_FILL = b"""
insert into audit_events (engine_id, create_time, event_id, method, result)
select n, now(), 'event of ' || n, 'createKey', 'OK' from generate_series(0, 1) as n;
insert into request_ids
    (engine_id, caller, request_id, request_hash, operation_engine_id, remove_time)
select n, 'a', 'request of ' || n, '', 1, now() from generate_series(0, 1) as n
"""
_HELD = {
    "audit_events": "event_id",
    "service_audit_events": "event_id",
    "request_ids": "request_id",
    "service_request_ids": "request_id",
}


@pytest.fixture
def url(empty_database_url: str) -> str:
    """A database of before the migration."""
    migrate.upgrade(empty_database_url)
    migrate.downgrade(empty_database_url, _BEFORE)
    return empty_database_url


def _held(url: str, *tables: str) -> list[list[str]]:
    with psycopg.connect(url) as connection:
        found = [
            connection.execute(f"select {_HELD[table]} from {table} order by 1".encode())
            for table in tables
        ]
        return [[row[0] for row in rows] for rows in found]


def test_rows_move_out_and_back(url: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(_FILL)
    migrate.upgrade(url)
    assert _held(url, *_HELD) == [
        ["event of 1"],
        ["event of 0"],
        ["request of 1"],
        ["request of 0"],
    ]
    migrate.downgrade(url, _BEFORE)
    assert _held(url, "audit_events", "request_ids") == [
        ["event of 0", "event of 1"],
        ["request of 0", "request of 1"],
    ]


@pytest.mark.parametrize("is_upgrade", [True, False], ids=["upgrade", "downgrade"])
def test_nobody_writes_while_rows_move(url: str, *, is_upgrade: bool) -> None:
    """The move waits for a transaction that has written, and so takes its rows."""
    if not is_upgrade:
        migrate.upgrade(url)
    source = "audit_events" if is_upgrade else "service_audit_events"
    with psycopg.connect(url) as connection, ThreadPoolExecutor() as pool:
        connection.execute(
            f"insert into {source} (engine_id, create_time, event_id, method, result)"
            " values (0, now(), 'late', 'createKey', 'OK')".encode()
        )
        move = migrate.upgrade if is_upgrade else partial(migrate.downgrade, revision=_BEFORE)
        moving = pool.submit(move, url)
        with pytest.raises(TimeoutError):
            moving.result(timeout=3)
        connection.commit()
        moving.result()
    target = "service_audit_events" if is_upgrade else "audit_events"
    assert _held(url, target) == [["late"]]
