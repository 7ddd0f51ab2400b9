"""The processes of a soak: started again whenever they end, as a supervisor does."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import httpx
import psycopg

from app.adapters.postgres.embedded import EmbeddedPostgres
from tests.support import forks
from tests.support.live import KEY, free_port
from tests.support.model_server import ModelServer
from tests.support.poolers import PROGRAM, Pooler
from tests.support.variables import with_constants

_POLL_SECONDS = 0.1
_START_SECONDS = 180
_END_SECONDS = 30
_SAMPLE_SECONDS = 0.5
_SAMPLES = 5
# Who waits for a database that is away is told soon, and so is the pooler when it is back.
_POOLED = ("query_wait_timeout = 5", "server_login_retry = 1")


class Kept:
    """A process that is started again when it ends."""

    def __init__(self, start: Callable[[], forks.Process]) -> None:
        self._start = start
        self.process = start()
        self._keeping = asyncio.create_task(self._keep())

    async def end(self) -> int:
        """Ask it to end, as an operator does; return its exit code."""
        self._keeping.cancel()
        with suppress(asyncio.CancelledError):
            await self._keeping
        self.process.send_signal(signal.SIGTERM)
        try:
            return await asyncio.to_thread(self.process.wait, _END_SECONDS)
        finally:
            self.process.kill()

    def resident_bytes(self) -> int:
        """Return what the process has in memory; 0 where the system does not tell."""
        with suppress(OSError):
            pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
            return int(pages) * os.sysconf("SC_PAGE_SIZE")
        return 0

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(_POLL_SECONDS)
            if self.process.poll() is not None:
                self.process = self._start()


@dataclass
class Service:
    """Two servers and two workers on one database, and the provider of their models.

    The last server and the last worker are never killed, so that their memory tells.

    Attributes:
        disk: the file system of the database, where it has one of its own.
        pooler: before the database of the first of each, where the machine has one.
    """

    postgres: EmbeddedPostgres
    provider: ModelServer
    urls: list[str]
    disk: Path | None = None
    pooler: Kept | None = None
    apis: list[Kept] = field(default_factory=list)
    workers: list[Kept] = field(default_factory=list)

    async def until_ready(self) -> None:
        """Wait until the database answers, and every server says that it is ready."""
        async with asyncio.timeout(_START_SECONDS), httpx.AsyncClient() as client:
            while not await self._is_ready(client):  # noqa: ASYNC110 - other processes become ready
                await asyncio.sleep(_POLL_SECONDS)

    async def resident_mebibytes(self) -> float:
        """Return what the processes that are never killed have in memory, over some seconds."""
        found = []
        for _ in range(_SAMPLES):
            found.append(self.apis[-1].resident_bytes() + self.workers[-1].resident_bytes())
            await asyncio.sleep(_SAMPLE_SECONDS)
        return median(found) / 2**20

    async def _is_ready(self, client: httpx.AsyncClient) -> bool:
        try:
            await asyncio.to_thread(lambda: psycopg.connect(self.postgres.url).close())
            answers = [await client.get(f"{url}/readyz") for url in self.urls]
        except (psycopg.OperationalError, httpx.TransportError):
            return False
        return all(answer.status_code == 200 for answer in answers)


@asynccontextmanager
async def serving(
    postgres: EmbeddedPostgres, provider: ModelServer, folder: Path, disk: Path | None
) -> AsyncIterator[Service]:
    """Run the service beside the block; see that each process ends in order after it."""
    direct = pooled = _variables(postgres.url, provider.url)
    ports = [free_port(), free_port()]
    urls = [f"http://127.0.0.1:{port}" for port in ports]
    service = Service(postgres, provider, urls, disk)
    try:
        if PROGRAM is not None:
            pooler = Pooler(postgres.url, folder, *_POOLED)
            service.pooler = Kept(pooler.start)
            await asyncio.to_thread(pooler.wait)
            behind = {"MEMORY_BANK_DATABASE_BEHIND_POOLER": "true"}
            pooled = {**direct, "MEMORY_BANK_DATABASE_URL": pooler.url, **behind}
        for number, port in enumerate(ports, 1):
            arguments = ["-m", "app.process.cli", "serve", "--port", str(port)]
            start = _starting(arguments, pooled if number == 1 else direct, folder, f"api-{number}")
            service.apis.append(Kept(start))
        await service.until_ready()
        for number in (1, 2):
            variables = pooled if number == 1 else direct
            start = _starting(["-m", "tests.soak.worker"], variables, folder, f"worker-{number}")
            service.workers.append(Kept(start))
        yield service
    finally:
        users = (*service.apis, *service.workers)
        ended = await asyncio.gather(*(one.end() for one in users), return_exceptions=True)
        if service.pooler is not None:
            await service.pooler.end()
    assert ended == [0] * len(ended), ended


def _starting(
    arguments: Sequence[str], variables: Mapping[str, str], folder: Path, name: str
) -> Callable[[], forks.Process]:
    def start() -> forks.Process:
        with (folder / f"{name}.log").open("ab") as output:
            return forks.start(arguments, variables, output, output)

    return start


def _variables(database: str, provider: str) -> dict[str, str]:
    """Return settings by which what failed is tried again soon, so that a soak can be short."""
    settings = {
        "database_url": database,
        "admin_key": KEY,
        "log_level": "WARNING",
        "embedder": "http",
        "embedding_base_url": provider,
        "embedding_model": "soak",
        "model": "openai:soak",
        "model_base_url": provider,
        "model_timeout_seconds": "5",
        "model_breaker_seconds": "2",
        "embedding_query_seconds": "1",
        "embedding_retry_seconds": "0.5",
        "worker_lease_seconds": "3",
        "worker_retry_base_seconds": "0.1",
        "worker_max_attempts": "50",
        "ingestion_retry_seconds": "1",
        "sweep_interval_seconds": "5",
        # What waited through an outage is remembered whole.
        "generation_max_candidates": "10000",
    }
    named = {f"MEMORY_BANK_{name.upper()}": value for name, value in settings.items()}
    return {**os.environ, **with_constants(named)}
