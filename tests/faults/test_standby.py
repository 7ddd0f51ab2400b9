"""A server that takes no writes, as during a failover: what can be read is read, the rest waits."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from sqlalchemy import text

from app.adapters.db import migrate
from app.adapters.db.engine import open_engine
from app.adapters.db.session import Database
from app.adapters.postgres.embedded import EmbeddedPostgres
from app.adapters.resources import Resources
from app.kernel.clock import SystemClock
from app.kernel.errors import Unavailable
from app.platform.access.services.access import AccessService
from app.platform.engines.services.engines import EngineService
from app.process.main import create_app
from app.settings.settings import Settings
from tests.conftest import ADMIN_KEY
from tests.support.bank import ok
from tests.support.keys import client_with
from tests.support.operations import USER
from tests.support.scripted_models import ScriptedEmbedder


@pytest.fixture
def standby_settings() -> Iterator[Settings]:
    # Short, since a Unix socket's path may have about 100 characters.
    folder = Path(tempfile.mkdtemp(prefix="omb-"))
    folder.chmod(0o755)
    yield Settings(data_dir=folder, admin_key=ADMIN_KEY)
    shutil.rmtree(folder, ignore_errors=True)


async def _prepare(url: str, settings: Settings) -> None:
    database = Database(open_engine(url, settings))
    resources = Resources(settings, SystemClock(), database, url, ScriptedEmbedder())
    await AccessService(database, resources.clock).ensure_first_key(ADMIN_KEY)
    await EngineService.of(resources).ensure_first()
    async with client_with(create_app(resources), ADMIN_KEY) as client:
        body = {"scope": USER, "fact": "I like tea."}
        ok(await client.post("/memories", params={"memoryId": "tea"}, json=body))
    await database.close()


def _make_standby(settings: Settings) -> None:
    cluster = settings.data_dir / "postgres" / "cluster"
    signal = cluster / "standby.signal"
    signal.touch()
    owner = cluster.stat()
    shutil.chown(signal, owner.st_uid, owner.st_gid)


async def test_a_standby_serves_reads_and_puts_off_writes(standby_settings: Settings) -> None:
    with EmbeddedPostgres(standby_settings) as postgres:
        migrate.upgrade(postgres.url)
        await _prepare(postgres.url, standby_settings)
    _make_standby(standby_settings)
    with EmbeddedPostgres(standby_settings) as postgres:
        database = Database(open_engine(postgres.url, standby_settings))
        resources = Resources(
            standby_settings, SystemClock(), database, postgres.url, ScriptedEmbedder()
        )
        async with client_with(create_app(resources), ADMIN_KEY) as client:
            assert ok(await client.get("/memories/tea"))["fact"] == "I like tea."
            await _is_put_off(client)
            await _is_not_ready(client)
            await _is_refused_for_a_while(database)
            assert ok(await client.get("/memories/tea"))["fact"] == "I like tea."
        await database.close()


async def _is_put_off(client: httpx.AsyncClient) -> None:
    answer = await client.post("/memories", json={"scope": USER, "fact": "I like coffee."})
    assert answer.status_code == 503, answer.text
    assert answer.json()["error"]["details"][0]["reason"] == "DATABASE_UNAVAILABLE"
    assert "Retry-After" in answer.headers


async def _is_not_ready(client: httpx.AsyncClient) -> None:
    ready = await client.get("http://test/readyz")
    checks = ready.json()["error"]["details"][0]["metadata"]
    assert (checks["database"], checks["schema"]) == ("ok", "ok")
    assert checks["writes"] == "The database is read-only at the moment."


async def _is_refused_for_a_while(database: Database) -> None:
    """What a standby says it cannot do, it can do once it follows no other."""
    with pytest.raises(Unavailable):
        async with database.transaction() as session:
            await session.execute(text("set transaction isolation level serializable"))
