"""The documented `services.py`: how `adk` finds our services."""

import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.conformance.adk.conftest import APP, PARENT, additions, until_found
from tests.support.official import Bank, Client, last_part

AGENTS = str(Path(__file__).parent / "agents")


@pytest.fixture
def uri(http: httpx.Client) -> Iterator[str]:
    """The URI of an engine, for as long as the folder of agents may be imported from."""
    engine = http.post(f"{PARENT}/reasoningEngines", json={}).json()["response"]["name"]
    before, path = {*sys.modules}, [*sys.path]
    yield f"memorybank://{last_part(engine)}"
    sys.path[:] = path
    for name in {*sys.modules} - before:
        if name.partition(".")[0] in {"services", APP}:
            del sys.modules[name]


def test_the_services_are_resolved_by_their_uri(uri: str) -> None:
    from google.adk.cli.service_registry import (  # noqa: PLC0415 - takes seconds to import
        get_service_registry,
        load_services_module,
    )
    from google.adk.memory import VertexAiMemoryBankService  # noqa: PLC0415
    from google.adk.sessions import VertexAiSessionService  # noqa: PLC0415

    load_services_module(AGENTS)
    memory = get_service_registry().create_memory_service(uri, agents_dir=AGENTS)
    assert isinstance(memory, VertexAiMemoryBankService)
    sessions = get_service_registry().create_session_service(uri, agents_dir=AGENTS)
    assert isinstance(sessions, VertexAiSessionService)
    assert memory._agent_engine_id == sessions._agent_engine_id == last_part(uri)
    assert type(memory).__module__ == "services"


@pytest.fixture
async def api(uri: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[httpx.AsyncClient]:
    """What `adk api_server --session_service_uri=... --memory_service_uri=... agents` serves."""
    import agentplatform  # type: ignore[import-untyped]  # noqa: PLC0415 - it has no types
    from google.adk.cli.fast_api import get_fast_api_app  # noqa: PLC0415 - takes seconds

    app = get_fast_api_app(
        agents_dir=AGENTS,
        session_service_uri=uri,
        memory_service_uri=uri,
        artifact_service_uri="memory://",
        web=False,
    )
    opened: list[Any] = []
    build = agentplatform.Client

    def kept(**given: Any) -> Any:
        client = build(**given)
        opened.append(client.aio)
        return client

    monkeypatch.setattr(agentplatform, "Client", kept)
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="http://adk"
    ) as found:
        yield found
    await additions()
    for client in opened:
        await client.aclose()


@pytest.mark.filterwarnings("ignore:.EXPERIMENTAL. \\w+CredentialService:UserWarning")
async def test_the_api_server_runs_turns(api: httpx.AsyncClient, uri: str, vertex: Client) -> None:
    sessions = f"/apps/{APP}/users/ann/sessions"
    first, second = [(await api.post(sessions, json={})).json()["id"] for _ in range(2)]

    async def says(session: str, text: str) -> list[dict[str, Any]]:
        message = {"role": "user", "parts": [{"text": text}]}
        place = {"appName": APP, "userId": "ann", "sessionId": session}
        answer = await api.post("/run", json={**place, "newMessage": message})
        assert answer.status_code == 200, answer.text
        events: list[dict[str, Any]] = answer.json()
        return events

    events = await says(first, "I prefer a window seat. Book one, please.")
    assert events[-1]["content"]["parts"][0]["text"] == "Seat 12A is yours."
    bank = Bank(vertex, f"{PARENT}/reasoningEngines/{last_part(uri)}")
    facts = await until_found(bank, {"app_name": APP, "user_id": "ann"}, 1)
    assert facts == ["I prefer a window seat."]
    await says(second, "Where do I like to sit?")
    kept = (await api.get(f"{sessions}/{first}")).json()
    assert kept["state"] == {"seat": "12A"}
    assert [event["id"] for event in kept["events"][1:]] == [event["id"] for event in events]
    assert (await api.delete(f"{sessions}/{first}")).status_code == 200
    assert [one["id"] for one in (await api.get(sessions)).json()] == [second]
