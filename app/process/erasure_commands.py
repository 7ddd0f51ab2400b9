"""The commands `memory-bank erasures ...`.

The implementation, `app.process.erasure_admin`, is slow to import and is imported when needed.
"""

from pathlib import Path
from typing import Annotated

import typer

from app.adapters.terminal import MISUSED, fail, read_settings

app = typer.Typer(
    help="Keep the list of erasures outside the database, and repeat them after a restore.",
    no_args_is_help=True,
)

_DataDir = Annotated[Path | None, typer.Option(help="Folder of the embedded Postgres.")]
_File = Annotated[Path, typer.Argument(help="File with a line for each erasure.")]


@app.command("export")
def export(file: _File, data_dir: _DataDir = None) -> None:
    """Write the list of all erasures into FILE; it has pseudonyms only."""
    settings = read_settings(data_dir=data_dir)
    from app.process import erasure_admin  # noqa: PLC0415 - slow import

    typer.echo(f"Erasures written: {erasure_admin.export(settings, file)}.")


@app.command("apply")
def apply(
    file: _File,
    archive: Annotated[
        Path | None, typer.Option(help="Archive from which --engine was restored.")
    ] = None,
    engine: Annotated[
        int | None, typer.Option(help="Engine that was restored from --archive, by its id.")
    ] = None,
    data_dir: _DataDir = None,
) -> None:
    """Repeat the erasures in FILE after a backup or an archive was restored."""
    if (archive is None) != (engine is None):
        fail("--archive and --engine belong together.", MISUSED)
    settings = read_settings(data_dir=data_dir)
    from app.process import erasure_admin, restoring  # noqa: PLC0415 - slow import

    restored = None
    if archive is not None and engine is not None:
        header = restoring.header_of(archive)
        restored = erasure_admin.RestoredEngine(engine, header.engine, header.export_time)
    typer.echo(f"Erasures repeated: {erasure_admin.apply(settings, file, restored)}.")
