"""Contexts of sessions: what strategies show, in which order, and what it takes."""

import httpx

from tests.support.bank import GONE, configure, field_of, ok, refusal
from tests.support.contexts import (
    HALF,
    SYSTEM,
    context,
    exchange,
    of_events,
    of_exchanges,
    ranges,
    said,
    shown,
    talk,
)
from tests.support.operations import path_of
from tests.support.sessions import create_session, new_path

_TALK = [
    ("My sister moved to Oslo.", "How does she like it?"),
    ("She loves it.", "Glad to hear."),
    ("When should I visit her?", "In June, when the nights are light."),
]


async def _told(client: httpx.AsyncClient) -> str:
    path = await new_path(client)
    for asked, answered in _TALK:
        await exchange(client, path, asked, answered)
    return path


async def test_an_exchange_is_two_events(client: httpx.AsyncClient) -> None:
    path = await new_path(client)
    await exchange(client, path, "Is 12A free?", "It is.")
    found = await context(client, path)
    assert [(one["role"], one["content"]) for one in found["messages"]] == [
        ("user", "Is 12A free?"),
        ("assistant", "It is."),
    ]
    assert [one["source"]["seq"] for one in found["messages"]] == [1, 2]


async def test_all_that_was_said_is_told_in_lines(client: httpx.AsyncClient) -> None:
    path = await _told(client)
    found = await context(client, path, format="text", policy={"strategy": "inclusive"})
    lines = [line for pair in _TALK for line in (f"Human: {pair[0]}", f"AI: {pair[1]}")]
    assert found["text"] == "\n".join(lines)
    assert found["coverage"] == {
        "verbatim": [{"firstSeq": 1, "lastSeq": 6}],
        "summarised": [],
        "omitted": [],
    }


async def test_a_window_shows_the_last_exchanges(client: httpx.AsyncClient) -> None:
    path = await _told(client)
    one = await context(client, path, policy={"strategy": "window", "window": 1})
    assert [message["content"] for message in one["messages"]] == list(_TALK[2])
    assert ranges(one["coverage"]["omitted"]) == [(1, 4)]
    none = await context(client, path, policy={"strategy": "window", "window": 0})
    assert none["messages"] == []
    assert ranges(none["coverage"]["omitted"]) == [(1, 6)]


async def test_without_memory_only_the_prompt_is_shown(client: httpx.AsyncClient) -> None:
    path = await _told(client)
    asked = {"systemPrompt": "Be kind.", "pendingMessage": "Hello?"}
    found = await context(client, path, policy={"strategy": "none"}, **asked)
    assert [(one["role"], one["content"]) for one in found["messages"]] == [
        ("system", "Be kind."),
        ("user", "Hello?"),
    ]
    assert [one["source"]["kind"] for one in found["messages"]] == ["system", "pending"]
    assert ranges(found["coverage"]["omitted"]) == [(1, 6)]


async def test_what_is_shown_has_its_order_and_its_tokens(client: httpx.AsyncClient) -> None:
    path = await of_exchanges(client, 2)
    asked = {"systemPrompt": SYSTEM, "pendingMessage": HALF}
    found = await context(client, path, tokenLimit=1_000, reserveOutputTokens=100, **asked)
    kinds = [one["source"]["kind"] for one in found["messages"]]
    assert kinds == ["system", *["event"] * 4, "pending"]
    assert found["tokens"] == {
        "total": 650,
        "system": 400,
        "summaries": 0,
        "events": 200,
        "memories": 0,
        "pending": 50,
        "framingTokens": 0,
        "limit": 1_000,
        "reserved": 100,
        "counter": "chars4",
    }
    assert found["lastSeq"] == 4
    assert found["summaryState"] == "current"
    assert found["policy"] == {
        "strategy": "inclusive",
        "tokenLimit": 1_000,
        "reserveOutputTokens": 100,
    }


async def test_thirty_exchanges_and_a_system_prompt_make_3400_tokens(
    client: httpx.AsyncClient,
) -> None:
    path = await of_exchanges(client, 30)
    found = await context(client, path, systemPrompt=SYSTEM)
    assert found["tokens"]["total"] == 3_400


async def test_a_context_costs_what_the_estimate_says(client: httpx.AsyncClient) -> None:
    """After k - 1 exchanges, 100 tokens more are the prompt of the message k."""
    path = await new_path(client)
    body = {
        "messages": [37],
        "messageTokens": 100,
        "systemTokens": 400,
        "strategies": [{"strategy": "inclusive"}],
        "contextWindow": 4_096,
    }
    estimated = ok(await client.post("/contextCosts:estimate", json=body))
    await talk(client, path, [said("user", HALF), said("agent", HALF)] * 36)
    found = await context(client, path, systemPrompt=SYSTEM)
    (row,) = estimated["rows"]
    assert found["tokens"]["total"] + 100 == int(row["lastPromptTokens"]) == 4_100
    assert row["firstOverflowMessage"] == 37


async def test_a_context_stays_below_4096_tokens(client: httpx.AsyncClient) -> None:
    path = await of_exchanges(client, 60)
    asked = {"systemPrompt": SYSTEM, "pendingMessage": HALF, "tokenLimit": 4_096}
    policy = {"strategy": "inclusive", "onOverflow": "omit"}
    found = await context(client, path, policy=policy, **asked)
    assert 4_000 < found["tokens"]["total"] <= 4_096
    (omitted,) = ranges(found["coverage"]["omitted"])
    (verbatim,) = ranges(found["coverage"]["verbatim"])
    assert (omitted[0], omitted[1] + 1, verbatim[1]) == (1, verbatim[0], 120)


async def test_a_window_of_tokens_keeps_the_newest_events(client: httpx.AsyncClient) -> None:
    path = await of_events(client, 60)
    policy = {"strategy": "window", "windowTokens": 2_250}
    found = await context(client, path, policy=policy)
    assert ranges(found["coverage"]["verbatim"]) == [(39, 60)]
    assert ranges(found["coverage"]["omitted"]) == [(1, 38)]
    assert found["tokens"]["events"] == 2_200


async def test_the_policy_of_the_request_goes_before_the_sessions_and_the_engines(
    client: httpx.AsyncClient,
) -> None:
    await configure(client, memoryPolicy={"strategy": "none"})
    plain = await of_exchanges(client, 1)
    own = await of_exchanges(client, 1, memoryPolicy={"strategy": "window", "window": 1})
    assert (await context(client, plain))["policy"]["strategy"] == "none"
    assert (await context(client, own))["policy"]["strategy"] == "window"
    asked = await context(client, own, policy={"strategy": "inclusive"})
    assert asked["policy"]["strategy"] == "inclusive"
    await configure(client)
    assert (await context(client, plain))["policy"]["strategy"] == "inclusive"


async def test_a_context_as_of_an_event_knows_nothing_of_later_ones(
    client: httpx.AsyncClient,
) -> None:
    path = await _told(client)
    policy = {"strategy": "window", "window": 1}
    found = await context(client, path, policy=policy, asOfSeq=4)
    assert [one["content"] for one in found["messages"]] == list(_TALK[1])
    assert (found["lastSeq"], ranges(found["coverage"]["omitted"])) == (4, [(1, 2)])
    assert await shown(client, path, asOfSeq=0) == []
    refused = await client.post(f"{path}:context", json={"asOfSeq": 7})
    assert field_of(refused) == "asOfSeq"


async def test_the_same_state_gives_the_same_bytes(client: httpx.AsyncClient) -> None:
    path = await of_exchanges(client, 3)
    asked = {"systemPrompt": "a", "tokenLimit": 300, "policy": {"strategy": "every_n"}}
    first = await client.post(f"{path}:context", json=asked)
    second = await client.post(f"{path}:context", json=asked)
    assert first.content == second.content
    assert first.headers["etag"] == second.headers["etag"]


async def test_a_longer_context_begins_like_the_shorter_one(client: httpx.AsyncClient) -> None:
    """Providers keep what the beginnings of prompts have in common."""
    path = await of_exchanges(client, 3)
    before = await context(client, path, systemPrompt="a")
    await exchange(client, path)
    after = await context(client, path, systemPrompt="a", pendingMessage="b")
    assert after["messages"][: len(before["messages"])] == before["messages"]


async def test_an_etag_saves_the_answer(client: httpx.AsyncClient) -> None:
    path = await of_exchanges(client, 1)
    first = await client.post(f"{path}:context", json={})
    etag = first.headers["etag"]
    for named in (etag, f"W/{etag}", f'"other", {etag}'):
        again = await client.post(f"{path}:context", json={}, headers={"If-None-Match": named})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == etag
    # Of a method that is no GET, `*` would say that nothing may be there at all.
    anything = await client.post(f"{path}:context", json={}, headers={"If-None-Match": "*"})
    assert (anything.status_code, anything.content) == (200, first.content)
    await exchange(client, path)
    changed = await client.post(f"{path}:context", json={}, headers={"If-None-Match": etag})
    assert changed.status_code == 200
    assert changed.headers["etag"] != etag


async def test_a_session_that_is_not_there_has_no_context(client: httpx.AsyncClient) -> None:
    assert refusal(await client.post("/sessions/none:context", json={})) == GONE


async def test_an_empty_session_has_an_empty_context(client: httpx.AsyncClient) -> None:
    path = path_of((await create_session(client))["name"])
    found = ok(await client.post(f"{path}:context"))
    assert (found["messages"], found["tokens"]["total"], found["lastSeq"]) == ([], 0, 0)
