"""Two engines of a service in this process, asked over REST: one writes in the third person."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from app.platform.operations.services.runner import Runner
from app.process.worker import make_runner
from benchmarks.in_process import ENGINES, body, in_process
from benchmarks.model_output.cases import Case, Step

Json = dict[str, Any]

_SAID_BEFORE = {"event_time": {"timestampValue": "2020-01-01T00:00:00Z"}}
_THIRD_PERSON = {
    "contextSpec": {
        "memoryBankConfig": {"customizationConfigs": [{"enableThirdPersonMemories": True}]}
    }
}


@dataclass(frozen=True)
class Bank:
    """The service, its worker, and the engines by whether they write in the third person."""

    client: httpx.AsyncClient
    runner: Runner
    engines: dict[bool, str]

    async def store(self, case: Case) -> None:
        """Create the memories that are there before the first step, as said before it."""
        for fact in case.stored:
            memory: Json = {"fact": fact, "scope": _scope(case), "metadata": _SAID_BEFORE}
            await self._operation(case, "/memories", memory)

    async def generate(self, case: Case, step: Step) -> Json:
        """Run one generation to its end; return its operation."""
        request: Json = {"scope": _scope(case)}
        if step.direct_memories:
            facts = [{"fact": fact} for fact in step.direct_memories]
            request["directMemoriesSource"] = {"directMemories": facts}
        else:
            request["directContentsSource"] = {"events": [_event(one) for one in step.events]}
        return await self._operation(case, "/memories:generate", request)

    async def live(self, case: Case) -> list[str]:
        """Return the texts of the memories of the case's scope."""
        path = self._path(case) + "/memories:retrieve"
        answer = await self.client.post(path, json={"scope": _scope(case)})
        found = body(answer).get("retrievedMemories", [])
        return [one["memory"]["fact"] for one in found]

    async def _operation(self, case: Case, path: str, request: Json) -> Json:
        started = body(await self.client.post(self._path(case) + path, json=request))
        await self.runner.run_pending()
        name = started["name"].rpartition("/")[2]
        return body(await self.client.get(f"{self._path(case)}/operations/{name}"))

    def _path(self, case: Case) -> str:
        return f"{ENGINES}/{self.engines[case.third_person]}"


def _scope(case: Case) -> dict[str, str]:
    return {"case": case.name}


def _event(one: Any) -> Json:  # noqa: ANN401 - an event of a case
    content = {"role": one.role, "parts": [{"text": one.text}]}
    return {"content": content} | ({"eventTime": one.event_time} if one.event_time else {})


@asynccontextmanager
async def open_bank(folder: Path, model_url: str) -> AsyncIterator[Bank]:
    """Open a bank with its database in the folder, written by the model at a URL."""
    chosen = {"model": "openai:scripted", "model_base_url": model_url}
    async with in_process(folder, chosen, ENGINES) as (resources, client):
        runner = make_runner(resources)
        created = body(await client.post(ENGINES, json=_THIRD_PERSON))
        await runner.run_pending()
        third = created["name"].partition("/reasoningEngines/")[2].partition("/")[0]
        yield Bank(client, runner, {False: "1", True: third})
