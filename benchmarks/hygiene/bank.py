"""A service in this process over a Postgres of its own, driven as a client drives it."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from app.platform.operations.services.runner import Runner
from app.process.main import create_app
from app.process.start import open_process
from app.process.worker import make_runner
from app.settings.settings import Settings
from benchmarks.hygiene.cases import Case

Json = dict[str, Any]

_KEY = "hygiene-admin-key"
_BASE = "http://bank/v1beta1/projects/default/locations/local/reasoningEngines/1"


@dataclass(frozen=True)
class Bank:
    """The service, and its worker."""

    client: httpx.AsyncClient
    runner: Runner

    async def generate(self, case: Case, turns: list[tuple[str, str]]) -> Json:
        """Run a generation; return its operation."""
        events = [{"content": {"role": role, "parts": [{"text": text}]}} for role, text in turns]
        return await self.generated({"case": case.name}, events)

    async def generated(self, scope: dict[str, str], events: list[Json]) -> Json:
        """Run a generation over events in a scope; return its operation."""
        body = {"scope": scope, "directContentsSource": {"events": events}}
        started = await self._json(await self.client.post("/memories:generate", json=body))
        await self.runner.run_pending()
        path = "/operations/" + started["name"].rpartition("/")[2]
        operation = await self._json(await self.client.get(path))
        assert "response" in operation, operation
        return operation

    async def live(self, case: Case) -> dict[str, str]:
        """Return the facts of the case's memories, by name."""
        return await self.stored({"case": case.name})

    async def stored(self, scope: dict[str, str]) -> dict[str, str]:
        """Return the facts of the memories of a scope, by name."""
        answer = await self.client.post("/memories:retrieve", json={"scope": scope})
        found = (await self._json(answer)).get("retrievedMemories", [])
        return {one["memory"]["name"]: one["memory"]["fact"] for one in found}

    @staticmethod
    async def _json(answer: httpx.Response) -> Json:
        answer.raise_for_status()
        found: Json = answer.json()
        return found


@asynccontextmanager
async def open_bank(folder: Path, model_url: str | None = None) -> AsyncIterator[Bank]:
    """Open a bank with its database in the folder; with a URL, a model of it writes."""
    model: Json = (
        {} if model_url is None else {"model": "openai:scripted", "model_base_url": model_url}
    )
    chosen = Settings(data_dir=folder, admin_key=_KEY, **model)
    async with open_process(chosen) as found:
        await found.resources.embedder.warm()
        transport = httpx.ASGITransport(create_app(found.resources))
        headers = {"Authorization": f"Bearer {_KEY}"}
        async with httpx.AsyncClient(
            transport=transport, base_url=_BASE, headers=headers
        ) as client:
            yield Bank(client, make_runner(found.resources))


def seconds() -> float:
    """Return a time that only differences of mean anything."""
    return time.perf_counter()
