"""A service in this process, over a Postgres of its own, with its clock of CPU time."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from app.adapters.llm.models import TextModels
from app.adapters.resources import Resources
from app.kernel.names import EngineName
from app.memory.generation.services.generation import GENERATE
from app.memory.memories.schemas.memories import DEFAULT_MEMORY_TYPE, RevisionFields
from app.memory.memories.services.memories import MemoryService
from app.memory.memories.store import ledger
from app.memory.memories.store.changes import Creation
from app.memory.memories.store.vectors import Vector
from app.platform.engines.store import repository as engines
from app.platform.operations.logic.states import type_url
from app.platform.operations.services.runner import Job, Runner
from app.process.main import create_app
from app.process.start import open_process
from app.process.worker import make_runner
from app.settings.settings import EmbedderChoice, Settings
from benchmarks.overhead.model import SparedModel
from benchmarks.overhead.timeline import SparedEmbedder, Spent, TimedDatabase, Timeline
from tests.support.asgi import Sent, call

_KEY = "overhead-admin-key"
_ENGINE = EngineName("default", "local", 1)
_BASE = f"/v1beta1/{_ENGINE}/"
_HEADERS = (
    (b"authorization", f"Bearer {_KEY}".encode()),
    (b"content-type", b"application/json"),
)

Json = dict[str, Any]


@dataclass(frozen=True)
class Bank:
    """The application and its worker, driven one after the other."""

    resources: Resources
    app: FastAPI
    timeline: Timeline

    async def fill(self, scope: dict[str, str], facts: Sequence[str]) -> None:
        """Store the facts as memories of the scope."""
        service = MemoryService.of(self.resources)
        vectors = await self.resources.embedder.embed(facts)
        now = self.resources.clock.now()
        async with self.resources.db.transaction() as session:
            engine = await engines.get(session, _ENGINE)
            writing = service.writing_for(engine, "0", now, RevisionFields(), None)
            for fact, vector in zip(facts, vectors, strict=True):
                content = {"fact": fact}
                new = Creation(None, scope, DEFAULT_MEMORY_TYPE, content, None, Vector(vector))
                await ledger.create(session, writing, new)

    async def generate(self, body: Json) -> tuple[Spent, Json]:
        """Run a generation; return what it spent, from request to end, and its operation."""
        return await self._measured(make_runner(self.resources), body)

    def written_by_model(self) -> "Bank":
        """Return the bank with a text model that writes its memories."""
        models = TextModels(SparedModel(self.timeline))
        return replace(self, resources=replace(self.resources, models=models))

    async def idle(self, body: Json) -> Spent:
        """Run an operation that does nothing; return what it spent."""
        resources = self.resources
        runner = Runner(resources.db, resources.clock, resources.settings, {GENERATE: _end})
        return (await self._measured(runner, body))[0]

    async def _measured(self, runner: Runner, body: Json) -> tuple[Spent, Json]:
        request = Sent(
            "POST",
            f"{_BASE}memories:generate".encode(),
            headers=_HEADERS,
            body=json.dumps(body).encode(),
        )
        self.timeline.start()
        answer = await call(self.app, request)
        await runner.run_pending()
        spent = self.timeline.stop()
        name = answer.json["name"]
        operation: Json = (
            await call(self.app, Sent("GET", f"/v1beta1/{name}".encode(), headers=_HEADERS))
        ).json
        assert "response" in operation, operation
        return spent, operation


async def _end(job: Job) -> None:
    async with job.db.transaction() as session:
        await job.finish(session, {"@type": type_url("GenerateMemoriesResponse")}, {})


@asynccontextmanager
async def open_bank(folder: Path) -> AsyncIterator[Bank]:
    """Open a bank with its database in the folder."""
    settings = Settings(data_dir=folder, admin_key=_KEY, embedder=EmbedderChoice.HASH)
    timeline = Timeline()
    async with open_process(settings) as found:
        resources = replace(
            found.resources,
            db=TimedDatabase(found.resources.db, timeline),
            embedder=SparedEmbedder(found.resources.embedder, timeline),
        )
        yield Bank(resources, create_app(resources), timeline)
