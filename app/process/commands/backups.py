"""List the backups in DIR, the oldest first, and verify every byte of each."""

from collections.abc import Iterator
from pathlib import Path

import typer

from app.adapters.postgres.backup import verify
from app.adapters.postgres.catalog import Backup, BackupError, BackupFolder, Report
from app.adapters.terminal import FAILED
from app.process.backup_steps import Directory, backup_steps


def run(directory: Directory) -> None:
    are_whole = True
    with backup_steps("Stopped.") as report:
        for backup, failure in verified(directory, report):
            are_whole = are_whole and failure is None
            typer.echo(
                f"{backup.id}  {backup.bytes:,} bytes  release {backup.release}  schema"
                f" {backup.schema_revision}  {failure or 'whole'}"
            )
    if not are_whole:
        raise typer.Exit(FAILED)


def verified(directory: Path, report: Report) -> Iterator[tuple[Backup, str | None]]:
    """Verify each backup of a folder; yield it with the reason why it is unusable, if any.

    Raises:
        BackupError: the folder has no backup, or the catalogue cannot be read.
    """
    folder = BackupFolder(directory)
    for backup in folder.list_some():
        try:
            folder.chain_of(backup)
            verify(folder, backup, report)
        except BackupError as error:
            yield backup, str(error)
        else:
            yield backup, None
