"""Processes whose clocks are wrong: nothing that can be recovered goes, and all else goes on."""

import asyncio
import re
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from time import monotonic

import httpx
import pytest
from structlog.testing import capture_logs

from app.adapters.db.clock import database_now
from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.artifacts.tasks.store.tables import ArtifactRow, NamespaceRow
from app.kernel.clock import Clock, SystemClock
from app.memory.ingestion.store.tables import StreamEventRow, StreamRow
from app.memory.memories.store.tables import MemoryRow, RevisionRow
from app.platform.access.services.access import AccessService
from app.platform.engines.services.engines import EngineService
from app.platform.operations.store.tables import RequestIdRow
from app.platform.sessions.store.tables import SessionEventRow, SessionRow
from app.platform.upkeep.service import UpkeepService
from app.process.features import register
from app.process.main import create_app
from app.process.serving import serving
from app.process.start import open_process
from app.settings.settings import Settings
from tests.conftest import ADMIN_KEY
from tests.support.bank import Json, count, ok
from tests.support.clocks import ShiftedClock
from tests.support.ingestion import IDLE, TEA, ingest
from tests.support.keys import client_with
from tests.support.live import free_port
from tests.support.operations import USER
from tests.support.scripted_models import ScriptedEmbedder
from tests.support.workers import own_database, worker

_DAYS = timedelta(days=3)
_SOON_SECONDS = 60
_RESTING_SECONDS = 2.0
"""As long as ten sweeps of a worker that does not rest."""
_SWEEPING: Json = {"sweep_interval_seconds": 0.2, "embedder": "hash"}
_TABLES = (
    MemoryRow,
    RevisionRow,
    SessionRow,
    SessionEventRow,
    NamespaceRow,
    ArtifactRow,
    StreamRow,
    StreamEventRow,
    RequestIdRow,
)
"""What is swept of which nothing may go, but for a memory that has expired."""


@pytest.fixture(scope="module")
def own_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a database that no other tests sweep."""
    with own_database(tmp_path_factory.mktemp("clocks")) as url:
        yield url


@pytest.fixture
def own_settings(own_url: str, tmp_path: Path) -> Settings:
    given: Json = {"database_url": own_url, "admin_key": ADMIN_KEY, "embedder": "hash", "port": 0}
    return Settings(data_dir=tmp_path, **given)


@asynccontextmanager
async def api(
    settings: Settings, clock: Clock | None = None
) -> AsyncIterator[tuple[httpx.AsyncClient, Database]]:
    """A client of a process with a clock of its own, or that of the machine; and its database."""
    async with (
        open_process(settings, clock) as process,
        serving(settings, process.resources) as (port, _),
        httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{port}/v1/reasoningEngines/1/",
            headers={"Authorization": f"Bearer {ADMIN_KEY}"},
        ) as client,
    ):
        yield client, process.resources.db


async def fill(client: httpx.AsyncClient) -> None:
    """Store what can be recovered, or has a day to live, of everything that is swept."""
    once, body = {"requestId": "a"}, {"scope": USER, "fact": TEA}
    ok(await client.post("memories", params=once, json={**body, "ttl": "86400s"}))
    deleted = ok(await client.post("memories", json=body))["response"]["name"]
    ok(await client.delete(f"memories/{deleted.rpartition('/')[2]}"))
    body = {"userId": "42", "ttl": "86400s"}
    name = ok(await client.post("sessions", json=body))["response"]["name"]
    said = {"input": "Tea?", "output": "Yes."}
    ok(await client.post(f"sessions/{name.rpartition('/')[2]}/exchanges", json=said))
    artifacts = [{"kind": "text", "text": TEA, "name": "a"}]
    stored = {"artifacts": artifacts, "userId": "42", "ttl": "86400s"}
    namespace = f"taskMemories/M/namespaces/{secrets.token_hex(4)}"
    ok(await client.post(f"{namespace}:store", json=stored))
    await ingest(client, TEA, **IDLE)


async def expire(client: httpx.AsyncClient) -> None:
    """Store a memory that nothing can read a moment later."""
    body = {"scope": {"user_id": "7"}, "fact": TEA, "ttl": "0.1s"}
    ok(await client.post("memories", json=body))


async def is_unready(port: int) -> bool:
    """Return True once a worker that has a port says there that its clock is wrong."""
    try:
        async with httpx.AsyncClient() as client:
            answer = await client.get(f"http://127.0.0.1:{port}/readyz")
    except httpx.ConnectError:
        return False
    told = answer.json()["error"]["details"][0]["metadata"].get("clock", "")
    return answer.status_code == 503 and bool(re.fullmatch(r"\d+ s (ahead of|behind) .*", told))


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    deadline = monotonic() + _SOON_SECONDS
    while not await holds():
        assert monotonic() < deadline
        await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    "ahead", [_DAYS, -_DAYS, timedelta(seconds=31)], ids=["+3 d", "-3 d", "+31 s"]
)
async def test_a_worker_whose_clock_is_wrong_leaves_the_sweeps_to_the_others(
    own_url: str, own_settings: Settings, tmp_path: Path, ahead: timedelta
) -> None:
    path, port = tmp_path / "log", free_port()
    command = ("tests.support.clocks", str(ahead.total_seconds()))
    async with api(own_settings) as (client, database):
        await fill(client)
        kept = await count(database, *_TABLES)

        async def is_skewed() -> bool:
            return b"clock.skewed" in path.read_bytes()

        async def is_swept() -> bool:
            return await count(database, *_TABLES) == kept

        with (
            path.open("wb") as log,
            worker(own_url, command=command, output=log, worker_port=port, **_SWEEPING) as wrong,
        ):
            await until(is_skewed)
            await until(partial(is_unready, port))
            await expire(client)
            await asyncio.sleep(_RESTING_SECONDS)
            memories, revisions, *others = await count(database, *_TABLES)
            assert (memories - 1, revisions - 1, *others) == kept
            with worker(own_url, **_SWEEPING):
                await until(is_swept)
                await asyncio.sleep(_RESTING_SECONDS)
                assert await is_swept()
            assert wrong.poll() is None


async def test_an_api_whose_clock_is_wrong_says_so_and_follows_the_database(
    own_settings: Settings,
) -> None:
    with capture_logs() as lines:
        async with api(own_settings, ShiftedClock(_DAYS)) as (client, database):
            ready = ok(await client.get(client.base_url.join("/readyz")))
            metrics = (await client.get(client.base_url.join("/metrics"))).text
            made = ok(await client.post("memories", json={"scope": USER, "fact": TEA}))
            async with database.snapshot() as session:
                now = await database_now(session)
    assert ready["checks"]["clock"] == "259200 s ahead of the database"
    (skew,) = re.findall(r"^memory_bank_clock_skew_seconds (\S+)$", metrics, re.MULTILINE)
    assert float(skew) == pytest.approx(_DAYS.total_seconds(), abs=1)
    created = datetime.fromisoformat(made["response"]["createTime"])
    assert abs(now - created) < timedelta(seconds=1)
    (line,) = [line for line in lines if line["event"] == "clock.skewed"]
    assert line["clock"] == "259200 s ahead of the database"


async def test_a_clock_that_is_a_little_wrong_is_ready(own_settings: Settings) -> None:
    async with api(own_settings, ShiftedClock(timedelta(seconds=29))) as (client, _):
        ready = ok(await client.get(client.base_url.join("/readyz")))
    assert ready["checks"]["clock"] == "ok"


@pytest.mark.parametrize("ahead", [_DAYS, -_DAYS], ids=["+3 d", "-3 d"])
async def test_a_sweep_goes_by_the_database_whatever_its_process_takes_for_the_time(
    database: Database,
    shared_database: Database,
    database_url: str,
    settings: Settings,
    embedder: ScriptedEmbedder,
    ahead: timedelta,
) -> None:
    """Also before the clock is measured, or when it is set wrong in between."""
    del database  # which is emptied afterwards
    clocks = SystemClock(), ShiftedClock(ahead)
    right, wrong = (
        register(Resources(settings, clock, shared_database, database_url, embedder))
        for clock in clocks
    )
    await AccessService(shared_database, right.clock).ensure_first_key(ADMIN_KEY)
    await EngineService.of(right).ensure_first()
    async with client_with(create_app(right), ADMIN_KEY) as client:
        await fill(client)
        kept = await count(shared_database, *_TABLES)
        await expire(client)
    await asyncio.sleep(0.2)
    await UpkeepService(wrong).sweep()
    assert await count(shared_database, *_TABLES) == kept
