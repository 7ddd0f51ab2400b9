"""The migration that tells from revisions which facts a person set by hand."""

from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from app.adapters.db import migrate

_BEFORE = "d7e1f03a1200"
_RULES = "rules"
_TALK: tuple[str, str, str | None] = ("UPDATED", "I live in Bergen.", _RULES)
# Action, fact and author of each version; the metadata of the memory; the version that holds.
_HISTORIES: dict[str, tuple[list[tuple[str, str, str | None]], str, int | None]] = {
    "created": ([("CREATED", "a", None)], "{}", None),
    "generated": ([("CREATED", "a", _RULES), _TALK], "{}", None),
    "corrected": ([("CREATED", "a", _RULES), ("UPDATED", "b", None)], "{}", 2),
    "said since": ([("CREATED", "a", _RULES), ("UPDATED", "b", None), _TALK], "{}", None),
    "labelled": ([("CREATED", "a", _RULES), ("UPDATED", "a", None)], "{}", None),
    "corrected, then labelled": (
        [("CREATED", "a", _RULES), ("UPDATED", "b", None), ("UPDATED", "b", None)],
        "{}",
        2,
    ),
    "rolled back": ([("CREATED", "a", _RULES), _TALK, ("ROLLED_BACK", "a", None)], "{}", 3),
    "undeleted": ([("CREATED", "a", _RULES), ("UNDELETED", "a", None)], "{}", 2),
    "masked": ([("CREATED", "a", _RULES), ("REDACTED", "[EMAIL]", None)], "{}", None),
    "timed": (
        [("CREATED", "a", _RULES), ("UPDATED", "b", None)],
        '{"event_time": {"timestampValue": "2023-05-08T13:56:00Z"}}',
        None,
    ),
}
_MEMORY = """
insert into memories (engine_id, memory_id, version, scope, scope_hash, fact, topics, metadata,
                      memory_type, create_time, update_time)
values (1, %s, %s, '{}', 'x', %s, '[]', %s, 'NATURAL_LANGUAGE_COLLECTION', %s, %s)
"""
_REVISION = """
insert into memory_revisions (engine_id, revision_id, memory_id, version, action, fact, topics,
                              metadata, memory_type, labels, extracted_memories, author,
                              create_time, expire_time)
values (1, %s, %s, %s, %s, %s, '[]', '{}', 'NATURAL_LANGUAGE_COLLECTION', '{}', %s, %s, %s,
        now() + interval '1 year')
"""


def _time(version: int) -> datetime:
    return datetime(2026, 1, version, tzinfo=UTC)


@pytest.fixture
def url(empty_database_url: str) -> str:
    """A database of before the migration."""
    migrate.upgrade(empty_database_url)
    migrate.downgrade(empty_database_url, _BEFORE)
    return empty_database_url


def test_a_fact_that_was_set_by_hand_rests_on_the_time_of_that(url: str) -> None:
    with psycopg.connect(url) as connection:
        for number, (name, (history, metadata, _)) in enumerate(_HISTORIES.items()):
            last = len(history)
            memory: tuple[Any, ...] = (name, last, history[-1][1], metadata, _time(1), _time(last))
            connection.execute(_MEMORY.encode(), memory)
            for version, (action, fact, author) in enumerate(history, 1):
                extracted = "[]" if author is None else '[{"fact": "x"}]'
                row = (number * 10 + version, name, version, action, fact, extracted, author)
                connection.execute(_REVISION.encode(), (*row, _time(version)))
    migrate.upgrade(url)
    with psycopg.connect(url) as connection:
        rows = connection.execute(b"select memory_id, held_time from memories").fetchall()
    assert dict(rows) == {
        name: None if version is None else _time(version)
        for name, (_, _, version) in _HISTORIES.items()
    }
