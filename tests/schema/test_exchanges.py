"""The migration that numbers the exchanges of the events there are, by the rule of later ones."""

import json
import random
from typing import Any

import psycopg
import pytest

from app.adapters.db import migrate
from app.adapters.db.engine import open_engine
from app.adapters.db.session import Database
from app.platform.sessions.logic.event_text import ExchangePlace, step_of
from app.settings.settings import Settings
from tests.support.totals import held, recounted

_BEFORE = "c5d20e5a0902"
_SESSIONS, _MOST_EVENTS = 200, 24
_AUTHORS = ("user", "user", " User\u00a0", "HUMAN", "agent", "agent", "seat_agent", "42")
_RARE_AUTHORS = ("system", "developer\t", "tool", "\u2003function", "\u0130", "users", "Model")
_ROLES = (None, None, None, "user", "model", "model", "Model ", "system", "TOOL", "", "\u00a0USER")
_RARE_ROLES = ("assistant", "AI ", "agent", "human", "Developer", "function", "other", "models")
_PARTS: tuple[dict[str, Any], ...] = (
    {"text": "a"},
    {"text": "b"},
    {"text": 'say "thought": true \\u0000'},
    # Which no text of the database can hold; releases of before have stored it.
    {"text": "a\u0000b"},
    {"text": "\ud800", "thought": False},
    {"text": ""},
    {},
    {"text": "hmm", "thought": True},
    {"text": "said", "thought": False},
    {"thoughtSignature": "AAAA"},
    {"text": "", "functionCall": {"name": "f"}},
    {"functionCall": {}, "thought": True},
    {"functionResponse": {"name": "f", "response": {"parts": []}}},
    {"functionResponse": {}},
    {"inlineData": {"mimeType": "image/png"}},
    {"executableCode": {"code": "1"}},
)
_METADATA: tuple[dict[str, Any] | None, ...] = (
    None,
    None,
    None,
    {},
    {"partial": True},
    {"partial": False},
    {"branch": "partial"},
    {"partial": True, "branch": "a\u0000b"},
)

_Event = tuple[str, dict[str, Any] | None, dict[str, Any] | None]


def _event(chance: random.Random) -> _Event:
    author = chance.choice(_AUTHORS if chance.random() < 0.85 else _RARE_AUTHORS)
    metadata = chance.choice(_METADATA)
    if chance.random() < 0.1:
        return author, chance.choice((None, {})), metadata
    count = chance.choice((0, 1, 1, 1, 1, 2, 2, 3))
    content: dict[str, Any] = {"parts": [chance.choice(_PARTS) for _ in range(count)]}
    role = chance.choice(_ROLES if chance.random() < 0.85 else _RARE_ROLES)
    return author, content if role is None else {"role": role, **content}, metadata


def _sessions() -> list[list[_Event]]:
    chance = random.Random(7)
    return [
        [_event(chance) for _ in range(chance.randint(0, _MOST_EVENTS))] for _ in range(_SESSIONS)
    ]


def _fill(connection: psycopg.Connection[Any], sessions: list[list[_Event]]) -> None:
    now = "2026-01-15T12:00:00Z"
    with connection.cursor() as cursor:
        cursor.executemany(
            "insert into sessions (engine_id, session_id, user_id, last_seq, version, create_time,"
            " update_time, expire_time) values (%s, %s, '42', %s, 1, %s, %s, %s)",
            [(1 + n % 3, str(n), len(one), now, now, now) for n, one in enumerate(sessions)],
        )
        cursor.executemany(
            "insert into session_events (engine_id, session_id, seq, event_id, author,"
            ' invocation_id, "timestamp", content, event_metadata, size_bytes, create_time)'
            " values (%s, %s, %s, %s, %s, 'i', %s, %s, %s, 7, %s)",
            [
                (1 + n % 3, str(n), seq, str(seq), author, now, *map(_json, told), now)
                for n, one in enumerate(sessions)
                for seq, (author, *told) in enumerate(one, 1)
            ],
        )


def _json(value: dict[str, Any] | None) -> str | None:
    return None if value is None else json.dumps(value)


def _expected(events: list[_Event]) -> tuple[list[int], ExchangePlace]:
    place, numbers = ExchangePlace(), []
    for event in events:
        place = place.after(step_of(*event))
        numbers.append(place.exchange)
    return numbers, place


@pytest.fixture
def filled_url(empty_database_url: str) -> str:
    """A database of before the migration, with sessions, which is migrated then."""
    migrate.upgrade(empty_database_url)
    migrate.downgrade(empty_database_url, _BEFORE)
    with psycopg.connect(empty_database_url) as connection:
        _fill(connection, _sessions())
    migrate.upgrade(empty_database_url)
    return empty_database_url


def test_events_of_before_get_the_exchanges_that_they_would_get_today(filled_url: str) -> None:
    sessions = _sessions()
    assert max(_expected(events)[1].exchange for events in sessions) >= 4
    with psycopg.connect(filled_url) as connection:
        places = {
            int(session): ExchangePlace(exchange, is_answered)
            for session, exchange, is_answered in connection.execute(
                b"select session_id, exchanges, is_answered from sessions"
            )
        }
        numbers: dict[int, list[int]] = {number: [] for number in places}
        for session, exchange in connection.execute(
            b"select session_id, exchange from session_events order by engine_id, session_id, seq"
        ):
            numbers[int(session)].append(exchange)
    found = {number: (numbers[number], places[number]) for number in places}
    assert found == {number: _expected(events) for number, events in enumerate(sessions)}


async def test_what_engines_hold_is_counted_as_before(filled_url: str, settings: Settings) -> None:
    database = Database(open_engine(filled_url, settings))
    assert await held(database) == await recounted(database)
    await database.close()


def test_the_migration_can_be_taken_back_and_done_again(filled_url: str) -> None:
    statement = b"select sum(exchange), count(*) from session_events"
    with psycopg.connect(filled_url) as connection:
        before = connection.execute(statement).fetchone()
    migrate.downgrade(filled_url, _BEFORE)
    migrate.upgrade(filled_url)
    with psycopg.connect(filled_url) as connection:
        assert connection.execute(statement).fetchone() == before


def test_no_limit_of_time_stops_the_numbering(empty_database_url: str) -> None:
    migrate.upgrade(empty_database_url)
    migrate.downgrade(empty_database_url, _BEFORE)
    with psycopg.connect(empty_database_url) as connection:
        _fill(connection, [[("user", {"parts": [{"text": "a"}]}, None)]])
        connection.execute(b"create table limits (value text)")
        connection.execute(b"""
            create function note_limit() returns trigger language plpgsql as $$ begin
                insert into limits values (current_setting('statement_timeout')); return new;
            end $$
        """)
        connection.execute(
            b"create trigger noted before update on session_events"
            b" for each row execute function note_limit()"
        )
    migrate.upgrade(empty_database_url)
    with psycopg.connect(empty_database_url) as connection:
        assert connection.execute(b"select value from limits").fetchall() == [("0",)]


def test_erased_events_are_gone_in_the_release_of_before(empty_database_url: str) -> None:
    migrate.upgrade(empty_database_url)
    said: _Event = ("user", {"parts": [{"text": "a"}]}, None)
    with psycopg.connect(empty_database_url) as connection:
        _fill(connection, [[said, said]])
        connection.execute(b"update session_events set delete_time = now() where seq = 1")
    migrate.downgrade(empty_database_url, _BEFORE)
    with psycopg.connect(empty_database_url) as connection:
        assert connection.execute(b"select seq from session_events").fetchall() == [(2,)]
