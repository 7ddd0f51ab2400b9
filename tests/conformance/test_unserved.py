"""What this version does not serve is refused in the same clear way from every method.

Source: wire specification, section 15.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from tests.support.official import USER, Bank, Client, refused, says

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SESSION = "sessions/sess-1"


@contextmanager
def _unimplemented() -> Iterator[None]:
    """Expect the client to raise what 501 becomes."""
    from google.genai.errors import ServerError  # noqa: PLC0415 - as in the support module

    with pytest.raises(ServerError) as caught:
        yield
    assert (caught.value.code, caught.value.status) == (501, "UNIMPLEMENTED")
    assert "does not serve" in str(caught.value.message)


Call = Callable[[Any, str], object]
CALLS: dict[str, Call] = {
    "sessions.create": lambda engines, name: engines.sessions.create(name=name, user_id="u"),
    "sessions.get": lambda engines, name: engines.sessions.get(name=f"{name}/{SESSION}"),
    "sessions.list": lambda engines, name: engines.sessions.list(name=name),
    "sessions.update": lambda engines, name: engines.sessions._update(
        name=f"{name}/{SESSION}", config={"display_name": "z", "update_mask": "display_name"}
    ),
    "sessions.delete": lambda engines, name: engines.sessions.delete(name=f"{name}/{SESSION}"),
    "sessions.events.append": lambda engines, name: engines.sessions.events.append(
        name=f"{name}/{SESSION}", author="user", invocation_id="i", timestamp=NOW
    ),
    "sessions.events.list": lambda engines, name: engines.sessions.events.list(
        name=f"{name}/{SESSION}"
    ),
    "memories.ingest_events": lambda engines, name: engines.memories.ingest_events(
        name=name, scope=USER, direct_contents_source=says("x")
    ),
    "memories.retrieve_profiles": lambda engines, name: engines.memories.retrieve_profiles(
        name=name, scope=USER
    ),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_method_that_is_not_served_says_so(vertex: Client, engine: str, call: Call) -> None:
    with _unimplemented():
        call(vertex.agent_engines, engine)


async def test_the_asynchronous_client_is_told_alike(aio: Client, engine: str) -> None:
    with _unimplemented():
        await aio.agent_engines.sessions.create(name=engine, user_id="u")
    with _unimplemented():
        await aio.agent_engines.memories.ingest_events(name=engine, scope=USER)


def test_the_successor_is_told_alike(platform: Client, engine: str) -> None:
    with _unimplemented():
        platform.sessions.create(name=engine, user_id="u")
    with _unimplemented():
        platform.memory_banks.ingest_events(name=engine, scope=USER)


@pytest.mark.parametrize("path", [f"{SESSION}:compact", "memories:ingestEvents"])
def test_further_methods_are_known_too(http: httpx.Client, engine: str, path: str) -> None:
    answer = http.post(f"{engine}/{path}", json={})
    assert (answer.status_code, answer.json()["error"]["status"]) == (501, "UNIMPLEMENTED")


def test_ingestion_under_a_memory_bank_is_known(http: httpx.Client, engine: str) -> None:
    alias = engine.replace("/reasoningEngines/", "/memoryBanks/")
    assert http.post(f"{alias}:ingestEvents", json={}).status_code == 501


def test_no_session_can_be_a_source(bank: Bank) -> None:
    source = {"session": f"{bank.name}/{SESSION}"}
    with refused(404, "NOT_FOUND", naming="vertexSessionSource.session"):
        bank.memories.generate(name=bank.name, vertex_session_source=source)
