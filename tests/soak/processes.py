"""The processes of a soak: started again whenever they end, as a supervisor does."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import httpx
import psycopg

from app.adapters.postgres.embedded import EmbeddedPostgres
from tests.support import forks
from tests.support.live import KEY, free_port
from tests.support.model_server import ModelServer
from tests.support.variables import with_constants

_POLL_SECONDS = 0.1
_START_SECONDS = 60
_END_SECONDS = 30
_SAMPLE_SECONDS = 0.5
_SAMPLES = 5


class Kept:
    """A process that is started again when it ends."""

    def __init__(self, arguments: Sequence[str], variables: Mapping[str, str], log: Path) -> None:
        self._arguments, self._variables, self._log = arguments, variables, log
        self.process = self._start()
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

    def _start(self) -> forks.Process:
        with self._log.open("ab") as output:
            return forks.start(self._arguments, self._variables, output, output)

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(_POLL_SECONDS)
            if self.process.poll() is not None:
                self.process = self._start()


@dataclass
class Service:
    """Two servers and two workers on one database, and the provider of their models."""

    postgres: EmbeddedPostgres
    provider: ModelServer
    urls: list[str]
    apis: list[Kept]
    workers: list[Kept]

    @property
    def kept(self) -> list[Kept]:
        """All processes; the last of each kind is never killed, so that its memory tells."""
        return [*self.apis, *self.workers]

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
    postgres: EmbeddedPostgres, provider: ModelServer, folder: Path
) -> AsyncIterator[Service]:
    """Run the service beside the block; see that each process ends in order after it."""
    variables = _variables(postgres.url, provider.url)
    ports = [free_port(), free_port()]
    service = Service(postgres, provider, [f"http://127.0.0.1:{port}" for port in ports], [], [])
    try:
        for number, port in enumerate(ports, 1):
            arguments = ["-m", "app.process.cli", "serve", "--port", str(port)]
            service.apis.append(Kept(arguments, variables, folder / f"api-{number}.log"))
        await service.until_ready()
        for number in (1, 2):
            arguments = ["-m", "tests.soak.worker"]
            service.workers.append(Kept(arguments, variables, folder / f"worker-{number}.log"))
        yield service
    finally:
        ended = await asyncio.gather(*(one.end() for one in service.kept), return_exceptions=True)
    assert ended == [0] * len(ended)


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
