"""The database goes, and comes back: 503 meanwhile, and no restart afterwards."""

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest

from app.access.service import AccessService
from app.core.clock import FixedClock
from app.core.errors import Reason
from app.db import migrate
from app.db.engine import open_engine
from app.db.session import Database
from app.engines.service import EngineService
from app.llm.scripted import ScriptedEmbedder
from app.main import create_app
from app.operations.runner import Runner
from app.postgres.embedded import EmbeddedPostgres
from app.resources import Resources
from app.settings import Settings
from app.worker import make_runner
from tests.conftest import ADMIN_KEY
from tests.support.engines import API, COLLECTION, FIRST
from tests.support.errors import refusal
from tests.support.operations import USER

_AWAY = (503, "UNAVAILABLE", Reason.DATABASE_UNAVAILABLE)
_MEMORY = {"fact": "I like tea.", "scope": USER}
_REQUESTS = [
    ("GET", FIRST, None),
    ("POST", COLLECTION, {}),
    ("POST", f"{FIRST}/memories", _MEMORY),
    ("GET", f"{FIRST}/memories", None),
    ("PATCH", f"{FIRST}/memories/m", {"fact": "x"}),
    ("DELETE", f"{FIRST}/memories/m", None),
    ("GET", f"{FIRST}/memories/m/revisions", None),
    ("POST", f"{FIRST}/memories/m:rollback", {"targetRevisionId": "1"}),
    ("POST", f"{FIRST}/memories:retrieve", {"scope": USER}),
    ("POST", f"{FIRST}/memories:purge", {"filter": "fact:x"}),
    ("GET", f"{FIRST}/operations", None),
    ("POST", f"{FIRST}/operations/1:wait", None),
]


@pytest.fixture
def own_settings() -> Iterator[Settings]:
    """Settings with a data folder that no other test uses."""
    folder = Path(tempfile.mkdtemp(prefix="omb-"))
    folder.chmod(0o755)
    yield Settings(data_dir=folder, database_connect_timeout_seconds=2)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres(own_settings: Settings) -> Iterator[EmbeddedPostgres]:
    """A server that the test may stop."""
    with EmbeddedPostgres(own_settings) as server:
        migrate.upgrade(server.url)
        yield server


@pytest.fixture
async def service(
    own_settings: Settings,
    postgres: EmbeddedPostgres,
    clock: FixedClock,
    embedder: ScriptedEmbedder,
) -> AsyncIterator[Resources]:
    database = Database(open_engine(postgres.url, own_settings))
    found = Resources(own_settings, clock, database, postgres.url, embedder)
    await AccessService(database, clock).ensure_first_key(ADMIN_KEY)
    await EngineService.of(found).ensure_first()
    yield found
    await database.close()


async def test_requests_fail_while_the_database_is_away_and_work_when_it_is_back(
    service: Resources, postgres: EmbeddedPostgres, own_settings: Settings
) -> None:
    runner: Runner = make_runner(service)
    source = {"scope": USER, "directMemoriesSource": {"directMemories": [{"fact": "I like milk."}]}}
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app=create_app(service)),
        headers={"Authorization": f"Bearer {ADMIN_KEY}"},
    ) as client:
        created = (await client.post(f"{FIRST}/memories", json=_MEMORY)).json()["response"]
        queued = (await client.post(f"{FIRST}/memories:generate", json=source)).json()
        postgres.stop()
        for method, url, body in _REQUESTS:
            answer = await client.request(method, url, json=body)
            assert refusal(answer) == _AWAY, (method, url)
            assert answer.headers["retry-after"] == "1"
        ready = await client.get("http://test/readyz")
        assert refusal(ready) == (503, "UNAVAILABLE", Reason.NOT_READY)
        assert (await client.get("http://test/healthz")).status_code == 200
        with EmbeddedPostgres(own_settings) as again:
            assert again.url == postgres.url
            assert (await client.get("http://test/readyz")).status_code == 200
            url = f"{API}/{created.pop('name')}"
            found = (await client.get(url)).json()
            assert found["fact"] == created["fact"]
            assert (await client.post(f"{FIRST}/memories", json=_MEMORY)).status_code == 200
            await runner.run_pending()
            done = (await client.get(f"{API}/{queued['name']}")).json()
            assert done["response"]["generatedMemories"]
