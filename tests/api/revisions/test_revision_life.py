"""How long revisions live: wire specification, section 6.1."""

from datetime import timedelta
from typing import Any

import httpx
import pytest

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.memory.memories.store.tables import MemoryRow, RevisionLabelRow, RevisionRow
from app.platform.operations.services.runner import Runner
from app.platform.upkeep.service import UpkeepService
from tests.support.bank import (
    GONE,
    after,
    configure,
    count,
    history,
    id_of,
    ok,
    refusal,
    roll_back,
)
from tests.support.operations import USER, create_memory, path_of

MOMENT = "2026-02-01T00:00:00Z"


@pytest.mark.parametrize(
    ("bank", "given", "life"),
    [
        ({}, {}, timedelta(days=365)),
        ({"memoryRevisionDefaultTtl": "600s"}, {}, timedelta(minutes=10)),
        ({"revision_ttl": "600s"}, {}, timedelta(minutes=10)),
        ({"memoryRevisionDefaultTtl": "600s"}, {"revisionTtl": "60s"}, timedelta(minutes=1)),
        ({"memoryRevisionDefaultTtl": "600s"}, {"revisionExpireTime": MOMENT}, None),
    ],
)
async def test_request_then_bank_then_365_days(
    client: httpx.AsyncClient,
    clock: FixedClock,
    runner: Runner,
    bank: dict[str, Any],
    given: dict[str, Any],
    life: timedelta | None,
) -> None:
    await configure(client, ttlConfig=bank)
    expected = MOMENT if life is None else after(clock, seconds=life.total_seconds())
    path = path_of((await create_memory(client, "x", **given))["name"])
    ok(await client.patch(path, json={"fact": "y", **given}))
    facts = {"directMemories": [{"fact": "I like tea."}]}
    body = {"scope": USER, "directMemoriesSource": facts, **given}
    ok(await client.post("/memories:generate", json=body))
    await runner.run_pending()
    lives = [one["expireTime"] for one in await history(client, "/memories/-")]
    assert lives == [expected] * 3


async def test_deletion_and_rollback_take_the_bank_s_life(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    await configure(client, ttlConfig={"memoryRevisionDefaultTtl": "600s"})
    path = path_of((await create_memory(client, "x"))["name"])
    clock.advance(timedelta(seconds=100))
    ok(await client.delete(path))
    ok(await roll_back(client, path, id_of((await history(client, path))[-1])))
    newest, deleted, _ = await history(client, path)
    assert newest["expireTime"] == deleted["expireTime"] == after(clock, seconds=600)


async def test_an_expired_revision_is_hidden_at_once(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    labels = {"revisionLabels": {"a": "1"}}
    path = path_of((await create_memory(client, "x", revisionTtl="60s", **labels))["name"])
    ok(await client.patch(path, json={"fact": "y", **labels}))
    newest, oldest = await history(client, path)
    clock.advance(timedelta(seconds=59))
    assert ok(await client.get(path_of(oldest["name"]))) == oldest
    clock.advance(timedelta(seconds=1))
    assert refusal(await client.get(path_of(oldest["name"]))) == GONE
    assert refusal(await roll_back(client, path, id_of(oldest))) == GONE
    for found in (path, "/memories/-"):
        assert await history(client, found) == [newest]
        assert await history(client, found, filter='labels.a="1"') == [newest]
    assert ok(await client.get(path))["fact"] == "y"


async def test_the_sweep_removes_expired_revisions_with_their_labels(
    client: httpx.AsyncClient, clock: FixedClock, database: Database, resources: Resources
) -> None:
    labels = {"revisionLabels": {"a": "1", "b": "2"}}
    path = path_of((await create_memory(client, "x", revisionTtl="60s", **labels))["name"])
    ok(await client.patch(path, json={"fact": "y", **labels}))
    sweep = UpkeepService(resources).sweep
    tables = (MemoryRow, RevisionRow, RevisionLabelRow)
    clock.advance(timedelta(seconds=59))
    await sweep()
    assert await count(database, *tables) == (1, 2, 4)
    clock.advance(timedelta(seconds=1))
    await sweep()
    assert await count(database, *tables) == (1, 1, 2)


async def test_the_first_answer_of_an_old_change_needs_its_revision(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    # An operation keeps names; its text is read with the revision.
    body = {"fact": "x", "scope": USER, "revisionTtl": "60s"}
    operation = ok(await client.post("/memories", json=body))
    path = path_of(operation["response"]["name"])
    ok(await client.patch(path, json={"fact": "y"}))
    found = path_of(operation["name"])
    assert ok(await client.get(found)) == operation
    clock.advance(timedelta(seconds=60))
    response = ok(await client.get(found))["response"]
    assert response == {key: operation["response"][key] for key in ("@type", "name", "etag")}
