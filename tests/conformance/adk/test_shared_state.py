"""State that the sessions of a user, and of an application, share, as the ADK documents it.

Each test has an engine of its own: what all sessions of an engine share would else be found by the
others. Source: google-adk, `google.adk.sessions.State`, and the contract of its session services.
"""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from tests.conformance.adk.conftest import APP, PARENT
from tests.support.official import last_part

ANN = {"app_name": APP, "user_id": "ann"}
BOB = {"app_name": APP, "user_id": "bob"}


@pytest.fixture
def engine(http: httpx.Client) -> str:
    """The full name of an empty engine."""
    name: str = http.post(f"{PARENT}/reasoningEngines", json={}).json()["response"]["name"]
    return name


@pytest.fixture
def sessions(services: tuple[Any, Any], engine: str) -> Iterator[Any]:
    """The service of sessions, at that engine."""
    service, _ = services
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(service, "_agent_engine_id", last_part(engine))
        yield service


def _event(delta: dict[str, Any], timestamp: float | None = None) -> Any:
    """Make an event that changes the state."""
    from google.adk.events import Event, EventActions  # noqa: PLC0415 - takes seconds to import

    when = datetime.now(UTC).timestamp() if timestamp is None else timestamp
    return Event(
        author="user",
        invocation_id="i-1",
        timestamp=when,
        actions=EventActions(state_delta=delta),
    )


async def _state(sessions: Any, who: dict[str, str], session_id: str) -> Any:
    return (await sessions.get_session(**who, session_id=session_id)).state


async def _reference(sessions: Any) -> list[Any]:
    """Do what follows, and return every state that is seen on the way."""
    seen = []
    first = await sessions.create_session(
        **ANN, session_id="s1", state={"a": 1, "user:x": 1, "app:v": [1], "temp:t": 1}
    )
    seen.append(first.state)
    second = await sessions.create_session(**ANN, session_id="s2", state={"b": None})
    seen.append(second.state)
    await sessions.append_event(second, _event({"user:x": 2, "user:y": None, "c": 3, "temp:t": 1}))
    await sessions.create_session(**BOB, session_id="s3", state={"user:x": "bob's", "app:w": 2.5})
    await sessions.append_event(first, _event({"app:v": {"deep": True}, "a": None}))
    seen += [await _state(sessions, who, name) for who, name in ((ANN, "s1"), (ANN, "s2"))]
    seen.append(await _state(sessions, BOB, "s3"))
    listed = (await sessions.list_sessions(app_name=APP)).sessions
    seen.append({one.id: one.state for one in listed})
    await sessions.delete_session(**ANN, session_id="s1")
    await sessions.delete_session(**ANN, session_id="s2")
    fourth = await sessions.create_session(**ANN, session_id="s4")
    seen.append(fourth.state)
    return seen


async def test_states_are_those_of_the_adks_own_service(sessions: Any) -> None:
    from google.adk.sessions import InMemorySessionService  # noqa: PLC0415 - takes seconds

    expected = await _reference(InMemorySessionService())
    # What an invocation keeps for itself, the ADK leaves in the answer to a creation.
    assert expected[0].pop("temp:t", 1) == 1
    assert await _reference(sessions) == expected


async def test_events_of_several_sessions_lose_no_keys(sessions: Any) -> None:
    made = [await sessions.create_session(**ANN) for _ in range(4)]
    keys = [f"{prefix}:{number}" for prefix in ("user", "app") for number in range(8)]
    await asyncio.gather(
        *(
            sessions.append_event(made[number % 4], _event({key: number}))
            for number, key in enumerate(keys)
        )
    )
    expected = {key: number for number, key in enumerate(keys)}
    for one in made:
        assert await _state(sessions, ANN, one.id) == expected


async def test_a_session_was_changed_when_its_newest_event_happened(sessions: Any) -> None:
    made = await sessions.create_session(**ANN)
    event = _event({"a": 1})
    await sessions.append_event(made, event)
    read = await sessions.get_session(**ANN, session_id=made.id)
    # By a microsecond, so that events strictly before it are all events.
    assert 0 < read.last_update_time - event.timestamp < 1e-5
    assert made.last_update_time == event.timestamp
    (listed,) = (await sessions.list_sessions(**ANN)).sessions
    assert listed.last_update_time == read.last_update_time
