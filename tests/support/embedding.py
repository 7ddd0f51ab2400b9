"""A bank whose embedding model changes: another one in the settings, the former one still open."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

import httpx
import numpy as np
from fastapi import FastAPI
from sqlalchemy import select
from typing_extensions import override

from app.adapters.llm.embedders import Embedders, ManagedEmbedder
from app.adapters.llm.factory import embedders_with
from app.adapters.llm.ports import Vectors
from app.adapters.resources import Resources
from app.memory.memories.store.tables import MemoryRow, MemoryVectorRow
from app.platform.operations.services.runner import Runner
from app.process.main import create_app
from app.process.worker import make_runner
from tests.conftest import ADMIN_KEY
from tests.support.bank import ENGINE_URL, Json, ok
from tests.support.keys import client_with
from tests.support.scripted_models import ScriptedEmbedder

NEW = "scripted/2"
OLD = ScriptedEmbedder.model_id
AFTER_ALL_WRITES = timedelta(seconds=301)
"""Time after a switch in which writes that began before it have ended."""


class NewEmbedder(ScriptedEmbedder):
    """Another model; does something after each batch that it has embedded, before it is stored."""

    model_id = NEW

    def __init__(self, dimensions: int = 384) -> None:
        super().__init__(dimensions)
        self.meddle: Callable[[int], Awaitable[None]] | None = None
        """Awaited with the number of the call."""

    @override
    async def embed(self, texts: Sequence[str]) -> Vectors:
        found = await super().embed(texts)
        if self.meddle is not None:
            await self.meddle(len(self.calls))
        return found

    @property
    def texts(self) -> list[str]:
        """All texts that were embedded so far, in order."""
        return [text for call in self.calls for text in call]


@dataclass(frozen=True)
class Changed:
    """The process after its settings were changed."""

    resources: Resources
    app: FastAPI
    client: httpx.AsyncClient
    runner: Runner
    embedder: NewEmbedder

    async def reembed(self) -> Json:
        """Ask for a re-embedding, and return its operation as it is queued."""
        return ok(await self.client.post(f"{ENGINE_URL}:reembed"))

    async def operation(self, name: str) -> Json:
        """Return an operation as it is now."""
        return ok(await self.client.get(name.partition("/reasoningEngines/1")[2]))

    async def reembedded(self) -> Json:
        """Re-embed, and return the ended operation."""
        name = (await self.reembed())["name"]
        await self.runner.run_pending()
        return await self.operation(name)


def changed(
    resources: Resources, embedder: NewEmbedder, *others: ManagedEmbedder, **settings: object
) -> Changed:
    """Return the process with another embedder in its settings; `others` are open beside it."""
    words = embedders_with(embedder).by_words
    own = resources.settings.model_copy(
        update={
            "reembed_batch_rows": 2,
            "reembed_pause_seconds": 0,
            "reembed_settle_seconds": 0,
            **settings,
        }
    )
    found = replace(
        resources,
        settings=own,
        embedder=embedder,
        embedders=Embedders(embedder, [words, *others]),
    )
    app = create_app(found)
    client = client_with(app, ADMIN_KEY)
    return Changed(found, app, client, make_runner(found), embedder)


async def stored_vectors(resources: Resources) -> dict[str, list[str]]:
    """Return the models of whose vectors each live memory has one, by its fact."""
    async with resources.db.snapshot() as session:
        rows = (await session.execute(select(MemoryRow))).scalars().all()
        vectors = (await session.execute(select(MemoryVectorRow))).scalars().all()
    facts = {row.memory_id: row.fact or "" for row in rows if row.delete_time is None}
    found: dict[str, list[str]] = {fact: [] for fact in facts.values()}
    for vector in vectors:
        found[facts[vector.memory_id]].append(vector.model_id)
    return {fact: sorted(models) for fact, models in found.items()}


async def wrong_vectors(resources: Resources, embedder: ScriptedEmbedder) -> list[str]:
    """Return the facts whose vectors by a model are not what it makes of them, or not there."""
    async with resources.db.snapshot() as session:
        rows = (await session.execute(select(MemoryRow))).scalars().all()
        vectors = {
            row.memory_id: row.vector
            for row in (await session.execute(select(MemoryVectorRow))).scalars()
            if row.model_id == embedder.model_id
        }
    live = [row for row in rows if row.delete_time is None and row.fact is not None]
    made = await ScriptedEmbedder.embed(embedder, [str(row.fact) for row in live])
    return [
        str(row.fact)
        for row, right in zip(live, made, strict=True)
        if row.memory_id not in vectors
        or not np.allclose(_numbers(vectors[row.memory_id]), right, atol=2e-3)
    ]


def _numbers(stored: object) -> list[float]:
    found: list[float] = stored.to_list() if hasattr(stored, "to_list") else list(stored)  # type: ignore[call-overload]  # what the driver's type gives
    return found
