"""Run operations and sweeps; for an external database, beside one or more servers."""

from typing import Annotated

import typer

from app.adapters.terminal import MISUSED, fail, read_settings
from app.process import many


def run(
    host: Annotated[str | None, typer.Option(help="Address of the port.")] = None,
    port: Annotated[int | None, typer.Option(help="Port of health and metrics; 0: none.")] = None,
    processes: Annotated[int | None, typer.Option(help="Processes, one a core.")] = None,
) -> None:
    settings = read_settings(host=host, worker_port=port, processes=processes)
    if settings.database_url is None:
        fail("worker needs MEMORY_BANK_DATABASE_URL; `serve` without it works itself.", MISUSED)
    raise typer.Exit(many.work(settings))
