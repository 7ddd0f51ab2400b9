"""What a benchmark of the whole service needs around it: a folder, and logs that nobody reads."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path

import psycopg

from app.adapters.db.engine import plain_url
from app.adapters.logs import configure_logs
from app.settings.settings import Settings


@contextmanager
def data_folder() -> Iterator[Path]:
    """Make a folder for a Postgres, and remove it after the block."""
    # Short, since a Unix socket's path may have about 100 characters.
    found = Path(tempfile.mkdtemp(prefix="omb-"))
    found.chmod(0o755)
    try:
        yield found
    finally:
        shutil.rmtree(found, ignore_errors=True)


@contextmanager
def unread_logs(settings: Settings | None = None) -> Iterator[None]:
    """Make log lines as a server makes them; nobody reads them."""
    with Path(os.devnull).open("w") as nowhere, redirect_stderr(nowhere):
        configure_logs(settings or Settings())
        yield


def pages_read(url: str) -> int:
    """Return the pages that a database has read so far, from memory or from disk.

    A connection tells what it has read once it is idle, a second later at the latest.
    """
    found = plain_url(url)
    name = psycopg.conninfo.conninfo_to_dict(found)["dbname"]
    with psycopg.connect(found, dbname="postgres") as connection:
        statement = b"select blks_hit + blks_read from pg_stat_database where datname = %s"
        ((pages,),) = connection.execute(statement, [name]).fetchall()
    return int(pages)
