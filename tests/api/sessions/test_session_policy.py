"""The policy of contexts that a session has, and the one of its engine."""

from typing import Any

import httpx
import pytest
from sqlalchemy import select

from app.adapters.db.session import Database
from app.platform.sessions.store.tables import SessionRow
from tests.support.bank import ENGINE_URL, Json, configure, field_of, ok
from tests.support.cases import in_one_test
from tests.support.sessions import create_session, new_path

_PATH = "/sessions/s"
_EVERY: Json = {"strategy": "every_n", "every": 3, "tokenLimit": 8000}
_FULL: Json = {
    "strategy": "agent_summary",
    "tokenLimit": 4032,
    "reserveOutputTokens": 800,
    "counter": "declared",
    "perMessageOverhead": 4,
    "humanLabel": "",
    "aiLabel": "Bot",
    "split": {"stm": 3, "lts": 1},
    "lowWater": 0.8,
    "countPending": False,
    "recompute": "recursive",
    "summaryModel": "builtin",
    "template": "Sum up {chat_transcript} in {char_limit} characters.",
    "recursiveTemplate": "{previous_summary} {chat_transcript}",
    "charsPerToken": 4,
    "ltsRole": "system",
}
_MASK = {"updateMask": "memory_policy"}


@pytest.mark.parametrize("policy", [_EVERY, _FULL, {"strategy": "none"}])
async def test_a_session_has_the_policy_that_it_was_made_with(
    client: httpx.AsyncClient, policy: Json
) -> None:
    session = await create_session(client, "s", memoryPolicy=policy)
    assert session["memoryPolicy"] == policy
    assert ok(await client.get(_PATH)) == session
    assert ok(await client.get("/sessions"))["sessions"] == [session]


async def test_both_spellings_are_read(client: httpx.AsyncClient) -> None:
    policy = {"strategy": "every_n", "token_limit": 8000, "every": 3}
    assert (await create_session(client, "s", memory_policy=policy))["memoryPolicy"] == _EVERY


async def test_a_session_without_a_policy_has_none(
    client: httpx.AsyncClient, database: Database
) -> None:
    session = await create_session(client, "s")
    assert "memoryPolicy" not in session
    for policy in (_EVERY, None):
        ok(await client.patch(_PATH, json={"memoryPolicy": policy}))
        async with database.snapshot() as found:
            is_null = select(SessionRow.memory_policy.is_(None))
            assert (await found.execute(is_null)).scalar_one() == (policy is None)


@in_one_test(
    ("params", "body", "left"),
    [
        ({}, {"memoryPolicy": {"strategy": "none"}}, {"strategy": "none"}),
        ({}, {"displayName": "z"}, _EVERY),
        ({}, {"memoryPolicy": None}, None),
        (_MASK, {"memoryPolicy": {"strategy": "none"}}, {"strategy": "none"}),
        (_MASK, {}, None),
        (_MASK, {"memoryPolicy": None}, None),
        (
            {"updateMask": "memoryPolicy"},
            {"memory_policy": {"strategy": "none"}},
            {"strategy": "none"},
        ),
        ({"updateMask": "display_name"}, {"memoryPolicy": {"strategy": "none"}}, _EVERY),
        ({"updateMask": "*"}, {"displayName": "z"}, None),
    ],
)
async def test_a_policy_is_changed_when_asked(
    client: httpx.AsyncClient, params: dict[str, str], body: Json, left: Json | None
) -> None:
    path = await new_path(client, memoryPolicy=_EVERY)
    answer = ok(await client.patch(path, params=params, json=body))
    assert answer.get("memoryPolicy") == left
    assert ok(await client.get(path)) == answer


_WRONG: list[tuple[str, Any]] = [
    ("memoryPolicy.strategy", {"strategy": "best"}),
    ("memoryPolicy.strategy", {}),
    ("memoryPolicy.every", {"strategy": "every_n", "every": 0}),
    ("memoryPolicy", {"strategy": "window", "every": 3}),
    ("memoryPolicy.template", {"strategy": "every_n", "template": "Sum up."}),
    ("memoryPolicy.template", {"strategy": "every_n", "template": "{chat_transcript} {x}"}),
    ("memoryPolicy.template", {"strategy": "every_n", "template": "{chat_transcript}" * 2}),
    (
        "memoryPolicy.template",
        {"strategy": "every_n", "template": "{char_limit}{chat_transcript}{char_limit}"},
    ),
    ("memoryPolicy.humanLabel", {"strategy": "none", "humanLabel": "a\nSystem"}),
    ("memoryPolicy.humanLabel", {"strategy": "none", "humanLabel": "a\u2028System"}),
    ("memoryPolicy.aiLabel", {"strategy": "none", "aiLabel": "a\x1b"}),
    ("memoryPolicy.aiLabel", {"strategy": "none", "aiLabel": "a\x85"}),
    ("memoryPolicy.summaryModel", {"strategy": "every_n", "summaryModel": "canary-1"}),
    ("memoryPolicy.counter", {"strategy": "none", "counter": "canary"}),
    ("memoryPolicy.other", {"strategy": "none", "other": 1}),
]


@in_one_test(("field", "policy"), _WRONG)
async def test_a_policy_that_cannot_be_followed_is_refused(
    client: httpx.AsyncClient, field: str, policy: Json
) -> None:
    body = {"userId": "42", "memoryPolicy": policy}
    assert field_of(await client.post("/sessions", json=body)) == field
    path = await new_path(client, memoryPolicy=_EVERY)
    assert field_of(await client.patch(path, json={"memoryPolicy": policy})) == field
    assert ok(await client.get(path))["memoryPolicy"] == _EVERY


async def test_a_refused_name_is_answered_with_those_there_are(client: httpx.AsyncClient) -> None:
    body = {"userId": "42", "memoryPolicy": {"strategy": "every_n", "summaryModel": "canary-1"}}
    message = (await client.post("/sessions", json=body)).json()["error"]["message"]
    assert "builtin" in message
    assert "canary" not in message


async def test_an_engine_has_a_policy_for_all_its_sessions(client: httpx.AsyncClient) -> None:
    await configure(client, memoryPolicy=_FULL)
    config = ok(await client.get(ENGINE_URL))["contextSpec"]["memoryBankConfig"]
    assert config == {"memoryPolicy": _FULL}
    # It stays the engine's own: a session tells of what it was given.
    assert "memoryPolicy" not in await create_session(client, "s")
    await configure(client)
    assert "memoryPolicy" not in str(ok(await client.get(ENGINE_URL)))


@in_one_test(("field", "policy"), _WRONG)
async def test_a_policy_that_cannot_be_followed_is_refused_of_an_engine(
    client: httpx.AsyncClient, field: str, policy: Json
) -> None:
    body = {"contextSpec": {"memoryBankConfig": {"memoryPolicy": policy}}}
    answer = await client.patch(ENGINE_URL, params={"updateMask": "context_spec"}, json=body)
    assert field_of(answer) == f"contextSpec.memoryBankConfig.{field}"
