# mypy: ignore-errors
# ruff: noqa: ANN202

"""Sessions and memories of ADK's agents in Open Memory Bank."""

import os

import agentplatform
from google.adk.cli.service_registry import get_service_registry
from google.adk.memory import VertexAiMemoryBankService
from google.adk.sessions import VertexAiSessionService
from google.oauth2.credentials import Credentials


class _AtBank:
    def _build_api_client(self):
        return agentplatform.Client(
            project=self._project,
            location=self._location,
            credentials=Credentials(token=os.environ["BANK_KEY"]),
            http_options={"base_url": os.environ["BANK_URL"]},
        ).aio


class BankMemory(_AtBank, VertexAiMemoryBankService):
    """The stock memory service, at the bank."""


class BankSessions(_AtBank, VertexAiSessionService):
    """The stock session service, at the bank."""


def _place(uri: str) -> dict[str, str]:
    return {
        "project": "default",
        "location": "local",
        "agent_engine_id": uri.removeprefix("memorybank://"),
    }


registry = get_service_registry()
registry.register_memory_service("memorybank", lambda uri, **_: BankMemory(**_place(uri)))
registry.register_session_service("memorybank", lambda uri, **_: BankSessions(**_place(uri)))
