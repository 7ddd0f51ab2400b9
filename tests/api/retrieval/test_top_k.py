"""Every search returns as many memories as there are, up to `top_k`, and the nearest.

Whatever the size of the scope, its index, the filters, what has expired or was deleted, and
whichever plan Postgres has for the statement. What is nearest is computed by the test itself.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import numpy as np
import psycopg
import pytest

from app.adapters.db.engine import open_engine
from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.ranking import Ranking
from app.memory.retrieval.jobs import IndexSweep
from app.memory.retrieval.services.search import ScopeIndexes
from app.process.main import create_app
from app.settings.settings import Settings
from tests.conftest import ADMIN_KEY
from tests.support.bank import ok
from tests.support.keys import client_with
from tests.support.scopes import MANY, Filled, delete, fill
from tests.support.scripted_models import ScriptedEmbedder

LARGE, MIDDLING, SMALL = 240, 210, 30
"""Memories: with an index, without one but too many to be read whole, and few enough for that."""
INDEXED_FROM = LARGE + MIDDLING
"""Between the vectors of the two when their indexes are made: as many again are still to go."""
QUERIES = ["Where do I live?", "What do I like?"]
TIMES = {"auto": 2, "force_custom_plan": 1, "force_generic_plan": 1}
"""By the plan that Postgres has, for each query and `top_k`.

Twice is a dozen for each statement: after five the driver prepares it, and after five more Postgres
may stop planning for its values, unless it has no choice.
"""
TOP_K = (3, 10, 100)
KINDS = (None, "rare", "none")


@pytest.fixture(params=[LARGE, MIDDLING, SMALL], ids=["indexed", "middling", "small"])
def count(request: pytest.FixtureRequest) -> int:
    found: int = request.param
    return found


@pytest.fixture(params=list(Ranking))
def settings(settings: Settings, request: pytest.FixtureRequest) -> Settings:
    # One connection, so that its statements come to be prepared.
    changed = {"scope_index_memories": INDEXED_FROM, "ranking": request.param}
    pool = {"database_pool_size": 1, "database_pool_overflow": 0}
    return settings.model_copy(update={**changed, **pool})


@pytest.fixture
def embedder() -> ScriptedEmbedder:
    return ScriptedEmbedder(32)


@dataclass(frozen=True)
class Bank:
    """A scope of many memories behind an API, of a service whose statements have one plan."""

    client: httpx.AsyncClient
    filled: Filled
    embedder: ScriptedEmbedder
    settings: Settings

    async def search(self, text: str, kind: str | None, top_k: int) -> list[tuple[str, float]]:
        """Return ids and distances in the order of the answer."""
        search = {"searchQuery": text, "topK": top_k}
        body: dict[str, Any] = {"scope": MANY, "similaritySearchParams": search}
        if kind is not None:
            one = {"key": "kind", "value": {"stringValue": kind}, "op": "EQUAL"}
            body["filterGroups"] = [{"filters": [one]}]
        answer = ok(await self.client.post("/memories:retrieve", json=body))
        return [
            (one["memory"]["name"].rpartition("/")[2], one["distance"])
            for one in answer["retrievedMemories"]
        ]


Banks = Callable[[str], AbstractAsyncContextManager[Bank]]


@pytest.fixture
def plans(database: Database) -> dict[str, int]:
    """What is tried of `TIMES`: a cluster plans for values alone, by which it finds the node."""
    return {
        plan: times
        for plan, times in TIMES.items()
        if not (database.is_distributed and plan == "force_generic_plan")
    }


@pytest.fixture
async def banks(
    resources: Resources, database_url: str, clock: FixedClock, count: int
) -> AsyncIterator[Banks]:
    """A scope whose index, if it is large, knows what was deleted afterwards."""
    embedder = resources.embedder
    assert isinstance(embedder, ScriptedEmbedder)
    filled = await fill(database_url, embedder, clock.now(), count, QUERIES)
    await IndexSweep(resources).run()
    delete(database_url, clock.now(), filled)

    @asynccontextmanager
    async def planned(plan: str) -> AsyncIterator[Bank]:
        _set_plans(database_url, f"set plan_cache_mode = {plan}")
        database = Database(open_engine(database_url, resources.settings))
        database.is_distributed = resources.db.is_distributed
        try:
            served = Resources(resources.settings, clock, database, database_url, embedder)
            await ScopeIndexes.of(served).read()
            async with client_with(create_app(served), ADMIN_KEY) as client:
                yield Bank(client, filled, embedder, resources.settings)
        finally:
            _set_plans(database_url, "reset plan_cache_mode")
            await database.close()

    yield planned
    none = resources.settings.model_copy(update={"max_scope_indexes": 0})
    await IndexSweep(Resources(none, clock, resources.db, database_url, embedder)).run()


def _set_plans(url: str, clause: str) -> None:
    """Change how connections that are opened from now on plan."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"alter database {connection.info.dbname} {clause}".encode())


async def test_every_search_returns_as_many_as_there_are(
    banks: Banks, plans: dict[str, int], count: int
) -> None:
    for plan, times in plans.items():
        async with banks(plan) as bank:
            await _search_all(bank, count, times)


async def _search_all(bank: Bank, count: int, times: int) -> None:
    for text in QUERIES:
        (vector,) = await bank.embedder.embed([text])
        for kind in KINDS:
            for top_k in TOP_K:
                wanted = bank.filled.nearest(vector, kind, top_k)
                assert len(wanted) == min(
                    top_k, {None: count, "rare": -(-count // 40)}.get(kind, 0)
                )
                for _ in range(times):
                    found = await bank.search(text, kind, top_k)
                    _check(bank, found, wanted, vector, kind)


def _check(
    bank: Bank,
    found: list[tuple[str, float]],
    wanted: list[str],
    vector: np.ndarray,
    kind: str | None,
) -> None:
    ids = [one for one, _ in found]
    assert len(ids) == len(set(ids)) == len(wanted)
    assert set(ids) <= set(bank.filled.nearest(vector, kind, LARGE))
    distances = [distance for _, distance in found]
    assert distances == sorted(distances)
    if bank.settings.ranking is Ranking.VECTOR:
        # The graph of an index is made with chance, and may pass over one, or one of many.
        is_indexed = len(bank.filled.vectors) == LARGE
        passed_over = max(1, len(wanted) // 20) if is_indexed else 0
        assert len(set(wanted) - set(ids)) <= passed_over
        exact = [bank.filled.distance(vector, one) for one in ids]
        assert distances == pytest.approx(exact, abs=1e-3)


async def test_the_first_do_not_depend_on_how_many_are_asked_for(
    banks: Banks, plans: dict[str, int]
) -> None:
    for plan in plans:
        async with banks(plan) as bank:
            for text in (*QUERIES, "Memory 7"):
                for kind in (None, "rare"):
                    all_of_them = await bank.search(text, kind, max(TOP_K))
                    for top_k in TOP_K:
                        assert await bank.search(text, kind, top_k) == all_of_them[:top_k]
