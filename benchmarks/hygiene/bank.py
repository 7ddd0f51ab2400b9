"""A service in this process over a Postgres of its own, driven as a client drives it."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from app.platform.operations.services.runner import Runner
from app.process.worker import make_runner
from benchmarks.hygiene.cases import Case
from benchmarks.in_process import body, in_process

Json = dict[str, Any]


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
        request = {"scope": scope, "directContentsSource": {"events": events}}
        started = body(await self.client.post("/memories:generate", json=request))
        await self.runner.run_pending()
        path = "/operations/" + started["name"].rpartition("/")[2]
        operation = body(await self.client.get(path))
        assert "response" in operation, operation
        return operation

    async def live(self, case: Case) -> dict[str, str]:
        """Return the facts of the case's memories, by name."""
        return await self.stored({"case": case.name})

    async def stored(self, scope: dict[str, str]) -> dict[str, str]:
        """Return the facts of the memories of a scope, by name."""
        answer = await self.client.post("/memories:retrieve", json={"scope": scope})
        found = body(answer).get("retrievedMemories", [])
        return {one["memory"]["name"]: one["memory"]["fact"] for one in found}


@asynccontextmanager
async def open_bank(folder: Path, model_url: str | None = None) -> AsyncIterator[Bank]:
    """Open a bank with its database in the folder; with a URL, a model of it writes."""
    model: Json = (
        {} if model_url is None else {"model": "openai:scripted", "model_base_url": model_url}
    )
    async with in_process(folder, model) as (resources, client):
        yield Bank(client, make_runner(resources))


def seconds() -> float:
    """Return a time that only differences of mean anything."""
    return time.perf_counter()
