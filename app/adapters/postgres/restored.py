"""Restores of backups of the embedded Postgres; a cluster gets its final name after all checks."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path

import psycopg

from app.adapters.postgres import server
from app.adapters.postgres.backup import MADE, ROOM, check_room, run_program, size_of, verify
from app.adapters.postgres.catalog import MANIFEST, Backup, BackupError, BackupFolder, Report
from app.adapters.postgres.embedded import COPIES
from app.adapters.postgres.home import PostgresHome, open_home
from app.adapters.postgres.programs import MAJOR
from app.adapters.postgres.supervisor import Supervisor
from app.settings.settings import Settings

_START_SECONDS = 86_400


@contextmanager
def restored(
    settings: Settings, folder: BackupFolder, backup: Backup, report: Report
) -> Iterator[str]:
    """Restore a backup into a data folder, and run a server on it for the block. Blocking.

    The data folder contains the database only after the block has ended without an error. After an
    error, the restored files are removed.

    Yields:
        The address of the database.
    """
    chain = folder.chain_of(backup)
    _check_version(backup)
    if server.has_cluster(settings.data_dir):
        raise BackupError(
            f"{settings.data_dir} has a database already; name an empty folder with --data-dir."
        )
    with ExitStack() as stack:
        home = open_home(settings.data_dir, user=settings.postgres_user, copies=COPIES)
        stack.callback(home.close)
        check_room(home.folder, int(ROOM * sum(each.bytes for each in chain)))
        for each in chain:
            verify(folder, each, report)
        made = server.new_cluster_folder(home)
        unwanted = stack.enter_context(ExitStack())
        unwanted.callback(shutil.rmtree, made, ignore_errors=True)
        _join(home, made, [folder.place_of(each.id) for each in chain], report)
        with _served(replace(home, cluster_name=made.name)) as url:
            yield url
        # After the server's stop: `pg_checksums` refuses a cluster that was not shut down, like a
        # backup.
        run_program("pg_checksums", "--check", f"--pgdata={made}")
        # Backups of a former cluster here have another history.
        (home.folder / MADE).unlink(missing_ok=True)
        server.adopt_cluster(home, made)
        unwanted.pop_all()


def _check_version(backup: Backup) -> None:
    major = backup.postgres.partition(".")[0]
    if major != MAJOR:
        raise BackupError(f"This backup is of Postgres {major}; this release carries {MAJOR}.")


def _join(home: PostgresHome, made: Path, parts: Sequence[Path], report: Report) -> None:
    """Combine the backups of a chain into an empty folder."""
    total = sum(map(size_of, parts))
    run_program(
        "pg_combinebackup",
        *map(str, parts),
        f"--output={made}",
        look=lambda _: report("joining", size_of(made), total),
    )
    (made / MANIFEST).unlink()  # the next backup of this cluster writes its own
    for path, folders, files in os.walk(made):
        for name in (*folders, *files):
            home.give(Path(path) / name)


@contextmanager
def _served(home: PostgresHome) -> Iterator[str]:
    # A long time limit: the start replays all WAL that was written during the backup.
    supervisor = Supervisor(home, _START_SECONDS)
    url = server.url_of(home.sockets)
    try:
        supervisor.start()
        yield url
        # Otherwise the final checkpoint may exceed the time limit of the server's stop.
        with closing(psycopg.connect(url, autocommit=True)) as connection:
            connection.execute("checkpoint")
    finally:
        supervisor.stop()
