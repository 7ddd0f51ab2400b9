"""A context reads the tail of a session: that of a long one costs what that of a short one does."""

from typing import Any

import httpx
import psycopg
import pytest

from tests.support.contexts import context, ranges
from tests.support.sessions import create_session

Sent = list[tuple[str, Any]]

_EVENTS = b"""
insert into session_events (engine_id, session_id, seq, event_id, author, invocation_id, timestamp,
    content, exchange, size_bytes, create_time)
select engine_id, session_id, n, 'e' || n, case when n %% 2 = 1 then 'user' else 'agent' end, 'i',
    create_time, json_build_object('parts', json_build_array(json_build_object('text',
    repeat('x', 200)))), (n + 1) / 2, 400, create_time
from sessions, generate_series(1, %(count)s) n where session_id = %(session)s"""
_PLACE = b"""
update sessions set last_seq = %(count)s, exchanges = %(count)s / 2, is_answered = true
where session_id = %(session)s"""
_SUMMARY = b"""
insert into session_summaries (engine_id, session_id, summary_id, policy_key, kind, state, version,
    first_seq, last_seq, last_exchange, boundary_seq, text, char_limit, model_id, template, usage,
    policy, create_time, update_time)
select engine_id, session_id, n, %(key)s, 'full', case when n = 9 then 'active' else 'superseded'
    end, n, 1, %(count)s - 40 + 4 * n, %(count)s / 2 - 20 + 2 * n, %(count)s - 40 + 4 * n,
    repeat('s', 1000), 1000, 'builtin', '', '{}', '{}', create_time, create_time
from sessions, generate_series(1, 9) n where session_id = %(session)s"""
_SUMMARIES = b"""
insert into session_summaries (engine_id, session_id, summary_id, policy_key, kind, state, version,
    first_seq, last_seq, last_exchange, boundary_seq, text, char_limit, model_id, template, usage,
    policy, create_time, update_time)
select engine_id, session_id, lpad(n::text, 10, '0'), %(key)s, 'block', 'active', 1, 6 * n - 5,
    6 * n, 3 * n, 6 * n, repeat('s', 1000), 1000, 'builtin', '', '{}', '{}', create_time,
    create_time
from sessions, generate_series(1, (%(count)s - 4) / 6) n where session_id = %(session)s"""


async def _session(
    client: httpx.AsyncClient, url: str, count: int, key: str, summaries: bytes
) -> str:
    """Create a session of so many events, of which all but the last few are summarised."""
    session_id = f"s{count}"
    await create_session(client, session_id)
    values = {"count": count, "session": session_id, "key": key}
    with psycopg.connect(url) as connection:
        for statement in (_EVENTS, _PLACE, summaries):
            connection.execute(statement, values)
        connection.execute(b"analyze session_events, session_summaries")
    return f"/sessions/{session_id}"


def _blocks(url: str, sent: Sent) -> int:
    """Return how many blocks statements on events and summaries read.

    The service may analyse the tables at the same time, which is no part of a context.
    """
    total = 0
    with psycopg.connect(url) as connection:
        for text, values in sent:
            if text.startswith("analyze"):
                continue
            if "session_events" in text or "session_summaries" in text:
                explain = "explain (analyze, buffers, format json) " + text
                ((plan,),) = connection.execute(explain.encode(), values).fetchall()
                total += (
                    plan[0]["Plan"]["Shared Hit Blocks"] + plan[0]["Plan"]["Shared Read Blocks"]
                )
    return total


@pytest.mark.parametrize(
    "asked",
    [
        {"policy": {"strategy": "window", "window": 10}},
        {"policy": {"strategy": "window"}, "tokenLimit": 2_000},
        {"policy": {"strategy": "inclusive", "onOverflow": "omit"}, "tokenLimit": 2_000},
        {"policy": {"strategy": "every_n"}, "tokenLimit": 2_000},
        {"policy": {"strategy": "fully_abstracted"}, "tokenLimit": 2_000},
        {"policy": {"strategy": "agent_summary"}, "tokenLimit": 2_800},
    ],
    ids=lambda asked: str(asked["policy"]["strategy"]),
)
async def test_a_session_of_10000_events_costs_no_more_than_one_of_100(
    client: httpx.AsyncClient, database_url: str, sent: Sent, asked: dict[str, Any]
) -> None:
    await create_session(client, "empty")
    key = (await context(client, "/sessions/empty", **asked))["policyKey"]
    summaries = _SUMMARIES if asked["policy"]["strategy"] == "every_n" else _SUMMARY
    # Both are there before either is read: they share the indexes.
    counts = (100, 10_000)
    paths = [await _session(client, database_url, count, key, summaries) for count in counts]
    read: list[int] = []
    for path, count in zip(paths, counts, strict=True):
        del sent[:]
        found = await context(client, path, **asked)
        covered = [*found["coverage"]["summarised"], *found["coverage"]["verbatim"]]
        assert ranges(covered)[-1][1] >= count - 4
        assert found["summaryState"] == "current"
        read.append(_blocks(database_url, sent))
    # Of so few blocks, one more may be that of an index.
    assert 0 < read[1] <= max(1.3 * read[0], read[0] + 1)


async def test_a_text_that_no_column_can_hold_stops_no_context(
    client: httpx.AsyncClient, database_url: str
) -> None:
    """No event with one is taken today; older releases have stored them."""
    await create_session(client, "s")
    statement = rb"""
        insert into session_events (engine_id, session_id, seq, event_id, author, invocation_id,
            "timestamp", content, event_metadata, size_bytes, create_time, exchange)
        select engine_id, session_id, 1, '1', 'user', 'i', now(),
            '{"role": "user", "parts": [{"text": "tea\u0000"}]}', '{"branch": "a\u0000"}', 9,
            now(), 1
        from sessions where session_id = 's'"""
    with psycopg.connect(database_url) as connection:
        connection.execute(statement)
        connection.execute(b"update sessions set last_seq = 1, exchanges = 1")
    (message,) = (await context(client, "/sessions/s"))["messages"]
    assert message["content"].startswith("tea")
