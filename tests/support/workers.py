"""Worker processes, run as operators run them, on a database that nothing else uses.

And the service that gives them work, which runs no worker itself.
"""

import os
import stat
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import IO, Any

import httpx

from app.adapters.postgres.embedded import EmbeddedPostgres
from app.adapters.resources import Resources
from app.process.main import create_app
from app.process.start import open_process
from app.settings.settings import Settings
from tests.support import forks
from tests.support.bank import ENGINE_URL
from tests.support.clusters import fill
from tests.support.documented import CHECKED
from tests.support.model_server import ModelServer
from tests.support.variables import with_constants

_KEY = "workers-own-admin-key"


@contextmanager
def own_database(folder: Path) -> Iterator[str]:
    """Make a database of its own: the workers of two processes sweep and claim all there is."""
    for parent in (folder, *folder.parents[:2]):
        # The system's own folders are open already, and keep their mode.
        if not parent.stat().st_mode & stat.S_IXOTH:
            parent.chmod(0o755)
    fill(folder)
    with EmbeddedPostgres(Settings(data_dir=folder)) as postgres:
        yield postgres.url


@contextmanager
def worker(
    url: str,
    *,
    command: Sequence[str] = ("app.process.cli", "worker"),
    output: IO[bytes] | None = None,
    **settings: object,
) -> Iterator[forks.Process]:
    """Run a worker for the length of the block, with settings by their names in `Settings`."""
    given = {"database_url": url, "log_level": "WARNING", **settings}
    variables = {f"MEMORY_BANK_{name.upper()}": str(value) for name, value in given.items()}
    process = forks.start(
        ["-m", *command], {**os.environ, **with_constants(variables)}, output, output
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def scripted(server: ModelServer) -> dict[str, Any]:
    """Return the settings of a process whose model is at the server."""
    return {"embedder": "hash", "model": "openai:scripted", "model_base_url": server.url}


@asynccontextmanager
async def without_worker(
    url: str, folder: Path, key: str = _KEY, **settings: Any
) -> AsyncIterator[tuple[httpx.AsyncClient, Resources]]:
    """Open a service that runs no worker; yield a client of its first engine, and its resources.

    The client has the administrator's `key`.
    """
    given = Settings(data_dir=folder, database_url=url, admin_key=key, **settings)
    async with (
        open_process(given) as found,
        httpx.AsyncClient(
            transport=httpx.ASGITransport(create_app(found.resources)),
            base_url=ENGINE_URL,
            headers={"Authorization": f"Bearer {key}"},
            event_hooks=CHECKED,
        ) as client,
    ):
        yield client, found.resources
