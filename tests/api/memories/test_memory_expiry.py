"""Expiry: wire specification, section 5.6; issue, section 2, "hidden at once by its time"."""

from datetime import timedelta

import httpx

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.memory.memories.store.tables import (
    MemoryRow,
    MemoryVectorRow,
    RevisionLabelRow,
    RevisionRow,
)
from app.platform.upkeep.service import UpkeepService
from tests.support.bank import (
    GONE,
    count,
    history,
    id_of,
    listed,
    ok,
    refusal,
    retrieved,
    roll_back,
)
from tests.support.operations import create_memory, path_of

DERIVED = (MemoryRow, MemoryVectorRow, RevisionRow, RevisionLabelRow)
SEARCH = {"searchQuery": "x"}


async def _expiring(client: httpx.AsyncClient) -> str:
    """Create a memory that lives for a minute, with labels."""
    labels = {"revisionLabels": {"a": "1"}}
    return path_of((await create_memory(client, "x", ttl="60s", **labels))["name"])


async def test_a_memory_is_there_until_its_time(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    path = await _expiring(client)
    clock.advance(timedelta(seconds=59.999))
    assert ok(await client.get(path))["fact"] == "x"
    assert await listed(client) == await retrieved(client) == ["x"]
    assert await retrieved(client, similaritySearchParams=SEARCH) == ["x"]


async def test_an_expired_memory_is_hidden_from_every_method(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    path = await _expiring(client)
    (revision,) = await history(client, path)
    clock.advance(timedelta(seconds=60))
    assert refusal(await client.get(path)) == GONE
    assert await listed(client) == await retrieved(client) == []
    assert await retrieved(client, similaritySearchParams=SEARCH) == []
    assert refusal(await client.get(f"{path}/revisions")) == GONE
    assert refusal(await client.get(path_of(revision["name"]))) == GONE
    assert await history(client, "/memories/-") == []
    assert refusal(await client.patch(path, json={"ttl": "60s"})) == GONE
    assert refusal(await client.delete(path)) == GONE
    assert refusal(await client.delete(path, params={"permanent": True})) == GONE
    assert refusal(await roll_back(client, path, id_of(revision))) == GONE
    purge = await client.post("/memories:purge", json={"filter": 'fact="x"', "force": True})
    assert ok(purge)["response"]["purgeCount"] == 0


async def test_the_sweep_removes_every_row_of_an_expired_memory(
    client: httpx.AsyncClient, clock: FixedClock, database: Database, resources: Resources
) -> None:
    await _expiring(client)
    await create_memory(client, "stays")
    sweep = UpkeepService(resources).sweep
    clock.advance(timedelta(seconds=59))
    await sweep()
    assert await count(database, *DERIVED) == (2, 2, 2, 1)
    clock.advance(timedelta(seconds=1))
    await sweep()
    # No window after expiry.
    assert await count(database, *DERIVED) == (1, 1, 1, 0)
    assert await listed(client) == ["stays"]


async def test_an_update_moves_the_expiry_for_every_read(
    client: httpx.AsyncClient, clock: FixedClock, resources: Resources
) -> None:
    path = await _expiring(client)
    ok(await client.patch(path, json={"ttl": "7200s"}))
    clock.advance(timedelta(hours=1))
    await UpkeepService(resources).sweep()
    assert await listed(client) == await retrieved(client) == ["x"]
    assert await retrieved(client, similaritySearchParams=SEARCH) == ["x"]
    clock.advance(timedelta(hours=1))
    assert await retrieved(client, similaritySearchParams=SEARCH) == []


async def test_a_deleted_memory_keeps_its_window_past_its_expiry(
    client: httpx.AsyncClient, clock: FixedClock, resources: Resources
) -> None:
    path = await _expiring(client)
    ok(await client.delete(path))
    clock.advance(timedelta(hours=1))
    await UpkeepService(resources).sweep()
    revisions = await history(client, path)
    assert [one["action"] for one in revisions] == ["DELETED", "CREATED"]
    # Its time passed while it was deleted: what comes back must not be gone at once.
    ok(await roll_back(client, path, id_of(revisions[-1])))
    assert ok(await client.get(path))["fact"] == "x"


async def test_the_bank_s_ttl_expires_memories_alike(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    body = {"contextSpec": {"memoryBankConfig": {"ttlConfig": {"defaultTtl": "60s"}}}}
    ok(await client.patch("http://test/v1/reasoningEngines/1", json=body))
    await create_memory(client, "x")
    clock.advance(timedelta(seconds=60))
    assert await listed(client) == await retrieved(client) == []
