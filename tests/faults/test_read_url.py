"""A primary that goes away and comes back, with a standby as read URL.

Reads go on from the standby and say how old they are; writes wait; nothing stays that the primary
does not confirm.
"""

import asyncio
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from app.adapters.db.migrate import SchemaError
from app.adapters.db.schema import wanted_revision
from app.adapters.postgres.embedded import EmbeddedPostgres
from app.adapters.resources import Resources
from app.kernel.errors import Reason, Unavailable
from app.process.main import create_app
from app.process.start import open_process
from app.settings.settings import Settings
from tests.conftest import ADMIN_KEY
from tests.support.bank import ok
from tests.support.console import MEMORIES, browser, page, sign_in
from tests.support.errors import refusal
from tests.support.keys import client_with, id_of, make_key
from tests.support.operations import USER
from tests.support.scripted import written_by
from tests.support.standbys import Pair, replicated
from tests.support.summaries import BY_THREE, Summariser, context, session_with, talk

_AGE = "x-memory-bank-read-age-ms"
_AWAY = (503, "UNAVAILABLE", Reason.DATABASE_UNAVAILABLE)
_PATIENCE_SECONDS = 30
_READS = "memory_bank_standby_reads_total"
_DROPPED = "memory_bank_audit_events_dropped_total"


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with replicated() as servers:
        yield servers


@pytest.fixture(autouse=True)
def _both_running(request: pytest.FixtureRequest) -> Iterator[None]:
    """Start again what a test has stopped, before the next one."""
    yield
    if "pair" in request.fixturenames:
        servers: Pair = request.getfixturevalue("pair")
        for server in (servers.primary, servers.standby):
            server.stop()
            server.start()


@asynccontextmanager
async def _service(
    pair: Pair, tmp_path: Path, **changed: Any
) -> AsyncIterator[tuple[Resources, FastAPI, httpx.AsyncClient]]:
    settings = Settings(
        **{
            "data_dir": tmp_path,
            "database_url": pair.primary.url,
            "read_url": pair.standby.url,
            "admin_key": ADMIN_KEY,
            "embedder": "hash",
            **changed,
        }
    )
    async with open_process(settings) as process:
        app = create_app(process.resources)
        async with client_with(app, ADMIN_KEY) as client:
            yield process.resources, app, client


async def _write(client: httpx.AsyncClient, memory: str) -> httpx.Response:
    body = {"scope": USER, "fact": f"I like {memory}."}
    return await client.post("/memories", params={"memoryId": memory}, json=body)


async def _followed(pair: Pair) -> None:
    await asyncio.to_thread(pair.until_followed)


async def _until(succeeds: Callable[[], Awaitable[bool]]) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not await succeeds():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.1)


def _counted(name: str) -> float:
    return REGISTRY.get_sample_value(name) or 0.0


async def test_reads_go_on_while_the_primary_is_away(pair: Pair, tmp_path: Path) -> None:
    async with _service(pair, tmp_path, audit_reads=True) as (resources, app, client):
        operation = ok(await _write(client, "tea"))["name"]
        other_key = await make_key(resources.db, resources.clock.now(), "admin")
        assert _AGE not in (await client.get("/memories/tea")).headers
        await _followed(pair)
        await asyncio.to_thread(pair.primary.stop)
        stopped = time.monotonic()

        async with client_with(app, other_key) as other:
            await _all_reads_are_answered(other, operation, stopped)
        await _writes_are_put_off(client, operation)
        await _is_degraded(client)
        with pytest.raises(Unavailable):
            # Work without a request, as that of a worker or a heartbeat.
            async with resources.db.snapshot():
                pass

        await asyncio.to_thread(pair.primary.start)
        await _until(lambda: _has_written(client, "coffee"))
        listed = await client.get("/memories")
        assert _AGE not in listed.headers
        assert len(ok(listed)["memories"]) == 2
        ready = await client.get("http://test/readyz")
        assert (ready.json()["status"], _AGE in ready.headers) == ("ok", False)


async def _has_written(client: httpx.AsyncClient, memory: str) -> bool:
    return (await _write(client, memory)).status_code == 200


async def _all_reads_are_answered(
    client: httpx.AsyncClient, operation: str, stopped: float
) -> None:
    dropped, reads = _counted(_DROPPED), _counted(_READS)
    search = {"scope": USER, "similaritySearchParams": {"searchQuery": "tea"}}
    requests: list[tuple[str, str, object]] = [
        ("GET", "/memories/tea", None),
        ("GET", "/memories", None),
        ("POST", "/memories:retrieve", search),
        ("POST", "/memories:retrieve", {"scope": USER}),
        ("GET", "/memories/tea/revisions", None),
        ("GET", f"http://test/v1beta1/{operation}", None),
        ("GET", "http://test/v1/keys", None),
    ]
    for method, path, body in requests:
        least = time.monotonic() - stopped
        answer = await client.request(method, path, json=body)
        assert answer.status_code == 200, (path, answer.text)
        # Nothing was committed after the primary had been stopped.
        assert int(answer.headers[_AGE]) >= 1_000 * least, path
    assert ok(await client.post("/memories:retrieve", json=search))["retrievedMemories"]
    assert _counted(_DROPPED) - dropped == len(requests) + 1
    assert _counted(_READS) - reads >= len(requests)
    archive = await client.get(f"{str(client.base_url).rstrip('/')}:export")
    assert archive.status_code == 200
    assert _AGE in archive.headers


async def _writes_are_put_off(client: httpx.AsyncClient, operation: str) -> None:
    put_off = await _write(client, "milk")
    assert refusal(put_off) == _AWAY
    assert "Retry-After" in put_off.headers
    assert _AGE not in put_off.headers
    etag = {"If-Match": '"1"'}
    changed = await client.patch("/memories/tea", json={"fact": "I like milk."}, headers=etag)
    assert refusal(changed) == _AWAY
    waited = await client.post(f"http://test/v1beta1/{operation}:wait")
    assert refusal(waited) == _AWAY


async def _is_degraded(client: httpx.AsyncClient) -> None:
    ready = await client.get("http://test/readyz")
    assert ready.status_code == 200
    assert ready.json() == {
        "status": "degraded",
        "checks": {
            "database": "standby",
            "schema": "ok",
            "writes": "unavailable",
            "embedder": "ok",
        },
    }
    metrics = (await client.get("http://test/metrics")).text
    assert "memory_bank_database_up 0.0" in metrics
    assert "memory_bank_primary_away 1.0" in metrics
    server = await client.get("http://test/v1/server")
    assert ok(server)["database"]["isStandby"] is True


async def test_contexts_and_pages_need_no_write(pair: Pair, tmp_path: Path) -> None:
    async with _service(pair, tmp_path) as (resources, _app, _client):
        app = create_app(written_by(resources, Summariser()))
        async with client_with(app, ADMIN_KEY) as client, browser(app) as console:
            path = await session_with(client, **BY_THREE)
            await talk(client, path, 1, 2, 3, 4)
            await sign_in(console, ADMIN_KEY)
            await _followed(pair)
            await asyncio.to_thread(pair.primary.stop)
            composed = await context(client, path)
            assert (composed["summaryState"], bool(composed["messages"])) == ("pending", True)
            assert "Memories" in (await page(console, MEMORIES)).text


async def test_a_key_that_was_revoked_last_may_still_read(pair: Pair, tmp_path: Path) -> None:
    """The standby has not heard of it; the primary, once back, is asked again at once."""
    async with _service(pair, tmp_path) as (resources, app, client):
        key = await make_key(resources.db, resources.clock.now(), "admin")
        ok(await _write(client, "cocoa"))
        await _followed(pair)
        pair.standby.told(b"select pg_wal_replay_pause()")
        revoked = await client.post(f"http://test/v1/keys/{id_of(key)}:revoke")
        assert revoked.status_code == 200, revoked.text
        async with client_with(app, key) as holder:
            refused = await holder.get("/memories/cocoa")
            assert refused.status_code == 401
            await asyncio.to_thread(pair.primary.stop)
            await _until(lambda: _is_answered_by_standby(holder))
            assert refusal(await _write(holder, "gin")) == _AWAY
            await asyncio.to_thread(pair.primary.start)
            await _until(lambda: _has_written(client, "juice"))
            assert (await _write(holder, "gin")).status_code == 401


async def _is_answered_by_standby(client: httpx.AsyncClient) -> bool:
    answer = await client.get("/memories/cocoa")
    return answer.status_code == 200 and _AGE in answer.headers


@pytest.mark.skipif(sys.platform != "linux", reason="it finds processes in /proc")
async def test_a_silent_primary_counts_as_away(pair: Pair, tmp_path: Path) -> None:
    async with _service(pair, tmp_path) as (_, _app, client):
        ok(await _write(client, "water"))
        await _followed(pair)
        pair.primary.send_to_all(signal.SIGSTOP)
        try:
            await _until(lambda: _says_its_age(client))
            assert refusal(await _write(client, "beer")) == _AWAY
        finally:
            pair.primary.send_to_all(signal.SIGCONT)
        await _until(lambda: _has_written(client, "wine"))


async def _says_its_age(client: httpx.AsyncClient) -> bool:
    try:
        async with asyncio.timeout(1):
            return _AGE in (await client.get("http://test/readyz")).headers
    except TimeoutError:
        return False


async def test_a_standby_that_lags_behind_a_migration_is_not_read(
    pair: Pair, tmp_path: Path
) -> None:
    async with _service(pair, tmp_path) as (_, _app, client):
        ok(await _write(client, "mate"))
        pair.primary.told(b"update alembic_version set version_num = '20000101_0000'")
        await _followed(pair)
        await asyncio.to_thread(pair.primary.stop)
        assert refusal(await client.get("/memories/mate")) == _AWAY
        assert (await client.get("http://test/readyz")).status_code == 503
        await asyncio.to_thread(pair.primary.start)
        revision = wanted_revision().encode()
        pair.primary.told(b"update alembic_version set version_num = '%s'" % revision)


async def test_a_standby_that_is_away_at_the_start_is_found_later(
    pair: Pair, tmp_path: Path
) -> None:
    url = pair.standby.url
    await asyncio.to_thread(pair.standby.stop)
    with capture_logs() as logs:
        async with _service(pair, tmp_path, read_url=url) as (_, _app, client):
            assert "standby.unreachable" in [line["event"] for line in logs]
            ok(await _write(client, "rum"))
            await asyncio.to_thread(pair.standby.start)
            await _followed(pair)
            await asyncio.to_thread(pair.primary.stop)
            assert ok(await client.get("/memories/rum"))["fact"] == "I like rum."


@pytest.fixture
def foreign() -> Iterator[str]:
    """The address of a database of another cluster."""
    folder = Path(tempfile.mkdtemp(prefix="omb-"))
    folder.chmod(0o755)
    with EmbeddedPostgres(Settings(data_dir=folder)) as postgres:
        yield postgres.url
    shutil.rmtree(folder, ignore_errors=True)


async def test_what_is_no_standby_is_refused_at_the_start(
    pair: Pair, foreign: str, tmp_path: Path
) -> None:
    message = re.escape("must name a streaming standby")
    with pytest.raises(SchemaError, match=message):
        async with _service(pair, tmp_path, read_url=foreign):
            pass
    another = re.sub(r"dbname=\w+", "dbname=postgres", pair.any_url)
    with pytest.raises(SchemaError, match=message):
        async with _service(pair, tmp_path, read_url=another):
            pass
    with pytest.raises(SchemaError, match="MEMORY_BANK_READ_URL is not a Postgres address"):
        async with _service(pair, tmp_path, read_url="mysql://x"):
            pass
    with pytest.raises(SchemaError, match="must be absent with a distributed database"):
        async with _service(pair, tmp_path, treats_database_as_distributed=True):
            pass


async def test_a_promoted_standby_takes_the_writes(tmp_path: Path) -> None:
    """Both addresses in both settings: nothing has to be changed after the failover."""
    with replicated() as pair:
        urls = {"database_url": pair.url, "read_url": pair.any_url}
        async with _service(pair, tmp_path, **urls) as (_, _app, client):
            ok(await _write(client, "tea"))
            await _followed(pair)
            await asyncio.to_thread(pair.primary.stop)
            read = await client.get("/memories/tea")
            assert (read.status_code, _AGE in read.headers) == (200, True)
            assert refusal(await _write(client, "milk")) == _AWAY
            pair.standby.told(b"select pg_promote()")
            await _until(lambda: _has_written(client, "coffee"))
            listed = await client.get("/memories")
            assert _AGE not in listed.headers
            facts = sorted(memory["fact"] for memory in ok(listed)["memories"])
            assert facts == ["I like coffee.", "I like tea."]
