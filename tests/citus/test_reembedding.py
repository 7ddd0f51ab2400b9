"""Models are switched while a write is held open on a node: what it writes is embedded anew."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.adapters.db.spread import RowSearch
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock, SystemClock
from app.memory.reembedding.service import Backlog
from app.platform.engines.store import repository as engines
from app.process.features import register
from app.process.main import create_app
from tests.conftest import ADMIN_KEY
from tests.support.embedding import (
    AFTER_ALL_WRITES,
    NEW,
    OLD,
    Changed,
    NewEmbedder,
    changed,
    stored_vectors,
)
from tests.support.keys import client_with
from tests.support.operations import create_memory
from tests.support.scripted_models import ScriptedEmbedder
from tests.support.slow_writes import SlowWriter
from tests.support.sweeping import sweep
from tests.support.workers import without_worker


@pytest.fixture
def clock() -> FixedClock:
    """A clock that a test can move, which begins now: keys were made by that of the machine."""
    return FixedClock(SystemClock().now())


@pytest.fixture
async def resources(
    url: str, tmp_path: Path, clock: FixedClock, embedder: ScriptedEmbedder
) -> AsyncIterator[Resources]:
    """A service by the former model, with one memory."""
    async with without_worker(url, tmp_path, ADMIN_KEY, embedder="hash") as (_, opened):
        settings, db = opened.settings, opened.db.at(clock)
        found = register(Resources(settings, clock, db, opened.database_url, embedder))
        async with client_with(create_app(found), ADMIN_KEY) as client:
            await create_memory(client, "I like tea.")
        yield found


@pytest.fixture
def now(resources: Resources, embedder: ScriptedEmbedder) -> Changed:
    return changed(resources, NewEmbedder(), embedder)


async def is_left(resources: Resources) -> bool:
    """Return True if vectors of the former model may be left."""
    async with resources.db.snapshot() as session:
        return bool(await engines.find_with_stale_vectors(session, RowSearch(10)))


async def test_a_write_that_ends_after_the_switch(
    resources: Resources, now: Changed, embedder: ScriptedEmbedder, clock: FixedClock
) -> None:
    backlog = Backlog.of(now.resources)
    writer = SlowWriter(resources, embedder)
    await writer.begin()
    assert (await now.reembedded())["response"]["embeddingModel"] == NEW
    await sweep(now.resources, "stale vectors")
    await sweep(now.resources, "stale vectors")
    assert await is_left(resources)  # a pass that began while writes may be open is not the last
    await writer.end()
    assert await stored_vectors(resources) == {"I like tea.": [NEW], "I am slow.": [OLD]}

    clock.advance(AFTER_ALL_WRITES)
    for left, embedded in ((True, 1), (False, 0)):
        await sweep(now.resources, "stale vectors")
        assert await is_left(resources) == left
        assert await backlog.run() == embedded

    assert await stored_vectors(resources) == {"I like tea.": [NEW], "I am slow.": [NEW]}
