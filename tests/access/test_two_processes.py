"""The same through two processes on one database, asked in turn, with a worker beside them."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from app.adapters.db import migrate
from app.adapters.db.engine import open_engine
from app.adapters.db.session import Database
from app.adapters.postgres.embedded import EmbeddedPostgres
from app.kernel.clock import SystemClock
from app.kernel.errors import Reason
from app.settings.settings import Settings
from tests.access.canaries import Canaries, found_in
from tests.access.clients import Remote
from tests.access.hunt import Hunt, attackers
from tests.access.names import ENGINE, Names
from tests.access.routes import ROUTES, task_folders
from tests.access.rows import intruding, rows
from tests.access.service import TOKEN_KEY, Asked, Service
from tests.access.sweep import Sweep
from tests.access.victim import fill
from tests.support import live
from tests.support.errors import refusal
from tests.support.tokens import AUDIENCE, ISSUER, publish

_SOON_SECONDS = 30
_PAUSE_SECONDS = 0.02
_REVOKED_SECONDS = 1
_SLACK_SECONDS = 0.3
"""For what a busy machine adds to the last request."""
_RATE = 10
_BURST_SECONDS = 10
_BLOCK_SECONDS = 0.1
_GET_ENGINE = Asked("GET", Names(engine="1").path(ENGINE))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("replicas")
    for parent in (found, *found.parents[:2]):
        parent.chmod(0o755)
    return found


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    with EmbeddedPostgres(Settings(data_dir=folder)) as postgres:
        migrate.upgrade(postgres.url)
        yield postgres.url


@contextmanager
def _two(folder: Path, url: str, **environment: str) -> Iterator[list[live.LiveServer]]:
    """Start two processes at the same time, as a deployment does."""
    folder.mkdir(exist_ok=True)
    variables = {
        "MEMORY_BANK_DATABASE_URL": url,
        "MEMORY_BANK_EMBEDDER": "hash",
        "MEMORY_BANK_JWT_ISSUER": ISSUER,
        "MEMORY_BANK_JWT_AUDIENCE": AUDIENCE,
        "MEMORY_BANK_JWT_JWKS": str(publish(folder / "jwks.json", TOKEN_KEY)),
        **{
            f"MEMORY_BANK_{name.upper()}": json.dumps(places, default=str)
            for name, places in task_folders(folder).items()
        },
        **environment,
    }
    homes = [folder / f"api-{number}" for number in range(2)]
    for home in homes:
        home.mkdir()
    with ThreadPoolExecutor() as pool, ExitStack() as stack:
        starting = [pool.submit(live.start, home, None, **variables) for home in homes]
        servers = []
        for one in starting:
            servers.append(one.result())
            stack.callback(live.stop, servers[-1])
        yield servers


@contextmanager
def _clients(servers: Sequence[live.LiveServer]) -> Iterator[list[Remote]]:
    clients = [Remote(server.port) for server in servers]
    try:
        yield clients
    finally:
        for client in clients:
            client.close()


@contextmanager
def _worker(folder: Path, url: str) -> Iterator[None]:
    variables = {
        **os.environ,
        "MEMORY_BANK_DATABASE_URL": url,
        "MEMORY_BANK_EMBEDDER": "hash",
        # What a sweep changes would be taken for a stranger's doing.
        "MEMORY_BANK_TUNING": '{"sweep_interval_seconds": 86400}',
    }
    command = [sys.executable, "-m", "app.process.cli", "worker"]
    with (folder / "worker").open("wb") as errors:
        process = subprocess.Popen(command, env=variables, stderr=errors)
        try:
            yield
        finally:
            process.terminate()
            assert process.wait(timeout=30) == 0


@pytest.fixture(scope="module")
def servers(folder: Path, url: str) -> Iterator[list[live.LiveServer]]:
    with _two(folder, url) as found, _worker(folder, url):
        yield found


@pytest.fixture(scope="module")
async def service(folder: Path, url: str, servers: list[live.LiveServer]) -> AsyncIterator[Service]:
    database = Database(open_engine(url, Settings(data_dir=folder)))
    clock = SystemClock()

    async def settled() -> None:
        unfinished = text(
            "select count(*) from operations"
            " where state = 'RUNNING' or state = 'PENDING' and due_time <= now()"
        )
        deadline = time.monotonic() + _SOON_SECONDS
        while True:
            async with database.snapshot() as session:
                if (await session.execute(unfinished)).scalar_one() == 0:
                    return
            assert time.monotonic() < deadline
            await asyncio.sleep(_PAUSE_SECONDS)

    with _clients(servers) as clients:
        yield Service(clients, database, clock.now, settled, live.KEY)
    await database.close()


@pytest.fixture
def every(*, is_nightly: bool) -> int:
    """Which share of the routes is tried: all are by one process, in the other modules."""
    return 2 if is_nightly else 8


async def test_only_who_belongs_there_gets_in(service: Service, every: int) -> None:
    assert await Sweep(service, ROUTES[::every]).run() == []


async def test_no_canary_comes_out(service: Service, folder: Path, every: int) -> None:
    canaries = Canaries()
    victim = await fill(service, canaries)
    await service.settled()
    hunt = Hunt(service, canaries)
    before = await rows(service.database)
    near, *_, far = await attackers(service)
    for first, attacker in enumerate((near, far)):
        await hunt.attack(attacker, victim, ROUTES[first::every])
    assert hunt.findings == []
    after = await rows(service.database)
    assert intruding(before, after, int(victim.names.engine), victim.names.user) == []
    for _ in service.clients:
        metrics = await service.ask(Asked("GET", "/metrics"), service.admin)
        assert not found_in(metrics.text, canaries.all)
    for logged in _logs(folder):
        assert not found_in(logged, canaries.contents | canaries.names)


def _logs(folder: Path) -> list[str]:
    files = [*folder.glob("api-?/stderr"), folder / "worker"]
    found = [file.read_text() for file in files]
    assert len(found) == 3
    assert all("info" in one for one in found)
    return found


def _alone(service: Service, number: int) -> Service:
    """Return the service as one of its processes."""
    return replace(service, clients=[service.clients[number]])


async def _until_refused(service: Service, secret: str) -> float:
    """Return how long a key goes on working, in seconds."""
    began = time.monotonic()
    while (await service.ask(_GET_ENGINE, secret)).status_code == 200:
        assert time.monotonic() < began + _SOON_SECONDS
        await asyncio.sleep(_PAUSE_SECONDS)
    return time.monotonic() - began


@pytest.mark.alone
@pytest.mark.parametrize(("one", "other"), [(0, 1), (1, 0)])
async def test_what_one_process_does_to_a_key_the_other_knows_within_a_second(
    service: Service, one: int, other: int
) -> None:
    first, second = _alone(service, one), _alone(service, other)
    body = {"displayName": "short-lived", "roles": ["viewer"]}
    made = await first.done(Asked("POST", "/v1/keys", body=body))
    await second.done(_GET_ENGINE, made["secret"])
    rotated = await first.done(Asked("POST", f"/v1/{made['name']}:rotate"))
    assert await _until_refused(second, made["secret"]) < _REVOKED_SECONDS + _SLACK_SECONDS
    await second.done(_GET_ENGINE, rotated["secret"])
    await first.done(Asked("POST", f"/v1/{made['name']}:revoke"))
    assert await _until_refused(second, rotated["secret"]) < _REVOKED_SECONDS + _SLACK_SECONDS
    answer = await second.ask(_GET_ENGINE, rotated["secret"])
    assert refusal(answer) == (401, "UNAUTHENTICATED", "CREDENTIAL_INVALID")


@pytest.mark.alone
async def test_the_rate_of_a_key_is_one_over_both(service: Service, folder: Path, url: str) -> None:
    slow = {
        "MEMORY_BANK_KEY_RATE_UNITS_PER_SECOND": str(_RATE),
        "MEMORY_BANK_RATE_BURST_SECONDS": str(_BURST_SECONDS),
        "MEMORY_BANK_RATE_BLOCK_SECONDS": str(_BLOCK_SECONDS),
    }
    secret = await service.key("viewer")
    saved_up, block = _RATE * _BURST_SECONDS, _RATE * _BLOCK_SECONDS
    with _two(folder / "slow", url, **slow) as servers:
        began = time.monotonic()
        with _clients(servers) as clients:
            both = replace(service, clients=clients)
            answers = [await both.ask(_GET_ENGINE, secret) for _ in range(3 * saved_up)]
        most = saved_up + _RATE * (time.monotonic() - began) + 2 * block
    refused = [answer for answer in answers if answer.status_code != 200]
    assert saved_up - 2 * block <= len(answers) - len(refused) <= most
    assert {refusal(answer)[2] for answer in refused} == {Reason.RATE_LIMIT_EXCEEDED}
    assert all(int(answer.headers["retry-after"]) >= 1 for answer in refused)
    # Asked in turn, both have refused.
    assert {n % 2 for n, answer in enumerate(answers) if answer.status_code != 200} == {0, 1}
