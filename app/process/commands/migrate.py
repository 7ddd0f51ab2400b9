"""Bring an external database to the schema of this release."""

from typing import Annotated

import typer

from app.adapters.db import migrate
from app.adapters.db.fence import OldProcessPolicy
from app.adapters.db.migrate import OldProcessesError, SchemaError
from app.adapters.terminal import IN_USE, MISUSED, fail, read_settings


def run(
    *,
    recreate_vectors: Annotated[
        bool,
        typer.Option(
            "--recreate-vectors",
            help="Recreate the vector tables that a restored database lacks; the worker then"
            " embeds their texts again.",
        ),
    ] = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Migrate although processes that need another schema are live: they stop writing"
            " two heartbeats (10 seconds), and end.",
        ),
    ] = False,
    statement_timeout: Annotated[
        int,
        typer.Option(
            min=0,
            help="Seconds that a statement may take, such as the rewriting of a large table; 0: no"
            " limit. What is cut off changes nothing.",
        ),
    ] = migrate.STATEMENT_SECONDS,
) -> None:
    settings = read_settings()
    tuning = settings.tuning
    if settings.database_url is None:
        fail("migrate needs MEMORY_BANK_DATABASE_URL; `serve` without it migrates itself.", MISUSED)
    try:
        result = migrate.upgrade(
            settings.database_url.get_secret_value(),
            tuning.database_connect_timeout_seconds,
            recreates_vectors=recreate_vectors,
            old_processes=OldProcessPolicy(
                force, tuning.process_seen_seconds, tuning.process_beat_seconds
            ),
            statement_seconds=statement_timeout,
        )
    except OldProcessesError as error:
        fail(str(error), IN_USE)
    except SchemaError as error:
        fail(str(error))
    if recreate_vectors:
        typer.echo(f"Recreated: {', '.join(result) or 'nothing, all vector tables exist'}.")
    typer.echo("The database has the schema of this release.")
