"""Deleting engines. Source: wire specification, section 12.1."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import event, func, select

from app.adapters.db.base import Base
from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason
from app.memory.memories.store import ledger
from app.memory.memories.store.tables import (
    MemoryRow,
    MemoryVectorRow,
    RevisionLabelRow,
    RevisionRow,
)
from app.platform.engines.store.tables import EngineRow
from app.platform.operations.services.runner import Runner
from app.settings.settings import Settings
from tests.support.cases import in_one_test
from tests.support.engines import API, COLLECTION, FIRST, NOW, create_engine, names
from tests.support.errors import BAD_FIELD, NOT_FOUND, refusal, violations
from tests.support.operations import asked, create_memory
from tests.support.queue import claim, overwrite

_CHILDREN: Sequence[type[Base]] = (MemoryRow, MemoryVectorRow, RevisionRow, RevisionLabelRow)
_EMPTY = {"@type": "type.googleapis.com/google.protobuf.Empty"}
_BATCH = 2


@pytest.fixture
def settings(data_dir: Path) -> Settings:
    return Settings(data_dir=data_dir, sweep_batch_rows=_BATCH)


async def _delete(client: httpx.AsyncClient, url: str = FIRST, **options: Any) -> httpx.Response:
    return await client.request("DELETE", url, **options)


async def _count(database: Database, table: type[Base]) -> int:
    async with database.snapshot() as session:
        return (await session.execute(select(func.count()).select_from(table))).scalar_one()


def _done(operation: dict[str, Any]) -> dict[str, Any]:
    """Return the operation of a deletion once it has run."""
    ran = {"state": "SUCCEEDED", "attemptCount": 1, "startTime": NOW}
    metadata = {**operation["metadata"], **ran}
    return {**operation, "metadata": metadata, "done": True, "response": _EMPTY}


async def test_an_empty_engine_is_deleted_without_force(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    answer = await _delete(client)
    operation = answer.json()
    assert operation == {
        "name": operation["name"],
        "metadata": {
            "@type": "type.googleapis.com/google.cloud.aiplatform.v1beta1"
            ".DeleteReasoningEngineOperationMetadata",
            "genericMetadata": {"createTime": NOW, "updateTime": NOW},
            **asked("engines.delete", operation, state="PENDING"),
        },
        "done": False,
    }
    await runner.run_pending()
    assert await _count(database, EngineRow) == 0
    done = (await client.get(f"{API}/{operation['name']}")).json()
    assert done == _done(operation)


@in_one_test(
    "options",
    [{"json": {}}, {"json": {"force": False}}, {"params": {"force": "false"}}, {}],
)
async def test_an_engine_with_memories_is_not_deleted_without_force(
    client: httpx.AsyncClient, options: dict[str, Any]
) -> None:
    memory = await create_memory(client, "I like tea.")
    answer = await _delete(client, **options)
    assert refusal(answer) == (400, "FAILED_PRECONDITION", Reason.ENGINE_NOT_EMPTY)
    assert (await client.get(f"{API}/{memory['name']}")).json() == memory


@pytest.mark.parametrize(
    "options",
    [
        {"json": {"force": True}},
        {"params": {"force": "true"}},
        {"params": {"force": "true"}, "json": {"force": False}},
    ],
)
async def test_force_is_read_from_the_body_and_from_the_query(
    client: httpx.AsyncClient, options: dict[str, Any]
) -> None:
    await create_memory(client, "I like tea.")
    assert (await _delete(client, **options)).status_code == 200
    assert refusal(await client.get(FIRST)) == NOT_FOUND


async def test_a_tombstone_does_not_hold_an_engine_back(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    memory = await create_memory(client, "I like tea.")
    await client.delete(f"{API}/{memory['name']}")
    assert (await _delete(client)).status_code == 200
    await runner.run_pending()
    assert [await _count(database, table) for table in _CHILDREN] == [0, 0, 0, 0]


async def test_an_expired_memory_does_not_hold_an_engine_back(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    await create_memory(client, "I like tea.", ttl="60s")
    clock.advance(timedelta(minutes=2))
    assert (await _delete(client)).status_code == 200


async def test_a_deleted_engine_is_gone_before_its_children_are(
    client: httpx.AsyncClient, database: Database
) -> None:
    memory = await create_memory(client, "I like tea.")
    await _delete(client, params={"force": "true"})
    path = f"{API}/{memory['name']}"
    assert await _count(database, MemoryRow) == 1
    assert await names(client) == []
    for answer in (
        await client.get(FIRST),
        await client.patch(FIRST, json={"displayName": "x"}),
        await client.get(path),
        await client.get(f"{path}/revisions"),
        await client.patch(path, json={"fact": "x"}),
        await client.delete(path),
        await client.get(f"{FIRST}/memories"),
        await client.post(f"{FIRST}/memories", json={"fact": "x", "scope": {"k": "v"}}),
        await client.post(f"{FIRST}/memories:retrieve", json={"scope": {"k": "v"}}),
        await client.post(f"{FIRST}/memories:purge", json={"filter": "fact:x"}),
        await _delete(client),
    ):
        assert refusal(answer) == NOT_FOUND


async def test_children_are_removed_in_batches_of_one_transaction_each(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    for number in range(5):
        await create_memory(client, f"I like number {number}.", revisionLabels={"k": "v"})
    operation = (await _delete(client, json={"force": True})).json()
    sizes: list[int] = []
    pending: list[int] = []

    def count(_connection: object, cursor: Any, statement: str, *_rest: object) -> None:
        if statement.startswith("DELETE FROM memories"):
            pending.append(cursor.rowcount)

    def committed(_connection: object) -> None:
        sizes.extend([sum(pending)] if pending else [])
        pending.clear()

    engine = database.engine.sync_engine
    event.listen(engine, "after_cursor_execute", count)
    event.listen(engine, "commit", committed)
    try:
        await runner.run_pending()
    finally:
        event.remove(engine, "after_cursor_execute", count)
        event.remove(engine, "commit", committed)
    assert sizes == [2, 2, 1]
    assert [await _count(database, table) for table in _CHILDREN] == [0, 0, 0, 0]
    assert (await client.get(f"{API}/{operation['name']}")).json()["response"] == _EMPTY


async def test_another_worker_goes_on_where_a_killed_one_was(
    client: httpx.AsyncClient, runner: Runner, database: Database, clock: FixedClock
) -> None:
    made = [await create_memory(client, f"I like number {number}.") for number in range(5)]
    operation = (await _delete(client, json={"force": True})).json()
    claimed = await claim(database, clock, timedelta(0))
    assert claimed is not None
    async with database.transaction() as session:
        ids = [memory["name"].rpartition("/")[2] for memory in made[:_BATCH]]
        await ledger.erase(session, claimed.owned.engine_id, ids)
    await overwrite(database, claimed.owned.operation_id, lease_until=clock.now())
    assert not (await client.get(f"{API}/{operation['name']}")).json()["done"]
    await runner.run_pending()
    assert (await client.get(f"{API}/{operation['name']}")).json()["response"] == _EMPTY
    assert await _count(database, MemoryRow) == 0
    assert await _count(database, EngineRow) == 0


async def test_other_engines_keep_their_memories(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    other = await create_engine(client)
    await client.post(
        f"{API}/{other['name']}/memories", json={"fact": "I stay.", "scope": {"k": "v"}}
    )
    await create_memory(client, "I like tea.")
    await _delete(client, json={"force": True})
    await runner.run_pending()
    kept = (await client.get(f"{API}/{other['name']}/memories")).json()["memories"]
    assert [memory["fact"] for memory in kept] == ["I stay."]
    assert await _count(database, MemoryRow) == 1


async def test_a_deletion_is_done_once_per_request_id(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock
) -> None:
    first = (await _delete(client, params={"requestId": "r"})).json()
    assert (await _delete(client, params={"requestId": "r"})).json() == first
    await runner.run_pending()
    again = (await _delete(client, params={"requestId": "r"})).json()
    assert again == _done(first)
    # The engine is gone, so the answer stays until a sweep removes it.
    clock.advance(timedelta(hours=25))
    assert (await _delete(client, params={"requestId": "r"})).json() == again


async def test_what_is_no_truth_value_is_refused(client: httpx.AsyncClient) -> None:
    wrong: dict[str, Any] = {"force": "maybe"}
    for answer in (await _delete(client, params=wrong), await _delete(client, json=wrong)):
        assert refusal(answer) == BAD_FIELD
        assert list(violations(answer)) == ["force"]
    answer = await _delete(client, json={"forced": True})
    assert list(violations(answer)) == ["forced"]


async def test_an_engine_that_is_not_there_cannot_be_deleted(client: httpx.AsyncClient) -> None:
    assert refusal(await _delete(client, f"{COLLECTION}/2")) == NOT_FOUND
    elsewhere = f"{API}/projects/other/locations/local/reasoningEngines/1"
    assert refusal(await _delete(client, elsewhere)) == NOT_FOUND


async def test_a_deletion_takes_the_etag_that_was_read(client: httpx.AsyncClient) -> None:
    await client.patch(FIRST, json={"displayName": "x"})
    stale = await _delete(client, headers={"If-Match": "1"})
    assert refusal(stale) == (409, "ABORTED", Reason.ETAG_STALE)
    assert (await client.get(FIRST)).status_code == 200
    assert (await _delete(client, headers={"If-Match": '"2"'})).status_code == 200
    assert refusal(await client.get(FIRST)) == NOT_FOUND
