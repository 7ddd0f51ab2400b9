"""`includeRawEvents`: a context whose messages carry the events as their sender kept them."""

from typing import Any

import httpx
import pytest

from app.conversation.contexts.services import contexts
from tests.support.bank import Json, ok
from tests.support.cases import in_one_test
from tests.support.contexts import context, of_exchanges, said, talk
from tests.support.errors import BAD_FIELD, refusal, violations
from tests.support.sessions import events, new_path

RAW = {"item": {"type": "message", "zeta": 1, "alpha": [None, "\u00e9"]}, "one": 1.0}


async def _messages(client: httpx.AsyncClient, path: str, **asked: Any) -> list[Json]:
    found: list[Json] = (await context(client, path, **asked))["messages"]
    return found


async def test_messages_of_events_carry_what_was_sent(client: httpx.AsyncClient) -> None:
    path = await new_path(client)
    await talk(client, path, [said("user", "One.", rawEvent=RAW), said("agent", "Two.")])
    asked = {"systemPrompt": "Be kind.", "pendingMessage": "Three?"}
    shown = await _messages(client, path, **asked, includeRawEvents=True)
    assert [message.get("rawEvent") for message in shown] == [None, RAW, None, None]
    assert [*shown[1]["rawEvent"]["item"]] == ["type", "zeta", "alpha"]
    bare = [{**message} for message in shown]
    for message in bare:
        message.pop("rawEvent", None)
    assert bare == await _messages(client, path, **asked)


async def test_what_was_left_out_or_erased_is_not_carried(
    client: httpx.AsyncClient,
) -> None:
    path = await new_path(client)
    lines = [said("user", f"Line {n}.", rawEvent={"n": n}) for n in range(4)]
    await talk(client, path, lines)
    name = (await events(client, path))[3]["name"]
    ok(await client.delete(f"{path}/events/{name.rpartition('/')[2]}"))
    policy = {"strategy": "inclusive", "onOverflow": "omit"}
    shown = await _messages(client, path, policy=policy, tokenLimit=3, includeRawEvents=True)
    assert [message["rawEvent"] for message in shown] == [{"n": 2}]


async def test_a_cut_event_has_none(client: httpx.AsyncClient) -> None:
    path = await new_path(client)
    await talk(client, path, [said("user", "Long. " * 100, rawEvent=RAW)])
    policy = {"strategy": "window", "window": 3}
    asked = {"policy": policy, "tokenLimit": 20, "includeRawEvents": True}
    found = await context(client, path, **asked)
    assert found["truncatedEvents"]
    assert "rawEvent" not in found["messages"][0]


async def test_the_newest_have_theirs_where_all_are_too_many(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = await new_path(client)
    lines = [said("user", f"Line {n}.", rawEvent={"n": n, "text": "x" * 100}) for n in range(4)]
    await talk(client, path, lines)
    monkeypatch.setattr(contexts, "MAX_RAW_CHARS", 300)
    shown = await _messages(client, path, includeRawEvents=True)
    assert ["rawEvent" in message for message in shown] == [False, False, True, True]


@in_one_test("form", ["openai", "gemini", "text"])
async def test_other_formats_refuse_it(client: httpx.AsyncClient, form: str) -> None:
    path = await of_exchanges(client, 1)
    answer = await client.post(f"{path}:context", json={"format": form, "includeRawEvents": True})
    assert refusal(answer) == BAD_FIELD
    assert list(violations(answer)) == ["includeRawEvents"]
