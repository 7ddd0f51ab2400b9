"""A migrated database that servers of tests start on a copy of, since making one takes seconds.

Tests of the making itself start their processes on an empty folder.
"""

import os
import subprocess
import time
from pathlib import Path
from typing import ClassVar

from app.adapters.db import migrate
from app.adapters.postgres.embedded import EmbeddedPostgres
from app.adapters.postgres.home import CLUSTER, FOLDER
from app.adapters.postgres.programs import open_private, try_lock
from app.adapters.postgres.server import has_cluster
from app.settings.settings import Settings

_PAUSE_SECONDS = 0.05
_LONGEST_SECONDS = 120


class Template:
    """The data folder to copy from, which the first process that needs it makes."""

    folder: ClassVar[Path | None] = None
    """Set as the tests begin, to the same in all processes of a run. None: nothing is copied."""


def fill(data_dir: Path) -> None:
    """Give a data folder that has no database a migrated one, which no server uses."""
    if Template.folder is None or has_cluster(data_dir):
        return
    _make(Template.folder)
    home = data_dir / FOLDER
    home.mkdir(mode=0o700)
    subprocess.run(["cp", "-a", Template.folder / FOLDER / CLUSTER, home], check=True)


def _make(folder: Path) -> None:
    """Make the folder to copy from, unless it is there; wait for a process that is making it."""
    made = folder / "made"
    folder.mkdir(mode=0o755, exist_ok=True)
    lock = open_private(folder / "lock")
    deadline = time.monotonic() + _LONGEST_SECONDS
    try:
        while not try_lock(lock):
            assert time.monotonic() < deadline
            time.sleep(_PAUSE_SECONDS)
        if not made.exists():
            with EmbeddedPostgres(Settings(data_dir=folder)) as postgres:
                migrate.upgrade(postgres.url)
            made.touch()
    finally:
        os.close(lock)
