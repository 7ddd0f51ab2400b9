"""The stock services with the older client, which the ADK takes as well."""

import os
from typing import Any

from google.adk.memory import VertexAiMemoryBankService
from google.adk.sessions import VertexAiSessionService

from tests.support.official import credentials, vertex_client


class _AtBank:
    _project: str | None
    _location: str | None

    def _build_api_client(self) -> Any:
        return vertex_client(
            project=self._project,
            location=self._location,
            credentials=credentials(),
            http_options={"base_url": os.environ["BANK_URL"]},
        ).aio


class BankMemory(_AtBank, VertexAiMemoryBankService):
    """The stock memory service, at the bank."""


class BankSessions(_AtBank, VertexAiSessionService):
    """The stock session service, at the bank."""
