"""The recovery window and the sweep."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

import httpx
import pytest

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.memory.memories.store.tables import (
    MemoryRow,
    MemoryVectorRow,
    RevisionLabelRow,
    RevisionRow,
)
from app.platform.operations.services.runner import Runner
from app.platform.operations.store.tables import OperationRow, RequestIdRow
from app.platform.upkeep.service import UpkeepService
from app.settings.settings import Settings
from tests.support.bank import (
    GONE,
    configure,
    count,
    history,
    id_of,
    listed,
    ok,
    refusal,
    roll_back,
)
from tests.support.operations import create_memory, generate, path_of

DERIVED = (MemoryRow, MemoryVectorRow, RevisionRow, RevisionLabelRow)
FACT = "I like green tea."
Deletion = Callable[[httpx.AsyncClient, Runner, str], Awaitable[None]]


async def _by_method(client: httpx.AsyncClient, _: Runner, path: str) -> None:
    ok(await client.delete(path))


async def _by_generation(client: httpx.AsyncClient, runner: Runner, _: str) -> None:
    (deleted,) = await generate(client, runner, "Please forget that I like green tea.")
    assert deleted["action"] == "DELETED"


async def _by_purge(client: httpx.AsyncClient, _: Runner, __: str) -> None:
    body = {"filter": 'scope.user_id="42"', "force": True}
    assert ok(await client.post("/memories:purge", json=body))["response"]["purgeCount"] == 1


EVERY_PATH = pytest.mark.parametrize("delete", [_by_method, _by_generation, _by_purge])


@pytest.fixture
def settings(settings: Settings, request: pytest.FixtureRequest) -> Settings:
    """The settings, changed as a test's indirect parameter says."""
    return settings.model_copy(update=getattr(request, "param", {}))


@EVERY_PATH
async def test_what_is_deleted_can_be_recovered_for_48_hours(
    client: httpx.AsyncClient,
    clock: FixedClock,
    runner: Runner,
    resources: Resources,
    delete: Deletion,
) -> None:
    memory = await create_memory(client, FACT)
    path = path_of(memory["name"])
    await delete(client, runner, path)
    assert refusal(await client.get(path)) == GONE
    clock.advance(timedelta(hours=48) - timedelta(seconds=1))
    await UpkeepService(resources).sweep()
    newest, oldest = await history(client, path)
    assert (newest["action"], newest.get("fact")) == ("DELETED", "")
    assert ok(await client.get(path_of(oldest["name"])))["fact"] == FACT
    ok(await roll_back(client, path, id_of(oldest)))
    assert await listed(client) == [FACT]


@EVERY_PATH
async def test_after_the_window_everything_is_hidden_then_swept(
    client: httpx.AsyncClient,
    clock: FixedClock,
    runner: Runner,
    resources: Resources,
    delete: Deletion,
) -> None:
    labels = {"revisionLabels": {"a": "1"}}
    path = path_of((await create_memory(client, FACT, **labels))["name"])
    await create_memory(client, "I live in Oslo.", {"user_id": "7"})
    await delete(client, runner, path)
    *_, oldest = await history(client, path)
    clock.advance(timedelta(hours=48))
    assert refusal(await client.get(f"{path}/revisions")) == GONE
    assert refusal(await client.get(path_of(oldest["name"]))) == GONE
    assert refusal(await roll_back(client, path, id_of(oldest))) == GONE
    assert await count(resources.db, *DERIVED) == (2, 1, 3, 1)
    await UpkeepService(resources).sweep()
    assert await count(resources.db, *DERIVED) == (1, 1, 1, 0)


@pytest.mark.parametrize("settings", [{"recovery_window_seconds": 60.0}], indirect=True)
async def test_the_window_is_a_setting(
    client: httpx.AsyncClient, clock: FixedClock, resources: Resources
) -> None:
    path = path_of((await create_memory(client, FACT))["name"])
    ok(await client.delete(path))
    clock.advance(timedelta(seconds=59))
    assert len(await history(client, path)) == 2
    clock.advance(timedelta(seconds=1))
    assert refusal(await client.get(f"{path}/revisions")) == GONE
    await UpkeepService(resources).sweep()
    assert await count(resources.db, *DERIVED) == (0, 0, 0, 0)


@pytest.mark.parametrize("settings", [{"recovery_window_seconds": 0.0}], indirect=True)
async def test_a_window_of_nothing_is_none(client: httpx.AsyncClient) -> None:
    path = path_of((await create_memory(client, FACT))["name"])
    ok(await client.delete(path))
    assert refusal(await client.get(f"{path}/revisions")) == GONE


@pytest.mark.parametrize("settings", [{"revision_ttl_seconds": 60.0}], indirect=True)
async def test_the_life_of_revisions_is_a_setting(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    path = path_of((await create_memory(client, FACT))["name"])
    clock.advance(timedelta(seconds=60))
    assert await history(client, path) == []


@pytest.mark.parametrize("settings", [{"sweep_batch_rows": 2}], indirect=True)
async def test_a_sweep_removes_all_of_it_in_batches(
    client: httpx.AsyncClient, clock: FixedClock, resources: Resources
) -> None:
    for number in range(5):
        await create_memory(client, str(number), ttl="60s")
    for number in range(3):
        ok(await client.delete(path_of((await create_memory(client, str(number)))["name"])))
    await create_memory(client, "stays", revisionTtl="60s")
    clock.advance(timedelta(hours=48))
    await UpkeepService(resources).sweep()
    assert await count(resources.db, *DERIVED) == (1, 1, 0, 0)
    assert await listed(client) == ["stays"]


async def test_a_deletion_without_revisions_is_swept_as_well(
    client: httpx.AsyncClient, clock: FixedClock, resources: Resources
) -> None:
    await configure(client, disableMemoryRevisions=True)
    path = path_of((await create_memory(client, FACT))["name"])
    ok(await client.delete(path))
    clock.advance(timedelta(hours=48))
    await UpkeepService(resources).sweep()
    assert await count(resources.db, *DERIVED) == (0, 0, 0, 0)


async def test_a_second_deletion_opens_a_window_of_its_own(
    client: httpx.AsyncClient, clock: FixedClock, resources: Resources
) -> None:
    path = path_of((await create_memory(client, FACT))["name"])
    ok(await client.delete(path))
    clock.advance(timedelta(hours=47))
    ok(await roll_back(client, path, id_of((await history(client, path))[-1])))
    ok(await client.delete(path))
    clock.advance(timedelta(hours=47))
    await UpkeepService(resources).sweep()
    assert len(await history(client, path)) == 4


async def test_old_operations_and_request_ids_are_swept(
    client: httpx.AsyncClient, clock: FixedClock, database: Database, resources: Resources
) -> None:
    sweep = UpkeepService(resources).sweep
    body = {"fact": FACT, "scope": {"user_id": "42"}}
    ok(await client.post("/memories", json=body, params={"requestId": "r"}))
    clock.advance(timedelta(hours=24) - timedelta(seconds=1))
    await sweep()
    assert await count(database, OperationRow, RequestIdRow) == (1, 1)
    clock.advance(timedelta(seconds=1))
    await sweep()
    assert await count(database, OperationRow, RequestIdRow) == (1, 0)
    # Finished operations are kept for seven days.
    clock.advance(timedelta(days=6))
    await sweep()
    assert await count(database, OperationRow) == (0,)
    assert await listed(client) == [FACT]
