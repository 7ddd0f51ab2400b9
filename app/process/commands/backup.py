"""Back up the embedded Postgres into DIR, while the service runs or without it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from app.adapters.postgres import backup as backups
from app.adapters.postgres.backup import BACKUPS, RunningCluster, Taken
from app.adapters.postgres.catalog import BackupError, BackupFolder, Report
from app.adapters.postgres.embedded import running_postgres
from app.process.backup_steps import DataDir, Directory, backup_steps, keep_copy, read_embedded
from app.settings.settings import Settings


def run(
    directory: Directory,
    *,
    incremental: Annotated[
        bool,
        typer.Option("--incremental", help="Only what changed since the newest backup there."),
    ] = False,
    keep: Annotated[
        int, typer.Option(min=1, help="Full backups that stay, with the incremental ones on them.")
    ] = 7,
    data_dir: DataDir = None,
) -> None:
    settings = read_embedded(data_dir)
    with backup_steps("Stopped; the unfinished backup was removed.") as report:
        taken, removed = back_up(
            settings, directory, is_incremental=incremental, kept=keep, report=report
        )
    if taken.why_full is not None:
        typer.echo(f"Made a full backup, since {taken.why_full}.", err=True)
    typer.echo(f"{taken.backup.id}: {taken.backup.bytes:,} bytes, verified.")
    for name in removed:
        typer.echo(f"{name}: removed.")


def back_up(
    settings: Settings, directory: Path, *, is_incremental: bool, kept: int, report: Report
) -> tuple[Taken, Sequence[str]]:
    """Make a backup and remove the oldest ones; return it, and the ids of the removed ones.

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
        return taken, backups.keep(folder, kept, report)


def _check_outside(directory: Path, data_dir: Path) -> None:
    if directory.is_relative_to(data_dir) and not directory.is_relative_to(data_dir / BACKUPS):
        raise BackupError(
            f"{directory} is in the data folder: a backup there is lost with it. Name another"
            f" folder, or {data_dir / BACKUPS}."
        )
