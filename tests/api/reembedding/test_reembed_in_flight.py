"""A write that began under the former model and ends under the next is embedded all the same."""

import asyncio

import httpx
import pytest

from app.adapters.db.spread import RowSearch
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.memory.memories.schemas.memories import DEFAULT_MEMORY_TYPE, RevisionFields
from app.memory.memories.services.memories import MemoryService
from app.memory.memories.store import ledger
from app.memory.memories.store.changes import Creation
from app.memory.reembedding.service import Backlog
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from tests.support.embedding import (
    AFTER_ALL_WRITES,
    NEW,
    OLD,
    Changed,
    NewEmbedder,
    changed,
    stored_vectors,
)
from tests.support.operations import USER, create_memory
from tests.support.scripted_models import ScriptedEmbedder
from tests.support.slow_writes import FIRST, SlowWriter
from tests.support.sweeping import sweep


@pytest.fixture
async def now(
    client: httpx.AsyncClient, resources: Resources, embedder: ScriptedEmbedder
) -> Changed:
    await create_memory(client, "I like tea.")
    return changed(resources, NewEmbedder(), embedder)


async def until_it_serves(resources: Resources) -> None:
    while True:
        async with resources.db.snapshot() as session:
            if await engines.find_model(session, 1) == NEW:
                return
        await asyncio.sleep(0.01)


async def test_soon_after_the_end_of_the_write(
    resources: Resources, now: Changed, embedder: ScriptedEmbedder
) -> None:
    now = changed(resources, now.embedder, embedder, reembed_settle_seconds=2)
    writer = SlowWriter(resources, embedder)
    await writer.begin()
    name = (await now.reembed())["name"]
    working = asyncio.create_task(now.runner.run_pending())
    await until_it_serves(resources)
    # The end of the operation did not wait for the write.
    assert (await now.operation(name))["done"]
    await writer.end()
    await working
    assert (await stored_vectors(resources))["I am slow."] == [OLD]

    assert await Backlog.of(now.resources).run() == 1

    assert (await stored_vectors(resources))["I am slow."] == [OLD, NEW]


async def test_with_the_sweep_where_the_worker_was_gone_by_then(
    resources: Resources,
    now: Changed,
    clock: FixedClock,
    embedder: ScriptedEmbedder,
) -> None:
    backlog = Backlog.of(now.resources)
    writer = SlowWriter(resources, embedder)
    await writer.begin()
    await now.reembedded()
    await sweep(now.resources, "stale vectors")
    await sweep(now.resources, "stale vectors")
    assert await backlog.run() == 0
    await writer.end()
    assert await stored_vectors(resources) == {"I like tea.": [NEW], "I am slow.": [OLD]}

    clock.advance(AFTER_ALL_WRITES)
    # A pass that finds something is followed by another.
    for left, embedded in ((1, 1), (0, 0)):
        await sweep(now.resources, "stale vectors")
        async with resources.db.snapshot() as session:
            assert len(await engines.find_with_stale_vectors(session, RowSearch(10))) == left
        assert await backlog.run() == embedded

    assert await stored_vectors(resources) == {"I like tea.": [NEW], "I am slow.": [NEW]}


async def test_a_vector_that_came_too_late_is_not_kept(resources: Resources, now: Changed) -> None:
    service = MemoryService.of(now.resources)
    vector = await service.embedding.fact(1, "I am late.")
    assert vector is not None
    assert vector.model_id == OLD
    await now.reembedded()
    content = {"fact": "I am late."}
    async with resources.db.transaction() as session:
        engine = await engines.get(session, FIRST, Lock.SHARED)
        writing = service.writing_for(engine, "17", service.clock.now(), RevisionFields(), None)
        new = Creation(None, USER, DEFAULT_MEMORY_TYPE, content, None, vector)
        await ledger.create(session, writing, new)
    assert (await stored_vectors(resources))["I am late."] == []
    assert await Backlog.of(now.resources).run() == 1
    assert (await stored_vectors(resources))["I am late."] == [NEW]
