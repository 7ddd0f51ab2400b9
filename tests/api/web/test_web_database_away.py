"""The database goes, and comes back: 503 meanwhile, and no restart afterwards."""

import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.adapters.db import migrate
from app.adapters.db.engine import open_engine
from app.adapters.db.session import Database
from app.adapters.postgres.embedded import EmbeddedPostgres
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason
from app.platform.access.services.access import AccessService, KeyService
from app.platform.engines.services.engines import EngineService
from app.platform.operations.services.runner import Runner
from app.process.main import create_app
from app.process.worker import make_runner
from app.settings.settings import Settings
from tests.conftest import ADMIN_KEY
from tests.support.console import MEMORIES, browser, sign_in
from tests.support.engines import API, COLLECTION, FIRST
from tests.support.errors import refusal
from tests.support.keys import client_with, id_of, make_key
from tests.support.operations import USER
from tests.support.scripted_models import ScriptedEmbedder

_METRICS = "http://test/metrics"
_AWAY = (503, "UNAVAILABLE", Reason.DATABASE_UNAVAILABLE)
_MEMORY = {"fact": "I like tea.", "scope": USER}
_SOURCE = {"scope": USER, "directMemoriesSource": {"directMemories": [{"fact": "I like milk."}]}}
_UP = "memory_bank_database_up"
_DUE = "memory_bank_operations_due"
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
    app = create_app(service)
    async with (
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app=app),
            headers={"Authorization": f"Bearer {ADMIN_KEY}"},
        ) as client,
        browser(app) as person,
    ):
        await sign_in(person, ADMIN_KEY)
        created = (await client.post(f"{FIRST}/memories", json=_MEMORY)).json()["response"]
        queued = (await client.post(f"{FIRST}/memories:generate", json=_SOURCE)).json()
        postgres.stop()
        for method, url, body in _REQUESTS:
            answer = await client.request(method, url, json=body)
            assert refusal(answer) == _AWAY, (method, url)
            assert answer.headers["retry-after"] == "1"
        shown = await person.get(MEMORIES)
        assert (shown.status_code, shown.headers["x-request-id"] in shown.text) == (503, True)
        ready = await client.get("http://test/readyz")
        assert refusal(ready) == (503, "UNAVAILABLE", Reason.NOT_READY)
        assert (await client.get("http://test/healthz")).status_code == 200
        with EmbeddedPostgres(own_settings) as again:
            assert again.url == postgres.url
            assert (await client.get("http://test/readyz")).status_code == 200
            url = f"{API}/{created.pop('name')}"
            found = (await client.get(url)).json()
            assert found["fact"] == created["fact"]
            assert created["fact"] in (await person.get(MEMORIES)).text
            assert (await client.post(f"{FIRST}/memories", json=_MEMORY)).status_code == 200
            await runner.run_pending()
            done = (await client.get(f"{API}/{queued['name']}")).json()
            assert done["response"]["generatedMemories"]


def _gauge(answer: httpx.Response, name: str) -> float:
    assert answer.status_code == 200, answer.text
    (line,) = [line for line in answer.text.splitlines() if line.startswith(f"{name} ")]
    return float(line.rpartition(" ")[2])


async def test_metrics_are_read_while_the_database_is_away_by_who_has_read_them_lately(
    service: Resources, postgres: EmbeddedPostgres, own_settings: Settings, clock: FixedClock
) -> None:
    """Health and metrics need no database."""
    app = create_app(service)
    other = await make_key(service.db, clock.now(), permissions=["metrics.get"])
    async with client_with(app, ADMIN_KEY) as client, client_with(app, other) as stranger:
        assert (await client.post(f"{FIRST}/memories:generate", json=_SOURCE)).status_code == 200
        before = await client.get(_METRICS)
        assert _gauge(before, _UP) == 1
        assert _gauge(before, _DUE) == 1
        postgres.stop()
        clock.advance(timedelta(minutes=14))
        away = await client.get(_METRICS)
        assert _gauge(away, _UP) == 0
        assert _gauge(away, _DUE) == 1
        assert 'memory_bank_database_errors_total{sqlstate="08000"}' in away.text
        assert refusal(await stranger.get(_METRICS)) == _AWAY
        assert refusal(await client.get(FIRST)) == _AWAY
        clock.advance(timedelta(minutes=2))
        assert refusal(await client.get(_METRICS)) == _AWAY
        with EmbeddedPostgres(own_settings):
            assert _gauge(await client.get(_METRICS), _UP) == 1


async def _revoke_here(client: httpx.AsyncClient, service: Resources, key: str) -> None:
    del service
    assert (await client.post(f"{API}/keys/{id_of(key)}:revoke")).status_code == 200


async def _rotate_here(client: httpx.AsyncClient, service: Resources, key: str) -> None:
    del service
    body = {"gracePeriod": "0s"}
    assert (await client.post(f"{API}/keys/{id_of(key)}:rotate", json=body)).status_code == 200


async def _revoke_elsewhere(client: httpx.AsyncClient, service: Resources, key: str) -> None:
    """Revoke it in another process; this one sees, when it is asked next, that a key has ended."""
    await KeyService(service.db, service.clock, service.settings).revoke(id_of(key))
    assert (await client.get(FIRST)).status_code == 200


@pytest.mark.parametrize("end", [_revoke_here, _rotate_here, _revoke_elsewhere])
async def test_a_key_that_has_ended_reads_no_metrics_while_the_database_is_away(
    service: Resources, postgres: EmbeddedPostgres, clock: FixedClock, end: Callable[..., Any]
) -> None:
    app = create_app(service)
    key = await make_key(service.db, clock.now(), permissions=["metrics.get"])
    async with client_with(app, ADMIN_KEY) as client, client_with(app, key) as reader:
        assert (await reader.get(_METRICS)).status_code == 200
        clock.advance(timedelta(seconds=2))
        await end(client, service, key)
        postgres.stop()
        clock.advance(timedelta(seconds=2))
        assert refusal(await reader.get(_METRICS)) == _AWAY
