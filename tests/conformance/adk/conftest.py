"""The stock services of the ADK at a live server, each with either client.

The ADK and the clients take seconds to import and warn while they do, so both happen inside
fixtures.
"""

import asyncio
import gc
import importlib
import logging
import uuid
from collections.abc import AsyncIterator, Awaitable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.support.live import KEY, LiveServer
from tests.support.official import Bank, Client, last_part, to_its_end

PARENT = "projects/default/locations/local"
APP = "traveller"
_SERVICES = {
    "agentplatform": "tests.conformance.adk.agents.services",
    "vertexai": "tests.conformance.adk.vertex_services",
}
_PROFILES = {
    "scopeKeys": ["app_name", "user_id"],
    "schemaConfigs": [
        {
            "id": "person",
            "memoryType": "STRUCTURED_PROFILE",
            "schema": {"type": "OBJECT", "properties": {"nickname": {"type": "STRING"}}},
        }
    ],
}


@dataclass(frozen=True)
class Adk:
    """The services of the ADK, and a user of their own for each test."""

    sessions: Any
    memory: Any
    bank: Bank
    http: httpx.Client
    user: str

    @property
    def who(self) -> dict[str, str]:
        """The arguments that name the application and the user."""
        return {"app_name": APP, "user_id": self.user}

    def facts(self) -> list[str]:
        """Return what is remembered of the user, sorted."""
        return sorted(self.bank.retrieved_facts(self.who))

    def memories(self) -> list[Any]:
        """Return the memories of the user."""
        return [found.memory for found in self.bank.retrieve(self.who)]

    async def started(self, adding: Awaitable[None]) -> Any:
        """Add events, and return the operation that the ADK starts and does not look at."""
        await additions()
        await adding
        (operation,) = await additions()
        return operation

    async def ingested(self, adding: Awaitable[None]) -> None:
        """Add events, and wait until memories have been made of them."""
        operation = await self.started(adding)
        end = to_its_end(self.http, operation.name)
        if (generation := end["response"].get("generateMemoriesOperation")) is not None:
            to_its_end(self.http, generation)

    async def found(self, count: int) -> list[str]:
        """Wait until so many memories of the user are there, and return their facts."""
        return await until_found(self.bank, self.who, count)


async def additions() -> list[Any]:
    """Wait for the calls that the ADK makes and does not look at; return their operations."""
    from google.adk.memory.vertex_ai_memory_bank_service import (  # noqa: PLC0415 - see above
        _background_tasks,
    )

    return await asyncio.gather(*_background_tasks)


async def until_found(bank: Bank, scope: dict[str, str], count: int) -> list[str]:
    """Wait until so many memories of a scope are there, and return their facts, sorted."""
    async with asyncio.timeout(30):
        while True:
            facts = sorted(bank.retrieved_facts(scope))
            if len(facts) >= count:
                return facts
            await asyncio.sleep(0.02)


@pytest.fixture(scope="session", autouse=True)
def _at_bank(server: LiveServer) -> Iterator[None]:
    """Set the variables that the documented `services.py` reads."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BANK_URL", server.url)
        patch.setenv("BANK_KEY", KEY)
        yield


@pytest.fixture(scope="session")
def adk_engine(http: httpx.Client) -> str:
    """The full name of an engine that fills profiles, where the documented services look."""
    body = {"contextSpec": {"memoryBankConfig": {"structuredMemoryConfigs": [_PROFILES]}}}
    answer = http.post(f"{PARENT}/reasoningEngines", json=body)
    name: str = answer.json()["response"]["name"]
    return name


@pytest.fixture(scope="session", params=_SERVICES)
async def services(
    request: pytest.FixtureRequest, adk_engine: str
) -> AsyncIterator[tuple[Any, Any]]:
    """The service of sessions and that of memories, with one of the clients."""
    module = importlib.import_module(_SERVICES[request.param])
    options = {"project": "default", "location": "local", "agent_engine_id": last_part(adk_engine)}
    found = (module.BankSessions(**options), module.BankMemory(**options))
    yield found
    await additions()
    for service in found:
        await service._get_api_client().aclose()
    # Their transports would otherwise be found unclosed by whatever test runs next.
    del found, service
    gc.collect()


@pytest.fixture
def adk(services: tuple[Any, Any], adk_engine: str, vertex: Client, http: httpx.Client) -> Adk:
    """The services, and a user whom nobody knows yet."""
    return Adk(*services, Bank(vertex, adk_engine), http, f"user-{uuid.uuid4()}")


@pytest.fixture(autouse=True)
def _nothing_goes_wrong_unseen(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail where the ADK only logs what went wrong, as it does with much of it."""
    yield
    found = [
        record.getMessage()
        for when in ("setup", "call")
        for record in caplog.get_records(when)
        if record.name.startswith("google_adk") and record.levelno >= logging.WARNING
    ]
    assert found == []
