"""The overview of an engine: what each key sees of it, and what it leaves out."""

import re
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from sqlalchemy import update

from app.adapters.db.session import Database
from app.adapters.llm.ports import Usage
from app.kernel.clock import FixedClock
from app.memory.ingestion.store.tables import StreamRow
from app.memory.memories.store.tables import UnembeddedRow
from app.platform.engines.store import repository as engines
from app.settings.settings import Settings
from tests.api.console.conftest import SignedIn
from tests.support.bank import id_of, ok
from tests.support.console import page
from tests.support.ingestion import TEA, ingest
from tests.support.operations import create_memories, create_memory, path_of
from tests.support.queue import enqueue, overwrite
from tests.support.usage import MINI, record

OVERVIEW = "/console/e/1"
_FAILURE = {"code": 14, "message": "<script>The model</script> went away. 7-CANARY"}


@pytest.fixture
def settings(data_dir: Path) -> Settings:
    return Settings(data_dir=data_dir, daily_max_tokens=50_000)


@pytest.fixture
async def busy(
    client: httpx.AsyncClient, database: Database, clock: FixedClock, settings: Settings
) -> str:
    """An engine with usage, deleted memories, and failed and waiting operations; a failed one."""
    await record(database, settings, clock.now(), mini=Usage(1, 2_000, 200, 500))
    deleted = await create_memory(client, "I like tea.")
    ok(await client.delete(path_of(deleted["name"])))
    failed = await enqueue(database, clock, key="failed", kind="generation.generate")
    await overwrite(database, failed, state="FAILED", error=_FAILURE)
    await enqueue(database, clock, key="waiting", kind="engines.reembed")
    async with database.transaction() as session:
        await engines.set_models(session, 1, {"embedding_target": "<b>new</b> model"})
        session.add(UnembeddedRow(engine_id=1, memory_id=id_of(deleted)))
    for scope in ({"user_id": "42"}, {"user_id": "7-CANARY"}):
        await ingest(client, TEA, scope=scope)
    rests = {"failure_count": 1, "retry_time": clock.now() + timedelta(minutes=15)}
    async with database.transaction() as session:
        await session.execute(update(StreamRow).values(rests))
    return failed


async def test_an_administrator_sees_everything_at_a_glance(busy: str, signed_in: SignedIn) -> None:
    admin = await signed_in("admin")
    assert "<script>The" not in (await admin.get(OVERVIEW)).text
    shown = await page(admin, OVERVIEW)
    for told in (
        "0 of 10 M",
        "2,200 of 50 k",
        MINI,
        "<script>The model</script> went away.",
        "1 can still be brought back",
        "embedded anew, by <b>new</b> model",
        "Memories without vectors: 1.",
        "7-CANARY rests until in 15 min",
        "No worker runs",
    ):
        assert told in shown.text, told
    below = (
        "streams?state=failing",
        "operations?state=FAILED",
        "operations?done=false",
        f"operations/{busy}",
        "deleted",
        "usage",
    )
    assert {f"{OVERVIEW}/{one}" for one in below} <= set(shown.links)
    assert "Nothing failed" not in shown.text
    assert shown.text.count("curl -H") == 8


async def test_what_a_key_may_not_see_is_left_out(busy: str, signed_in: SignedIn) -> None:
    viewer = await page(await signed_in("viewer"), OVERVIEW)
    assert MINI in viewer.text
    assert "No worker runs" not in viewer.text
    bound = await page(await signed_in("admin", scope_conditions={"user_id": ["42"]}), OVERVIEW)
    assert "user_id=42" in bound.text
    assert "1 can still be brought back" in bound.text
    assert "user_id=42 rests until" in bound.text
    for hidden in (MINI, "10 M", "CANARY", "No worker runs", busy):
        assert hidden not in bound.text, hidden
    narrow = await signed_in(permissions=["engines.get", "memories.list"])
    shown = await page(narrow, OVERVIEW)
    assert "brought back" not in shown.text
    assert shown.text.count("curl -H") == 1
    assert f"{OVERVIEW}/usage" not in shown.links


async def test_an_empty_engine_is_calm_and_another_is_not_there(signed_in: SignedIn) -> None:
    viewer = await signed_in("viewer")
    shown = await page(viewer, OVERVIEW)
    for told in ("Nothing failed", "No model was called", "0 can still"):
        assert told in shown.text
    assert "Not found" in (await page(viewer, "/console/e/77", 404)).text
    elsewhere = await signed_in("viewer", engines=["77"])
    assert "Not found" in (await page(elsewhere, OVERVIEW, 404)).text


async def test_more_deleted_memories_than_a_page_are_told_so(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    for memory in await create_memories(client, *(f"fact {at}" for at in range(51))):
        ok(await client.delete(path_of(memory["name"])))
    shown = await page(await signed_in("viewer"), OVERVIEW)
    assert "50 or more can still be brought back" in shown.text


async def test_the_counts_at_the_side_are_those_that_the_key_may_see(
    busy: str, signed_in: SignedIn, client: httpx.AsyncClient, clock: FixedClock
) -> None:
    del busy
    await create_memories(client, "one", "two")
    url = f"{OVERVIEW}/counts"
    admin = await signed_in("admin")
    assert f'hx-get="{url}"' in (await admin.get(OVERVIEW)).text
    answer = await admin.get(url)
    shown = re.sub(r"\s+", " ", answer.text)
    for name, count in (("memories", "2"), ("sessions", "0"), ("operations", "1")):
        pattern = rf'id="count-{name}" hx-swap-oob="true">(?:<span[^>]*>)?{count}<'
        assert re.search(pattern, shown), name
    assert "failed within 24 hours" in shown
    blind = await signed_in(permissions=["memories.list", "engines.get"])
    assert "count-" not in (await blind.get(url)).text
    clock.advance(timedelta(days=2))
    later = await signed_in("admin")
    assert "count-operations" not in (await later.get(url)).text
