"""The commands `memory-bank operations ...`.

The implementation, `app.process.operation_admin`, is slow to import and is imported when needed.
"""

import sys
from pathlib import Path
from typing import Annotated

import typer

from app.adapters.terminal import FAILED, read_settings

app = typer.Typer(
    help="List operations, and retry failed ones. The commands work on the database of"
    " MEMORY_BANK_DATABASE_URL, else on the one in the data folder, with or without a running"
    " server.",
    no_args_is_help=True,
)

_DataDir = Annotated[Path | None, typer.Option(help="Folder of the embedded Postgres.")]


@app.command("list")
def list_all(
    *,
    failed: Annotated[bool, typer.Option("--failed", help="Only failed operations.")] = False,
    engine: Annotated[
        list[int] | None,
        typer.Option(help="Engine, by its id; repeatable.", show_default="all", min=1),
    ] = None,
    data_dir: _DataDir = None,
) -> None:
    """List operations, newest first: name, time, and how it ended."""
    from app.process import on_database, operation_admin  # noqa: PLC0415 - slow import

    settings = read_settings(data_dir=data_dir)
    on_database.run(
        settings,
        lambda resources: operation_admin.show(resources, engine, typer.echo, failed=failed),
    )


@app.command("retry")
def retry(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Names of failed operations; without any, the first word of each line of the"
            " standard input, such as `operations list --failed` prints.",
        ),
    ] = None,
    *,
    data_dir: _DataDir = None,
) -> None:
    """Retry failed operations one by one, and print the names of the new ones."""
    from app.process import on_database, operation_admin  # noqa: PLC0415 - slow import

    settings = read_settings(data_dir=data_dir)
    chosen = names or [line.split()[0] for line in sys.stdin if line.strip()]
    if not on_database.run(
        settings, lambda resources: operation_admin.retry(resources, chosen, typer.echo)
    ):
        raise typer.Exit(FAILED)
