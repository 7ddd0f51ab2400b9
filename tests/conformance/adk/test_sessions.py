"""The stock session service of the ADK. Source: wire specification, sections 13 and 17."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.conformance.adk.conftest import APP, Adk
from tests.support.official import last_part, refused

START = 1_767_323_045.5
STATE: dict[str, Any] = {"a_b": 1, "cD": [1, {"x": None}], "user:name": "Ann", "n": 2.5}
USAGE = {"prompt_token_count": 3, "candidates_token_count": 4, "total_token_count": 7}
TEXT = {"content": {"role": "user", "parts": [{"text": "A seat, please. ✈"}]}}
CALL = {
    "author": "traveller",
    "branch": "a.b",
    "usage_metadata": USAGE,
    "model_version": "m-1",
    "finish_reason": "STOP",
    "long_running_tool_ids": ["c1", "c2"],
    "content": {
        "role": "model",
        "parts": [
            {"text": "thinking", "thought": True, "thought_signature": b"\x00\xff"},
            {"function_call": {"id": "c1", "name": "book", "args": {"a_b": None, "cD": [1.5]}}},
        ],
    },
}
RESPONSE = {
    "author": "traveller",
    "content": {
        "role": "user",
        "parts": [
            {"function_response": {"id": "c1", "name": "book", "response": {"ok": [True, None]}}},
            {"inline_data": {"mime_type": "image/png", "data": b"\x89PNG\x00\xfb\xff"}},
        ],
    },
    "actions": {
        "state_delta": {"seat": "12A", "a_b": None, "temp:now": 1},
        "artifact_delta": {"ticket.pdf": 1},
        "skip_summarization": True,
        "escalate": False,
        "transfer_to_agent": "other",
        "end_of_agent": True,
    },
    "custom_metadata": {"c_d": {"eF": None}},
}
FAILURE = {
    "author": "traveller",
    "error_code": "SAFETY",
    "error_message": "no",
    "interrupted": True,
    "turn_complete": True,
    "grounding_metadata": {"web_search_queries": ["seats"]},
    "input_transcription": {"text": "hi", "finished": True},
    "node_info": {"path": "w@1/traveller@2"},
    "output": {"any": ["thing"]},
}
PARTIAL = {"author": "traveller", "partial": True, **TEXT}
COMPACTION = {
    "author": "user",
    "actions": {
        "compaction": {
            "start_timestamp": START,
            "end_timestamp": START + 1,
            "compacted_content": TEXT["content"],
        }
    },
}


def _event(fields: dict[str, Any] | None = None, after: float = 0.0) -> Any:
    """Make an event of so many seconds after the start."""
    from google.adk.events import Event  # noqa: PLC0415 - takes seconds to import

    found = {"author": "user", "invocation_id": "i-1", **(fields or TEXT)}
    return Event.model_validate({**found, "timestamp": START + after})


async def _read(adk: Adk, session: Any, **config: Any) -> Any:
    """Read a session anew."""
    from google.adk.sessions.base_session_service import (  # noqa: PLC0415 - takes seconds
        GetSessionConfig,
    )

    asked = GetSessionConfig(**config) if config else None
    return await adk.sessions.get_session(**adk.who, session_id=session.id, config=asked)


async def _filled(adk: Adk, count: int) -> Any:
    """Make a session of so many events, a second after one another."""
    session = await adk.sessions.create_session(**adk.who)
    for number in range(count):
        await adk.sessions.append_event(session, _event(after=number))
    return session


async def test_a_session_is_made_and_read(adk: Adk) -> None:
    made = await adk.sessions.create_session(**adk.who)
    assert made.id.isdigit()
    assert (made.app_name, made.user_id, made.state, made.events) == (APP, adk.user, {}, [])
    assert await _read(adk, made) == made


async def test_a_session_is_made_with_an_id_and_a_state(adk: Adk) -> None:
    made = await adk.sessions.create_session(
        **adk.who, session_id=f"My_{adk.user}", state=STATE, ttl="7200s", display_name="Trip"
    )
    assert (made.id, made.state) == (f"My_{adk.user}", STATE)
    assert await _read(adk, made) == made
    with refused(409, "ALREADY_EXISTS"):
        await adk.sessions.create_session(**adk.who, session_id=made.id)


async def test_a_session_is_read_by_its_full_name(adk: Adk) -> None:
    made = await adk.sessions.create_session(**adk.who)
    full = f"{adk.bank.name}/sessions/{made.id}"
    assert await adk.sessions.get_session(**adk.who, session_id=full) == made


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("tea\u0000", "tea\ufffd"),
        ("\u0000 and \u0000", "\ufffd and \ufffd"),
        ("a pasted \u0000\U0001f375", "a pasted \ufffd\U0001f375"),
    ],
)
async def test_an_event_is_appended_whatever_characters_it_has(
    adk: Adk, said: str, kept: str
) -> None:
    session = await adk.sessions.create_session(**adk.who)
    content = {"role": "user", "parts": [{"text": said}]}
    await adk.sessions.append_event(session, _event({"content": content}))
    read = await _read(adk, session)
    assert [event.content.parts[0].text for event in read.events] == [kept]


@pytest.mark.parametrize(
    "fields", [TEXT, CALL, RESPONSE, FAILURE, PARTIAL, COMPACTION], ids=lambda fields: [*fields][-1]
)
async def test_an_event_comes_back_as_it_was_appended(adk: Adk, fields: dict[str, Any]) -> None:
    session = await adk.sessions.create_session(**adk.who)
    event = _event(fields)
    await adk.sessions.append_event(session, event)
    read = await _read(adk, session)
    expected = event.model_copy(deep=True)
    expected.actions.state_delta.pop("temp:now", None)
    assert read.events == [expected]
    assert read.events[0].id == event.id


ANSWER = {"author": "traveller", "content": {"role": "model", "parts": [{"text": "12A."}]}}


async def test_events_count_as_exchanges(adk: Adk) -> None:
    session = await adk.sessions.create_session(**adk.who)
    path = f"{adk.bank.name}/sessions/{session.id}"
    adk.http.patch(path, json={"memoryPolicy": {"strategy": "window", "window": 1}})
    turn: list[dict[str, Any]] = [TEXT, PARTIAL, CALL, RESPONSE, FAILURE, ANSWER, COMPACTION]
    for number, fields in enumerate([*turn, *turn]):
        await adk.sessions.append_event(session, _event(fields, number))
    body = {"input": "And for two?", "output": "12A and 12B.", "agent": "traveller"}
    assert adk.http.post(f"{path}/exchanges", json=body).json()["exchange"] == 3
    read = await _read(adk, session)
    assert [one.author for one in read.events[-2:]] == ["user", "traveller"]
    assert read.events[-1].content.parts[0].text == "12A and 12B."


async def test_the_state_follows_the_events(adk: Adk) -> None:
    session = await adk.sessions.create_session(**adk.who, state=STATE)
    await adk.sessions.append_event(session, _event(RESPONSE))
    assert session.state.pop("temp:now") == 1
    await adk.sessions.append_event(session, _event({"actions": {"state_delta": {"user:x": []}}}))
    read = await _read(adk, session)
    assert read.state == session.state == {**STATE, "seat": "12A", "a_b": None, "user:x": []}
    assert read.last_update_time >= session.last_update_time


async def test_a_part_of_the_events_is_read(adk: Adk) -> None:
    session = await _filled(adk, 4)

    async def seconds(**config: Any) -> list[float]:
        return [one.timestamp - START for one in (await _read(adk, session, **config)).events]

    assert await seconds() == [0, 1, 2, 3]
    assert await seconds(num_recent_events=2) == [2, 3]
    assert await seconds(num_recent_events=0) == []
    assert await seconds(num_recent_events=9) == [0, 1, 2, 3]
    assert await seconds(after_timestamp=START + 2) == [2, 3]
    assert await seconds(after_timestamp=START + 1, num_recent_events=1) == [3]
    assert await seconds(after_timestamp=START + 9) == []


async def test_more_events_than_a_page_are_read_in_their_order(adk: Adk) -> None:
    session = await adk.sessions.create_session(**adk.who)
    events = [_event(after=number / 8) for number in range(120)]
    await asyncio.gather(*(adk.sessions.append_event(session, one) for one in reversed(events)))
    assert (await _read(adk, session)).events == events


async def test_what_is_not_there_is_none(adk: Adk) -> None:
    assert await adk.sessions.get_session(**adk.who, session_id="never") is None
    await adk.sessions.delete_session(**adk.who, session_id="never")


async def test_a_session_of_another_is_neither_read_nor_deleted(adk: Adk) -> None:
    made = await adk.sessions.create_session(**adk.who)
    other = {"app_name": APP, "user_id": "somebody", "session_id": made.id}
    with pytest.raises(ValueError, match="does not belong to user"):
        await adk.sessions.get_session(**other)
    with pytest.raises(ValueError, match="does not belong to user"):
        await adk.sessions.delete_session(**other)
    assert await _read(adk, made) == made


async def test_a_session_is_deleted(adk: Adk) -> None:
    session = await _filled(adk, 2)
    await adk.sessions.delete_session(**adk.who, session_id=session.id)
    assert await _read(adk, session) is None
    with refused(404, "NOT_FOUND"):
        await adk.sessions.append_event(session, _event())


async def test_sessions_are_listed_by_user(adk: Adk) -> None:
    users = [f"{adk.user}{end}" for end in ("", '"', '" OR user_id="x', "\\", "\\\\'", "ü ✈", "%_")]
    made = {
        user: await adk.sessions.create_session(app_name=APP, user_id=user, state={"u": user})
        for user in users
    }
    for user in users:
        found = await adk.sessions.list_sessions(app_name=APP, user_id=user)
        assert found.sessions == [made[user]]
    everything = (await adk.sessions.list_sessions(app_name=APP)).sessions
    assert {one.id for one in made.values()} <= {one.id for one in everything}
    nobody = await adk.sessions.list_sessions(app_name=APP, user_id=f"{adk.user}-")
    assert nobody.sessions == []


async def test_sessions_are_ordered_by_their_last_event(adk: Adk) -> None:
    first, second = [await adk.sessions.create_session(**adk.who) for _ in range(2)]
    since_start = datetime.now(UTC).timestamp() - START
    await adk.sessions.append_event(first, _event(after=since_start))
    found = (await adk.sessions.list_sessions(**adk.who)).sessions
    assert [last_part(one.id) for one in found] == [second.id, first.id]
