"""The commands `memory-bank backup`, `backups`, `restore-backup` and `pg`.

The implementation, `app.process.backup_admin`, is slow to import and is imported when needed.
"""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated

import typer

from app.adapters.db.migrate import SchemaError
from app.adapters.llm.names import ModelSetupError
from app.adapters.postgres.manifest import BackupError
from app.adapters.postgres.process import PostgresStartError
from app.adapters.terminal import FAILED, MISUSED, fail, read_settings
from app.kernel.errors import ServiceError
from app.process.progress import progress, stoppable
from app.settings.settings import Settings

_Directory = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of backups.")]
_DataDir = Annotated[Path | None, typer.Option(help="Folder of the embedded Postgres.")]
ANY_ARGUMENTS = {"ignore_unknown_options": True, "allow_interspersed_args": False}
"""Context settings of a command that passes its arguments to a program."""


class _Steps:
    """Shows the progress of consecutive steps in bytes."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._step = ""
        self._done = 0

    def __call__(self, step: str, done: int, total: int) -> None:
        if self._step != step:
            self._stack.close()
            self._step, self._done = step, 0
            self._shown = self._stack.enter_context(progress(step, total, "bytes"))
        self._shown.advance(done - self._done)
        self._done = done


@contextmanager
def _steps(interrupted: str) -> Iterator[_Steps]:
    """Yield a progress display; report errors and Ctrl-C in one sentence."""
    try:
        with stoppable(interrupted), ExitStack() as stack:
            yield _Steps(stack)
    except (
        BackupError,
        PostgresStartError,
        SchemaError,
        ModelSetupError,
        ServiceError,
        OSError,
    ) as error:
        fail(str(error))


def _read(data_dir: Path | None) -> Settings:
    """Read the settings of a command that supports only the embedded Postgres."""
    settings = read_settings(data_dir=data_dir)
    if data_dir is None and settings.database_url is not None:
        fail(
            "This command is for the embedded Postgres: name its folder with --data-dir. For the"
            " database of MEMORY_BANK_DATABASE_URL use its own tools, such as pg_dump.",
            MISUSED,
        )
    return settings


def backup(
    directory: _Directory,
    *,
    incremental: Annotated[
        bool,
        typer.Option("--incremental", help="Only the changes since the newest backup there."),
    ] = False,
    keep: Annotated[
        int, typer.Option(min=1, help="Full backups to keep, with their incremental ones.")
    ] = 7,
    data_dir: _DataDir = None,
) -> None:
    """Back up the embedded Postgres into DIR, while the service runs or without it."""
    settings = _read(data_dir)
    from app.process import backup_admin  # noqa: PLC0415 - slow import

    with _steps("Stopped; the unfinished backup was removed.") as report:
        made = backup_admin.back_up(
            settings, directory, is_incremental=incremental, kept=keep, report=report
        )
    if made.taken.why_full is not None:
        typer.echo(f"Made a full backup, since {made.taken.why_full}.", err=True)
    typer.echo(f"{made.taken.backup.id}: {made.taken.backup.bytes:,} bytes, verified.")
    for name in made.removed:
        typer.echo(f"{name}: removed.")


def backups(directory: _Directory) -> None:
    """List the backups in DIR, the oldest first, and verify every byte of each."""
    from app.process import backup_admin  # noqa: PLC0415 - slow import

    are_whole = True
    with _steps("Stopped.") as report:
        for found, failure in backup_admin.verified(directory, report):
            are_whole = are_whole and failure is None
            typer.echo(
                f"{found.id}  {found.bytes:,} bytes  release {found.release}  schema"
                f" {found.schema_revision}  {failure or 'whole'}"
            )
    if not are_whole:
        raise typer.Exit(FAILED)


def restore_backup(
    directory: _Directory,
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
        bool, typer.Option("--no-erasures", help="Also restore data erased after the backup.")
    ] = False,
) -> None:
    """Restore a backup of the embedded Postgres, and erase again what was erased after it."""
    if erasures is not None and no_erasures:
        fail("Give --erasures or --no-erasures, not both.", MISUSED)
    # The erasures and models belong to this folder, not to an external database.
    settings = read_settings(data_dir=data_dir).model_copy(update={"database_url": None})
    from app.process import backup_admin  # noqa: PLC0415 - slow import

    asked = backup_admin.BackupRestore(directory, name, erasures, no_erasures)
    with _steps(f"Stopped; {data_dir} has no database.") as report:
        done = backup_admin.restore(settings, asked, report)
    typer.echo(f"{done.backup.id}: restored into {data_dir} and checked.")
    typer.echo(f"Erasures repeated: {done.erased}.")
    if done.faults:
        fail("\n".join(("The database was not whole when it was backed up:", *done.faults)), FAILED)


def pg(
    program: Annotated[str, typer.Argument(help="pg_dump, pg_restore, psql or pg_waldump.")],
    arguments: Annotated[list[str] | None, typer.Argument(help="Its arguments.")] = None,
    data_dir: _DataDir = None,
) -> None:
    """Run a bundled program of Postgres on the embedded database: `pg pg_dump -Fc -f FILE`."""
    settings = _read(data_dir)
    from app.process import backup_admin  # noqa: PLC0415 - slow import

    if program not in backup_admin.PROGRAMS:
        fail(f"PROGRAM must be one of {', '.join(backup_admin.PROGRAMS)}; got {program}.", MISUSED)
    with _steps("Stopped."):
        status = backup_admin.run_program(settings, program, arguments or [])
    sys.exit(status)
