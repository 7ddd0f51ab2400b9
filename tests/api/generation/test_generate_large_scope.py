"""A generation on a scope that has an index of its own compares with what the index yields."""

from collections.abc import AsyncIterator

import httpx
import pytest

from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.memory.retrieval.jobs import IndexSweep
from app.memory.retrieval.services.search import ScopeIndexes
from app.platform.operations.services.runner import Runner
from app.settings.settings import Settings
from tests.support.operations import generate
from tests.support.scopes import MANY, fill
from tests.support.scripted_models import ScriptedEmbedder
from tests.support.statements import statements_on

COUNT = 120
FACT = "I like tea."
BY_INDEX = "AS HALFVEC(16)"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"scope_index_memories": 100})


@pytest.fixture
def embedder() -> ScriptedEmbedder:
    return ScriptedEmbedder(16)


@pytest.fixture
async def indexed(
    resources: Resources, database_url: str, clock: FixedClock, embedder: ScriptedEmbedder
) -> AsyncIterator[Resources]:
    """A bank whose large scope has its index, which this process knows."""
    await fill(database_url, embedder, clock.now(), COUNT, [FACT])
    await IndexSweep(resources).run()
    await ScopeIndexes.of(resources).read()
    yield resources
    none = resources.settings.model_copy(update={"max_scope_indexes": 0})
    url = resources.database_url
    await IndexSweep(Resources(none, clock, resources.db, url, resources.embedder)).run()


async def test_it_finds_neighbours_by_the_index(
    client: httpx.AsyncClient, runner: Runner, indexed: Resources
) -> None:
    with statements_on(indexed.db, BY_INDEX) as sent:
        (created,) = await generate(client, runner, FACT, scope=MANY)
        assert len(sent) == 1
        (again,) = await generate(client, runner, FACT, scope=MANY)
    assert (created["action"], again["action"]) == ("CREATED", "UPDATED")
    assert again["memory"]["name"] == created["memory"]["name"]


async def test_a_scope_beside_it_is_compared_whole(
    client: httpx.AsyncClient, runner: Runner, indexed: Resources
) -> None:
    with statements_on(indexed.db, BY_INDEX) as sent:
        (created,) = await generate(client, runner, FACT)
    assert created["action"] == "CREATED"
    assert sent == []
