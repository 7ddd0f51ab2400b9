"""Whoever locks several rows takes them in one order."""

import asyncio
from datetime import timedelta

import httpx
from sqlalchemy import Select, delete, select

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.memory.memories.store.tables import MemoryRow, RevisionLabelRow, RevisionRow
from app.memory.retention.store import find_expired_revisions, remove_expired_revisions
from app.platform.operations.services.runner import Runner
from tests.support.bank import count, id_of, ok
from tests.support.generation import given, start
from tests.support.locks import until_waiting
from tests.support.operations import create_memory, path_of
from tests.support.sweeping import batch

HISTORY = (RevisionRow, RevisionLabelRow)


def _lock(memory_id: str, *, nowait: bool = False) -> Select[str]:
    mine = select(MemoryRow.memory_id).where(
        MemoryRow.engine_id == 1, MemoryRow.memory_id == memory_id
    )
    return mine.with_for_update(nowait=nowait)


async def test_a_generation_locks_in_the_order_of_ids_before_it_writes(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    first = id_of(await create_memory(client, "I like green tea."))
    second = id_of(await create_memory(client, "I live in Oslo."))
    assert first < second
    # The plan has the second one first.
    operation = await start(client, given("I live in Oslo.", "I like green tea."))
    async with database.engine.begin() as other:
        await other.execute(_lock(first))
        working = asyncio.create_task(runner.run_pending())
        await until_waiting(database)
        await other.execute(_lock(second, nowait=True))
    await working
    changes = ok(await client.get(operation))["response"]["generatedMemories"]
    assert [(id_of(one["memory"]), one["action"]) for one in changes] == [
        (second, "UPDATED"),
        (first, "UPDATED"),
    ]


async def test_an_erasure_takes_a_revision_before_its_labels(
    client: httpx.AsyncClient, database: Database
) -> None:
    memory = await create_memory(client, "tea", revisionLabels={"a": "1"})
    revisions = select(RevisionRow.revision_id).where(RevisionRow.engine_id == 1)
    async with database.engine.begin() as other:
        await other.execute(revisions.with_for_update())
        path = path_of(memory["name"])
        erasing = asyncio.create_task(client.delete(path, params={"permanent": "true"}))
        await until_waiting(database)
        # As a sweep does; the labels go with it.
        await other.execute(delete(RevisionRow).where(RevisionRow.engine_id == 1))
    ok(await erasing)
    assert await count(database, MemoryRow, *HISTORY) == (0, 0, 0)


async def test_a_sweep_does_not_wait_for_a_revision_that_is_being_removed(
    client: httpx.AsyncClient, clock: FixedClock, resources: Resources, database: Database
) -> None:
    await create_memory(client, "tea", revisionTtl="60s")
    clock.advance(timedelta(seconds=60))
    revisions = select(RevisionRow.revision_id).where(RevisionRow.engine_id == 1)
    async with database.engine.begin() as other:
        await other.execute(revisions.with_for_update())
        async with asyncio.timeout(2):
            skipping = await batch(resources, find_expired_revisions, remove_expired_revisions)
            assert skipping == (1, [0])
    removing = await batch(resources, find_expired_revisions, remove_expired_revisions)
    assert removing == (1, [1])
