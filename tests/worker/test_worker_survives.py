"""What a worker outlives, and what is finished although its operation was not."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from contextvars import Context
from random import Random
from typing import Any

import httpx
import pytest
from sqlalchemy import Select, func, select
from typing_extensions import override

from app.adapters.concurrency import end
from app.adapters.db.server import Row
from app.adapters.db.session import Database, Session
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import InvalidArgument
from app.memory.memories.store.tables import MemoryRow
from app.platform.engines.store.tables import EngineRow
from app.platform.operations.services.runner import Job, Runner
from app.platform.operations.store.tables import OperationRow
from app.platform.upkeep.service import UpkeepService
from app.settings.settings import Settings
from tests.support.engines import FIRST
from tests.support.operations import create_memory, path_of
from tests.support.queue import all_stored, enqueue, overwrite, runner_of, stored

_SOON_SECONDS = 60


class FailingDatabase(Database):
    """A database whose transactions and claims often fail in an unforeseen way.

    What follows a claim does not fail: the operation would wait for the end of its lease.
    """

    def __init__(self, inner: Database) -> None:
        self.__dict__.update(vars(inner))
        self.failed = 0
        self.fails_next = True
        self._lot = Random(1)

    @override
    @asynccontextmanager
    async def transaction(self, *, writes_vectors: bool = True) -> AsyncIterator[Session]:
        self._fail_or_not()
        async with super().transaction(writes_vectors=writes_vectors) as session:
            yield session

    @override
    async def run(
        self,
        statement: bytes,
        values: Any,
        *,
        is_change: bool = False,
        options: Sequence[bytes] = (),
    ) -> Sequence[Row]:
        if b"UPDATE operations" in statement:
            self._fail_or_not()
        return await super().run(statement, values, is_change=is_change, options=options)

    def _fail_or_not(self) -> None:
        if self.fails_next or self._lot.random() < 0.3:
            self.failed += 1
            self.fails_next = False
            raise RuntimeError("unforeseen")


def _locked(operation_id: str) -> Select[OperationRow]:
    is_wanted = (OperationRow.engine_id == 1, OperationRow.operation_id == operation_id)
    return select(OperationRow).where(*is_wanted).with_for_update()


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"worker_poll_seconds": 0.02})


async def _succeed(job: Job) -> None:
    async with Database(job.db.engine).transaction() as session:
        await job.finish(session, {}, {})


async def _run_until(runner: Runner, database: Database, operations: list[str], state: str) -> None:
    task = asyncio.create_task(runner.run())
    try:
        async with asyncio.timeout(_SOON_SECONDS):
            for operation in operations:
                while (await stored(database, operation)).state != state:  # noqa: ASYNC110 - in Postgres
                    await asyncio.sleep(0.01)
    finally:
        await end(task)


async def test_a_failure_that_nobody_foresaw_does_not_end_the_worker(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    operations = [await enqueue(database, clock, key=str(number)) for number in range(4)]
    failing = FailingDatabase(database)
    runner = runner_of(failing, clock, settings, _succeed)
    await _run_until(runner, database, operations, "SUCCEEDED")
    assert failing.failed > 1


async def test_an_outcome_is_written_once_the_database_is_back(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    failing = FailingDatabase(database)

    async def refuse(_: Job) -> None:
        failing.fails_next = True
        raise InvalidArgument.of_field("scope", "is refused.")

    operation = await enqueue(database, clock)
    runner = runner_of(failing, clock, settings, refuse)
    await _run_until(runner, database, [operation], "FAILED")
    assert (await stored(database, operation)).attempts == 1


async def test_the_sweep_finishes_an_engine_whose_deletion_failed_for_good(
    client: httpx.AsyncClient, database: Database, resources: Resources
) -> None:
    for number in range(3):
        await create_memory(client, f"fact {number}")
    deletion = (await client.request("DELETE", FIRST, json={"force": True})).json()
    await overwrite(database, deletion["name"].rpartition("/")[2], state="FAILED")
    await UpkeepService(resources).sweep()
    async with database.snapshot() as session:
        for table in (MemoryRow, EngineRow):
            count = await session.execute(select(func.count()).select_from(table))
            assert count.scalar_one() == 0


async def test_an_operation_of_a_deleted_engine_keeps_no_text(
    client: httpx.AsyncClient, database: Database
) -> None:
    await create_memory(client, "I like tea.")
    (created,) = await all_stored(database)
    path = path_of(f"{created.engine_name}/operations/{created.operation_id}")
    assert (await client.get(path)).json()["response"]["fact"] == "I like tea."
    await client.request("DELETE", FIRST, json={"force": True})
    assert set((await client.get(path)).json()["response"]) == {"@type", "name", "etag"}


async def test_a_cancel_that_meets_a_claim_is_not_lost(
    client: httpx.AsyncClient, database: Database, runner: Runner
) -> None:
    body = {
        "scope": {"user_id": "42"},
        "directMemoriesSource": {"directMemories": [{"fact": "I live in Paris."}]},
    }
    operation = (await client.post("/memories:generate", json=body)).json()
    identity = operation["name"].rpartition("/")[2]
    async with database.transaction() as session:
        # A claim that has taken the row and not committed yet.
        row = (await session.execute(_locked(identity))).scalar_one()
        # A task of its own context: it is another request, outside this transaction.
        request = client.post(f"{path_of(operation['name'])}:cancel")
        cancelling = asyncio.create_task(request, context=Context())
        await asyncio.sleep(0.2)
        assert not cancelling.done()
        row.state, row.owner = "RUNNING", "another"
        await session.flush()
    assert (await cancelling).status_code == 200
    assert (await stored(database, identity)).cancel_requested
    assert await runner.run_pending() == 0
