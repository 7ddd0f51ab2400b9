"""Worker processes, run as operators run them, on a database that nothing else uses."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from app.adapters.postgres.embedded import EmbeddedPostgres
from app.settings.settings import Settings
from tests.support import forks
from tests.support.clusters import fill
from tests.support.variables import with_constants


@contextmanager
def own_database(folder: Path) -> Iterator[str]:
    """Make a database of its own: the workers of two processes sweep and claim all there is."""
    for parent in (folder, *folder.parents[:2]):
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
