"""What is erased is gone with all that was made of it, whoever erases it and whenever."""

from datetime import timedelta

import httpx
import pytest
from sqlalchemy import text

from app.adapters.db.session import Database
from app.artifacts.tasks.store import erasure
from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from tests.support.bank import ENGINE_URL, Json, ok, refusal
from tests.support.tasks import (
    ARTIFACT,
    MEMORY,
    NAMESPACE,
    NOTHING,
    Sweep,
    store,
    stored,
    text_output,
    upload,
)
from tests.support.totals import held, recounted

OTHER = f"{MEMORY}/namespaces/derived"


async def _derive(client: httpx.AsyncClient, database: Database) -> None:
    """Store what is said to be made from the artifact `a`."""
    ok(await store(client, text_output("tea", name="a"), text_output("milk", name="b")))
    ok(await store(client, text_output("tea and milk", name="d"), path=OTHER))
    ok(await store(client, text_output("tea", name="d"), path=OTHER.replace("tools", "others")))
    async with database.transaction() as session:
        await session.execute(
            text(
                "update task_artifacts set depth = 1,"
                ' derived_from = \'[{"namespace": "n", "name": "a"}]\''
                " where namespace = 'derived'"
            )
        )


async def _shown(client: httpx.AsyncClient, path: str = OTHER) -> Json:
    return ok(await client.get(f"{path}/artifacts/d"))


@pytest.mark.parametrize("path", [ARTIFACT, NAMESPACE])
async def test_what_was_made_of_it_says_that_its_source_is_gone(
    client: httpx.AsyncClient, database: Database, path: str
) -> None:
    await _derive(client, database)
    ok(await client.delete(f"{NAMESPACE}/artifacts/b"))
    found = await _shown(client)
    assert found["derivedFrom"] == [{"namespace": "n", "name": "a"}]
    assert (found["depth"], "sourceDeleted" in found) == (1, False)
    assert ok(await client.get(OTHER))["reference"]["derivedFrom"] == found["derivedFrom"]
    ok(await client.delete(path))
    assert (await _shown(client))["sourceDeleted"] is True
    elsewhere = await _shown(client, OTHER.replace("tools", "others"))
    assert "sourceDeleted" not in elsewhere


async def test_so_it_does_when_that_has_expired(
    client: httpx.AsyncClient, database: Database, clock: FixedClock, sweep: Sweep
) -> None:
    await _derive(client, database)
    ok(await client.patch(NAMESPACE, json={"ttl": "1s"}))
    clock.advance(timedelta(seconds=62))
    await sweep()
    assert (await _shown(client))["sourceDeleted"] is True


async def test_an_engine_goes_with_its_artifacts(
    client: httpx.AsyncClient, database: Database, runner: Runner
) -> None:
    ok(await upload(client, bytes(2_000_000)))
    ok(await store(client, text_output("tea")))
    ok(await client.put(f"{MEMORY}/toolPolicies/web", json={"offPrompt": "auto"}))
    kept = await client.delete(ENGINE_URL)
    assert refusal(kept) == (400, "FAILED_PRECONDITION")
    assert kept.json()["error"]["details"][0]["reason"] == "ENGINE_NOT_EMPTY"
    ok(await client.delete(ENGINE_URL, params={"force": "true"}))
    await runner.run_pending()
    assert await stored(database) == NOTHING
    async with database.snapshot() as session:
        left = await session.execute(text("select count(*) from tool_policies"))
        assert left.scalar_one() == 0


async def test_a_sweep_frees_much_in_parts(
    client: httpx.AsyncClient,
    database: Database,
    clock: FixedClock,
    sweep: Sweep,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(erasure, "PAGES_AT_ONCE", 2)
    for name in ("a", "b", "c"):
        path = f"{NAMESPACE}/artifacts/{name}"
        ok(await upload(client, bytes(800_000), path, params={"ttl": "1s"}))
    ok(await upload(client, bytes(800_000), f"{NAMESPACE}/artifacts/d"))
    clock.advance(timedelta(seconds=62))
    await sweep()
    left = await stored(database)
    assert (left["task_artifacts"], left["task_pages"]) == (1, 4)
    assert ok(await client.get(MEMORY))["totalBytes"] == "800000"


async def test_what_an_engine_has_is_counted_exactly(
    client: httpx.AsyncClient, database: Database, clock: FixedClock, sweep: Sweep
) -> None:
    ok(await upload(client, bytes(1_000), params={"ttl": "1s"}))
    ok(await upload(client, bytes(10), f"{NAMESPACE}/artifacts/b"))
    ok(await upload(client, bytes(20), f"{NAMESPACE}/artifacts/b", headers={"If-Match": "*"}))
    ok(await store(client, text_output("tea")))
    assert (await held(database))[1]["artifact_bytes"] == 1_023
    assert await held(database) == await recounted(database)
    clock.advance(timedelta(seconds=62))
    await sweep()
    ok(await client.delete(f"{NAMESPACE}/artifacts/b"))
    assert (await held(database))[1]["artifact_bytes"] == 3
    assert await held(database) == await recounted(database)
