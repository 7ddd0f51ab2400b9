"""The implementation of `memory-bank backup`, `backups`, `restore-backup` and `pg`."""

import asyncio
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.adapters.db import migrate
from app.adapters.postgres import backup as backups
from app.adapters.postgres.backup import BACKUPS, RunningCluster, Taken
from app.adapters.postgres.catalog import Backup, BackupFolder
from app.adapters.postgres.embedded import running_postgres
from app.adapters.postgres.files import find_binaries, postgres_program
from app.adapters.postgres.manifest import BackupError, Report
from app.adapters.postgres.restored import restored
from app.adapters.postgres.server import variables_of
from app.adapters.resources import open_resources
from app.kernel.checks import CheckName, Level
from app.kernel.errors import InvalidArgument
from app.memory.erasures.services.certificates import LIST
from app.memory.erasures.services.restores import read_lines
from app.process import erasure_admin
from app.process.database_check import check_database
from app.process.erasure_lists import joined, keep_copy, lists_of
from app.process.features import register
from app.settings.environment import environment
from app.settings.settings import Settings

PROGRAMS = ("pg_dump", "pg_restore", "psql", "pg_waldump")
"""The bundled programs that an operator may run."""
_OF_SCHEMA = (CheckName.EXTENSION, CheckName.REVISION, CheckName.OBJECTS)


@dataclass(frozen=True)
class BackedUp:
    """A new backup, and the ids of old backups that were removed."""

    taken: Taken
    removed: Sequence[str]


def back_up(
    settings: Settings, directory: Path, *, is_incremental: bool, kept: int, report: Report
) -> BackedUp:
    """Make a backup and remove the oldest ones.

    Raises:
        BackupError: the backup cannot be made.
        PostgresStartError: there is no database, or its server cannot run.
    """
    folder = BackupFolder(directory)
    _check_outside(folder.path, settings.data_dir.resolve())
    with running_postgres(settings) as url, folder.locked():
        cluster = RunningCluster(settings.data_dir, url)
        if is_incremental:
            taken = backups.take_incremental(cluster, folder, report)
        else:
            taken = Taken(backups.take_full(cluster, folder, report))
        keep_copy(settings.data_dir, folder)
        return BackedUp(taken, backups.keep(folder, kept, report))


def _check_outside(directory: Path, data_dir: Path) -> None:
    if directory.is_relative_to(data_dir) and not directory.is_relative_to(data_dir / BACKUPS):
        raise BackupError(
            f"{directory} is in the data folder: a backup there is lost with it. Name another"
            f" folder, or {data_dir / BACKUPS}."
        )


def verified(directory: Path, report: Report) -> Iterator[tuple[Backup, str | None]]:
    """Verify each backup of a folder; yield it with the reason why it is unusable, if any.

    Raises:
        BackupError: the folder has no backup, or the catalogue cannot be read.
    """
    folder = BackupFolder(directory)
    for backup in folder.list_some():
        try:
            folder.chain_of(backup)
            backups.verify(folder, backup, report)
        except BackupError as error:
            yield backup, str(error)
        else:
            yield backup, None


@dataclass(frozen=True)
class BackupRestore:
    """A requested restore.

    Attributes:
        directory: the folder of backups.
        name: the id of the backup; None: the newest.
        erasures: a list of erasures to apply in addition to the lists with the backups.
        ignores_erasures: True to apply no erasures.
    """

    directory: Path
    name: str | None = None
    erasures: Path | None = None
    ignores_erasures: bool = False


@dataclass(frozen=True)
class Restored:
    """The result of a restore.

    Attributes:
        backup: the restored backup.
        erased: the number of repeated erasures that found data.
        faults: the report of the checks if the backup's database was damaged.
    """

    backup: Backup
    erased: int
    faults: Sequence[str]


def restore(settings: Settings, asked: BackupRestore, report: Report) -> Restored:
    """Restore a backup into the data folder of the settings, which must have no database yet.

    Raises:
        BackupError: the backup, the data folder or the list of erasures cannot be used, or the
            schema is damaged.
        PostgresStartError: the server cannot run.
        SchemaError: the backup has the schema of a later release.
        ServiceError: an erasure failed.
    """
    folder = BackupFolder(asked.directory)
    with folder.read_locked():
        backup = folder.find(asked.name)
        erasures = "" if asked.ignores_erasures else _erasures(settings, folder, asked)
        with restored(settings, folder, backup, report) as url:
            migrate.upgrade(url)
            faults = asyncio.run(_faults(settings, url))
            erased = asyncio.run(_erase_again(settings, url, erasures)) if erasures else 0
            if erasures:
                BackupFolder(settings.data_dir).write_file(LIST, erasures)
    return Restored(backup, erased, faults)


def _erasures(settings: Settings, folder: BackupFolder, asked: BackupRestore) -> str:
    lists = lists_of(folder, asked.erasures, settings.data_dir)
    if not lists:
        raise BackupError(
            f"There is no {LIST} in {folder.path}, so what was erased after the backup would come"
            " back; name the list with --erasures, or accept that with --no-erasures."
        )
    if asked.erasures and not asked.erasures.exists():
        raise BackupError(f"{asked.erasures} does not exist.")
    for path in lists:
        try:
            read_lines(joined([path]))
        except InvalidArgument as error:
            raise BackupError(f"{path}: {error.message}") from error
    return joined(lists)


async def _faults(settings: Settings, url: str) -> list[str]:
    """Check the database; return the lines of the report if it is damaged.

    Damaged rows came with the backup. They are reported and do not stop the restore, because the
    other rows are usable.

    Raises:
        BackupError: the schema is damaged, and no service would run on it.
    """
    # No reset is needed: a service's start ends the leases, and the rates refill until then.
    report = await check_database(settings, url)
    if report.is_whole:
        return []
    if any(report.named()[check].level is Level.FAILED for check in _OF_SCHEMA):
        raise BackupError("\n".join(("The restored database is not whole:", *report.lines())))
    return list(report.lines())


async def _erase_again(settings: Settings, url: str, erasures: str) -> int:
    async with open_resources(settings, url) as resources:
        return await erasure_admin.repeated(register(resources), read_lines(erasures))


def run_program(settings: Settings, program: str, arguments: Sequence[str]) -> int:
    """Run a bundled program on the database of the data folder and return its exit status.

    Raises:
        PostgresStartError: there is no database, or its server cannot run.
    """
    path = str(postgres_program(find_binaries(), program))
    with running_postgres(settings) as url, _left_to_child():
        variables = {**environment(), **variables_of(url)}
        return subprocess.run([path, *arguments], env=variables, check=False).returncode  # noqa: S603 - a program of the installed package


@contextmanager
def _left_to_child() -> Iterator[None]:
    """Leave Ctrl-C to the program in the foreground, as a shell does."""
    # The program would inherit SIG_IGN, but not a handler.
    former = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)
