"""Sessions and their events, by both clients, each synchronous and asynchronous.

Source: wire specification, section 13.
"""

import inspect
import re
from collections.abc import AsyncIterable, AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.support.live import LiveServer
from tests.support.official import Client, at, invalid, missing, platform_client, refused

NOW = datetime(2026, 1, 2, 3, 4, 5, 678_900, tzinfo=UTC)
STATE: dict[str, Any] = {"a_b": 1, "cD": [1, {"x": None}]}
EVENT: dict[str, Any] = {
    "content": {
        "role": "user",
        "parts": [{"text": "hello"}, {"function_call": {"args": {"a_b": 1}, "name": "f"}}],
    },
    "actions": {
        "artifact_delta": {"a.txt": 2},
        "escalate": True,
        "requested_auth_configs": {"k": {"a_b": 1}},
        "skip_summarization": False,
        "state_delta": {"x_y": 1, "cD": None},
        "transfer_agent": "t",
    },
    "error_code": "E",
    "error_message": "msg",
    "event_metadata": {
        "grounding_metadata": {"web_search_queries": ["q"]},
        "branch": "b",
        "custom_metadata": {"c_d": {"eF": None}},
        "interrupted": False,
        "long_running_tool_ids": ["t1"],
        "partial": False,
        "turn_complete": True,
        "input_transcription": {"text": "hi"},
        "output_transcription": {"text": "ho", "finished": True},
    },
    "raw_event": {"id": "e1", "invocationId": "inv-1", "a_b": None},
}


@dataclass(frozen=True)
class Sessions:
    """The methods of sessions of one of the clients, all awaited."""

    methods: Any
    engine: str

    async def create(self, user_id: str = "123", **config: Any) -> Any:
        """Create a session and return the operation."""
        return await _awaited(self.methods.create(name=self.engine, user_id=user_id, config=config))

    async def get(self, name: str) -> Any:
        """Return a session."""
        return await _awaited(self.methods.get(name=name))

    async def listed(self, **config: Any) -> list[Any]:
        """Return the sessions of a list, over all its pages."""
        return await _all(await _awaited(self.methods.list(name=self.engine, config=config)))

    async def update(self, name: str, **config: Any) -> Any:
        """Change a session; return what the client makes of the answer."""
        method: Callable[..., Any] = getattr(self.methods, "update", None) or self.methods._update
        return await _awaited(method(name=name, config=config))

    async def delete(self, name: str) -> Any:
        """Delete a session and return the operation."""
        return await _awaited(self.methods.delete(name=name))

    async def append(
        self, name: str, timestamp: datetime = NOW, author: str = "user", **config: Any
    ) -> Any:
        """Append an event, of the user unless told otherwise."""
        return await _awaited(
            self.methods.events.append(
                name=name,
                author=author,
                invocation_id="inv-1",
                timestamp=timestamp,
                config=config,
            )
        )

    async def events(self, name: str, **config: Any) -> list[Any]:
        """Return the events of a session, over all pages."""
        return await _all(await _awaited(self.methods.events.list(name=name, config=config)))


async def _awaited(found: Any) -> Any:
    return await found if inspect.isawaitable(found) else found


async def _all(pager: Any) -> list[Any]:
    if isinstance(pager, AsyncIterable):
        return [one async for one in pager]
    return [*pager]


@pytest.fixture(scope="module")
async def aio_platform(server: LiveServer) -> AsyncIterator[Client]:
    client = platform_client(**at(server.url))
    yield client.aio
    await client.aio.aclose()


@pytest.fixture(params=["vertexai", "vertexai.aio", "agentplatform", "agentplatform.aio"])
def sessions(
    request: pytest.FixtureRequest,
    vertex: Client,
    aio: Client,
    platform: Client,
    aio_platform: Client,
    engine: str,
) -> Sessions:
    """The sessions of an engine, by each of the clients."""
    methods = {
        "vertexai": vertex.agent_engines.sessions,
        "vertexai.aio": aio.agent_engines.sessions,
        "agentplatform": platform.sessions,
        "agentplatform.aio": aio_platform.sessions,
    }
    return Sessions(methods[request.param], engine)


async def test_a_minimal_session_is_read_as_it_was_made(sessions: Sessions) -> None:
    operation = await sessions.create()
    assert operation.done
    made = operation.response
    assert re.fullmatch(f"{sessions.engine}/sessions/[0-9]{{18}}", made.name)
    assert made.user_id == "123"
    assert made.create_time == made.update_time
    assert made.expire_time - made.create_time == timedelta(days=365)
    assert not made.session_state
    assert await sessions.get(made.name) == made


async def test_a_full_session_is_read_as_it_was_made(sessions: Sessions) -> None:
    fields: dict[str, Any] = {"display_name": "s", "session_state": STATE}
    fields["labels"] = {"l": "v"}
    operation = await sessions.create(session_id="My_sess-1", ttl="7200s", **fields)
    made = operation.response
    assert made.name == f"{sessions.engine}/sessions/My_sess-1"
    assert made.expire_time - made.create_time == timedelta(hours=2)
    assert {key: getattr(made, key) for key in fields} == fields
    assert await sessions.get(made.name) == made
    with refused(409, "ALREADY_EXISTS"):
        await sessions.create(session_id="My_sess-1")


async def test_a_session_is_made_without_waiting(sessions: Sessions) -> None:
    end = datetime(2130, 1, 2, 3, 4, 5, tzinfo=UTC)
    operation = await sessions.create(wait_for_completion=False, expire_time=end)
    assert operation.name.startswith(f"{sessions.engine}/operations/")
    (made,) = await sessions.listed()
    assert made.expire_time == end


async def test_sessions_are_listed_over_pages_and_by_filters(sessions: Sessions) -> None:
    for user in ("a", "b", 'u"1'):
        for label in ("x", "y"):
            await sessions.create(user, display_name=f"{user}{label}", labels={"k": label})

    async def found(**config: Any) -> list[str]:
        return [one.display_name for one in await sessions.listed(**config)]

    everything = ['u"1y', 'u"1x', "by", "bx", "ay", "ax"]
    assert await found() == everything
    assert await found(page_size=1) == everything
    assert await found(filter='user_id="b"') == ["by", "bx"]
    assert await found(filter=r'user_id="u\"1"') == ['u"1y', 'u"1x']
    assert await found(filter='display_name="ax"') == ["ax"]
    assert await found(filter='labels.k="x"', page_size=2) == ['u"1x', "bx", "ax"]
    with invalid("filter"):
        await sessions.listed(filter="nothing=1")


async def test_a_session_is_changed(sessions: Sessions) -> None:
    made = (await sessions.create(display_name="s", session_state=STATE)).response
    answer = await sessions.update(
        made.name,
        display_name="z",
        session_state={"k": "v"},
        labels={"a": "b"},
        user_id="123",
        update_mask="display_name,session_state",
    )
    # One client reads the answer as an operation, whose name is then that of the session.
    assert answer.name == made.name
    changed = await sessions.get(made.name)
    assert (changed.display_name, changed.session_state) == ("z", {"k": "v"})
    assert (changed.labels, changed.expire_time) == (None, made.expire_time)
    assert changed.update_time > made.update_time
    await sessions.update(made.name, ttl="60s")
    shorter = await sessions.get(made.name)
    assert shorter.expire_time - shorter.update_time == timedelta(minutes=1)
    with invalid("userId"):
        await sessions.update(made.name, user_id="other")


async def test_a_session_is_deleted_with_its_events(sessions: Sessions) -> None:
    name = (await sessions.create()).response.name
    await sessions.append(name)
    operation = await sessions.delete(name)
    assert operation.done
    with missing():
        await sessions.get(name)
    with missing():
        await sessions.events(name)
    with missing():
        await sessions.append(name)
    assert await sessions.listed() == []


async def test_an_event_comes_back_as_it_was_appended(sessions: Sessions) -> None:
    made = (await sessions.create(session_state=STATE)).response
    await sessions.append(made.name, **EVENT)
    (event,) = await sessions.events(made.name)
    assert re.fullmatch(f"{made.name}/events/[0-9]{{18}}", event.name)
    assert (event.author, event.invocation_id, event.timestamp) == ("user", "inv-1", NOW)
    assert (event.error_code, event.error_message) == ("E", "msg")
    # Models are compared without what was left out, free maps with their nulls.
    assert event.content.model_dump(exclude_none=True) == EVENT["content"]
    assert event.actions.model_dump() == EVENT["actions"]
    metadata = event.event_metadata
    assert metadata.custom_metadata == EVENT["event_metadata"]["custom_metadata"]
    assert metadata.model_dump(exclude_none=True, exclude={"custom_metadata"}) == {
        key: value for key, value in EVENT["event_metadata"].items() if key != "custom_metadata"
    }
    assert event.raw_event == EVENT["raw_event"]
    session = await sessions.get(made.name)
    assert session.session_state == {"a_b": 1, "cD": None, "x_y": 1}
    # The event is older than the session.
    assert session.update_time == session.create_time


async def test_a_session_is_as_new_as_its_newest_event(sessions: Sessions) -> None:
    made = (await sessions.create()).response
    moment = datetime.now(UTC)
    await sessions.append(made.name, **{**EVENT, "timestamp": moment})
    # By a microsecond, so that events strictly before it are all events.
    later = moment + timedelta(microseconds=1)
    assert (await sessions.get(made.name)).update_time == later > made.update_time


async def test_sessions_of_a_user_and_of_an_engine_share_states(sessions: Sessions) -> None:
    shared = {"user:lang": "de", "app:v": [1]}
    made = (await sessions.create(session_state={"a": 1, "temp:t": 1, **shared})).response
    assert made.session_state == {"a": 1, **shared}
    second = (await sessions.create()).response
    assert second.session_state == shared
    await sessions.append(second.name, **{**EVENT, "actions": {"state_delta": {"user:lang": "en"}}})
    assert (await sessions.get(made.name)).session_state == {"a": 1, **shared, "user:lang": "en"}
    states = {one.name: one.session_state for one in await sessions.listed()}
    assert states[second.name] == {**shared, "user:lang": "en"}
    await sessions.update(made.name, session_state={**states[made.name], "a": 2})
    assert (await sessions.get(made.name)).session_state == {**states[made.name], "a": 2}
    assert (await sessions.get(second.name)).session_state == states[second.name]


async def test_events_are_listed_by_time_over_pages(sessions: Sessions) -> None:
    name = (await sessions.create()).response.name
    moments = [NOW + timedelta(seconds=number) for number in (2, 0, 1)]
    for moment in moments:
        await sessions.append(name, moment, content={"parts": [{"text": "x"}]})
    found = await sessions.events(name, page_size=1)
    assert [one.timestamp for one in found] == sorted(moments)
    text = f'timestamp>="{(NOW + timedelta(seconds=1)).isoformat()}"'
    later = await sessions.events(name, filter=text)
    assert [one.timestamp for one in later] == sorted(moments)[1:]


async def test_what_is_wrong_is_refused(sessions: Sessions) -> None:
    with invalid("userId"):
        await sessions.create("")
    with invalid("sessionId"):
        await sessions.create(session_id="a b")
    with invalid("expireTime"):
        await sessions.create(expire_time=NOW)
    with missing():
        await sessions.get(f"{sessions.engine}/sessions/never")


def _asked(http: httpx.Client, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
    """Ask for what the clients do not know, and return the answer."""
    return http.request(method, path, json=body).json()


POLICY = {"strategy": "every_n", "every": 2, "tokenLimit": 8000}


async def test_a_session_with_a_policy_is_a_session_like_others(
    sessions: Sessions, http: httpx.Client
) -> None:
    made = (await sessions.create(display_name="s")).response
    body = {"memoryPolicy": POLICY}
    assert _asked(http, "PATCH", made.name, body)["memoryPolicy"] == POLICY
    read = await sessions.get(made.name)
    assert (read.name, read.display_name) == (made.name, "s")
    assert await sessions.listed() == [read]
    # The client knows nothing of the policy, and leaves it alone.
    await sessions.update(made.name, session_state={"k": "v"})
    await sessions.update(made.name, display_name="z", update_mask="display_name")
    assert (await sessions.get(made.name)).display_name == "z"
    assert _asked(http, "GET", made.name)["memoryPolicy"] == POLICY


async def test_appended_events_count_as_exchanges(sessions: Sessions, http: httpx.Client) -> None:
    name = (await sessions.create()).response.name
    call = {"function_call": {"name": "f", "args": {}}}
    result = {"function_response": {"name": "f", "response": {"a_b": None}}}
    said: list[tuple[str, str, dict[str, Any]]] = [
        ("user", "user", {"text": "hello"}),
        ("seat_agent", "model", call),
        ("seat_agent", "user", result),
    ]
    for seconds, (author, role, part) in enumerate(said):
        moment = NOW + timedelta(seconds=seconds)
        await sessions.append(name, moment, author, content={"role": role, "parts": [part]})
    body = {"input": "Is 12A free?", "output": "It is."}
    made = _asked(http, "POST", f"{name}/exchanges", body)
    # The first has had no answer so far.
    assert (made["exchange"], made["lastSeq"]) == (1, 5)
    assert _asked(http, "POST", f"{name}/exchanges", body)["exchange"] == 2
    assert _asked(http, "DELETE", made["events"][0]["name"]) == {}
    found = await sessions.events(name)
    assert [one.author for one in found[:3]] == ["user", "seat_agent", "seat_agent"]
    texts = [one.content.parts[0].text for one in found[3:]]
    assert texts == ["It is.", "Is 12A free?", "It is."]
