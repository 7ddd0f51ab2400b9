"""The service over one database, asked without a socket and without a model."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np
from fastapi import FastAPI

from app.adapters.resources import Resources, open_resources
from app.kernel.ranking import Ranking
from app.platform.access.services.access import AccessService
from app.process.main import create_app
from app.settings.settings import Settings
from benchmarks.scale.bank import ENGINES, Bank
from benchmarks.scale.words import DIMENSIONS, SubspaceEmbedder, facts, queries
from benchmarks.surroundings import pages_read
from tests.support.asgi import Sent, call

_KEY = "scale-benchmark-admin-key"
_HEADERS = ((b"authorization", f"Bearer {_KEY}".encode()), (b"content-type", b"application/json"))
_QUERIES = 2_000
_FLUSH_SECONDS = 1.1
"""How long a connection of Postgres keeps what it has counted to itself."""


@dataclass(frozen=True)
class Served:
    """A database of a size, and the application on it for each ranking."""

    bank: Bank
    resources: Resources
    apps: dict[Ranking, FastAPI]
    _queries: Iterator[str]
    _facts: Iterator[str]
    _random: np.random.Generator

    @property
    def name(self) -> str:
        """The size."""
        return f"{self.bank.memories + self.bank.large:,}"

    async def retrieve(
        self, ranking: Ranking = Ranking.HYBRID, scope: dict[str, str] | None = None
    ) -> float:
        """Search the 3 best in a scope of 100, or the one that is given; return milliseconds."""
        engine, one = (1, scope) if scope else self._a_scope()
        search = {"searchQuery": next(self._queries), "topK": 3}
        body = {"scope": one, "similaritySearchParams": search}
        return await self._send(f"/{engine}/memories:retrieve", body, ranking)

    async def create(self, scope: dict[str, str] | None = None) -> float:
        """Write a memory into a scope of 100, or the one that is given; return milliseconds."""
        engine, one = (1, scope) if scope else self._a_scope()
        return await self._send(f"/{engine}/memories", {"fact": next(self._facts), "scope": one})

    def _a_scope(self) -> tuple[int, dict[str, str]]:
        scope = int(self._random.integers(1, self.bank.scopes + 1))
        return int(self._random.integers(1, ENGINES + 1)), {"user_id": str(scope)}

    async def _send(
        self, path: str, body: dict[str, Any], ranking: Ranking = Ranking.HYBRID
    ) -> float:
        target = f"/v1/reasoningEngines{path}".encode()
        sent = Sent("POST", target, headers=_HEADERS, body=json.dumps(body).encode())
        began = time.perf_counter()
        answer = await call(self.apps[ranking], sent)
        took = time.perf_counter() - began
        assert answer.status == 200, answer.body
        return 1_000 * took

    async def buffers(self, what: str, requests: int) -> float:
        """Return the pages that Postgres reads for a request, wherever they are."""
        ask = self.retrieve if what == "retrieve" else self.create
        await self._flushed(what)
        before = pages_read(self.resources.database_url)
        for _ in range(requests):
            await ask()
        await self._flushed(what)
        return (pages_read(self.resources.database_url) - before) / (requests + 1)

    async def _flushed(self, what: str) -> None:
        await asyncio.sleep(_FLUSH_SECONDS)
        await (self.retrieve() if what == "retrieve" else self.create())


@asynccontextmanager
async def serving(settings: Settings, url: str, bank: Bank) -> AsyncIterator[Served]:
    """Open the service over a filled database."""
    async with open_resources(settings, url) as opened:
        resources = replace(opened, embedder=SubspaceEmbedder(DIMENSIONS))
        await AccessService(resources.db, resources.clock).ensure_first_key(_KEY)
        apps = {
            ranking: create_app(
                replace(resources, settings=settings.model_copy(update={"ranking": ranking}))
            )
            for ranking in Ranking
        }
        asked = queries(_QUERIES, 5)
        said = facts(_QUERIES, 6)
        yield Served(
            bank,
            resources,
            apps,
            (asked[n % _QUERIES] for n in count()),
            (f"{said[n % _QUERIES]} {n}" for n in count()),
            np.random.default_rng(7),
        )
