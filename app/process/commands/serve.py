"""Serve the API; without MEMORY_BANK_DATABASE_URL also run Postgres and the worker."""

from pathlib import Path
from typing import Annotated

import typer

from app.adapters.terminal import MISUSED, fail, read_settings
from app.process import many


def run(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port; 0 picks a free one.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Folder of the embedded Postgres.")] = None,
    processes: Annotated[
        int | None, typer.Option(help="Processes that share the port, one a core.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=0, max=1, help="0: no worker beside the embedded Postgres, which has one otherwise."
        ),
    ] = None,
) -> None:
    settings = read_settings(host=host, port=port, data_dir=data_dir, processes=processes)
    if workers and settings.database_url is not None:
        fail("--workers must be 0 with MEMORY_BANK_DATABASE_URL; see `worker`.", MISUSED)
    raise typer.Exit(many.serve(settings, works=workers != 0))
