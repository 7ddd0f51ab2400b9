"""Restore a backup of the embedded Postgres, and erase again what was erased after it."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from app.adapters.db import migrate
from app.adapters.postgres.backup import restored
from app.adapters.postgres.catalog import Backup, BackupError, BackupFolder, Report
from app.adapters.resources import open_resources
from app.adapters.terminal import FAILED, MISUSED, fail, read_settings
from app.kernel.checks import CheckName, Level
from app.kernel.errors import InvalidArgument
from app.memory.erasures.logic import ERASURE_LIST
from app.memory.erasures.services.erasures import read_lines
from app.process.backup_steps import Directory, backup_steps, joined, lists_of
from app.process.commands.erasures import repeated
from app.process.features import register
from app.process.on_database import check_database
from app.settings.settings import Settings

_OF_SCHEMA = (CheckName.EXTENSION, CheckName.REVISION, CheckName.OBJECTS)


def run(
    directory: Directory,
    *,
    data_dir: Annotated[
        Path, typer.Option(help="Data folder to restore into, without a database.")
    ],
    name: Annotated[
        str | None, typer.Option("--id", help="Backup to restore.", show_default="the newest")
    ] = None,
    erasures: Annotated[
        Path | None, typer.Option(help="List of erasures to apply besides that in DIR.")
    ] = None,
    no_erasures: Annotated[
        bool, typer.Option("--no-erasures", help="Bring back what was erased after the backup.")
    ] = False,
) -> None:
    if erasures is not None and no_erasures:
        fail("Give --erasures or --no-erasures, not both.", MISUSED)
    # The erasures and models belong to this folder, not to an external database.
    settings = read_settings(data_dir=data_dir).model_copy(update={"database_url": None})
    asked = BackupRestore(directory, name, erasures, no_erasures)
    with backup_steps(f"Stopped; {data_dir} has no database.") as report:
        done = restore(settings, asked, report)
    typer.echo(f"{done.backup.id}: restored into {data_dir} and checked.")
    typer.echo(f"Erasures repeated: {done.erased}.")
    if done.faults:
        fail("\n".join(("The database was not whole when it was backed up:", *done.faults)), FAILED)


@dataclass(frozen=True)
class BackupRestore:
    """A requested restore of a backup, or of the newest without a `name`.

    Attributes:
        erasures: a list of erasures to apply in addition to the lists with the backups.
    """

    directory: Path
    name: str | None = None
    erasures: Path | None = None
    ignores_erasures: bool = False


@dataclass(frozen=True)
class Restored:
    """The result of a restore.

    Attributes:
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
                BackupFolder(settings.data_dir).write_file(ERASURE_LIST, erasures)
    return Restored(backup, erased, faults)


def _erasures(settings: Settings, folder: BackupFolder, asked: BackupRestore) -> str:
    lists = lists_of(folder, asked.erasures, settings.data_dir)
    if not lists:
        raise BackupError(
            f"There is no {ERASURE_LIST} in {folder.path}, so what was erased after the backup"
            " would come back; name the list with --erasures, or accept that with --no-erasures."
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

    Damaged rows came with the backup, and do not stop the restore: the other rows are usable. A
    damaged schema does, since no service would run on it.
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
        return await repeated(register(resources), read_lines(erasures))
