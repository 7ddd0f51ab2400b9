"""Check that the database is whole, beside a running service or without one.

The status is 0 if it is, 1 if it is not, and 2 if it cannot be checked.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

import typer

from app.adapters.db import migrate
from app.adapters.db.migrate import SchemaError
from app.adapters.postgres.embedded import embedded_postgres
from app.adapters.postgres.programs import PostgresStartError
from app.adapters.postgres.server import find_running, has_cluster
from app.adapters.terminal import FAILED, MISUSED, fail, read_settings
from app.kernel.errors import ServiceError
from app.platform.checking.logic import CheckReport
from app.platform.checking.service import CheckOptions
from app.process.on_database import check_database
from app.process.progress import progress, stoppable
from app.settings.settings import Settings


def run(
    *,
    quick: Annotated[
        bool, typer.Option("--quick", help="Check only the schema and the clocks.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Recompute all digests, not only 1 % of them.")
    ] = False,
    after_restore: Annotated[
        bool,
        typer.Option(
            "--after-restore",
            help="Also end the leases and fill the rate buckets that the restore brought back."
            " The command writes nothing else.",
        ),
    ] = False,
    engine: Annotated[
        int | None, typer.Option(min=1, help="Check only the rows of one engine, by its id.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    data_dir: Annotated[Path | None, typer.Option(help="Folder of the embedded Postgres.")] = None,
) -> None:
    if quick and full:
        fail("Give --quick or --full, not both.", MISUSED)
    settings = read_settings(data_dir=data_dir)
    options = CheckOptions(engine, quick, full, after_restore)
    try:
        with (
            stoppable("The check was stopped. It has changed nothing."),
            progress("Checking") as shown,
        ):
            report = asyncio.run(_checked(settings, options, shown.advance))
    except (PostgresStartError, SchemaError, ServiceError) as error:
        fail(str(error), MISUSED)
    if as_json:
        typer.echo(json.dumps(report.to_json(), indent=2))
    else:
        typer.echo("\n".join(report.lines()))
    if not report.is_whole:
        raise typer.Exit(FAILED)


async def _checked(
    settings: Settings, options: CheckOptions, examined: Callable[[int], None]
) -> CheckReport:
    async with _database(settings) as url:
        return await check_database(settings, url, options, examined)


@asynccontextmanager
async def _database(settings: Settings) -> AsyncIterator[str]:
    """Open the database as it is, even if it is damaged or belongs to another release."""
    if settings.database_url is not None:
        url = settings.database_url.get_secret_value()
        yield migrate.check_address(url, "MEMORY_BANK_DATABASE_URL")
        return
    running = await asyncio.to_thread(find_running, settings.data_dir)
    if running is not None:
        yield running
        return
    if not await asyncio.to_thread(has_cluster, settings.data_dir):
        raise PostgresStartError(f"There is no database in {settings.data_dir}.")
    async with embedded_postgres(settings) as postgres:
        yield postgres.url
