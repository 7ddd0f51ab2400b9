"""The command `memory-bank`."""

import json
import sys
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup
from typing_extensions import override

from app.adapters.db import migrate
from app.adapters.db.migrate import OldProcessesError, SchemaError
from app.adapters.db.old_processes import Beside
from app.adapters.terminal import IN_USE, MISUSED, fail, read_settings
from app.process import (
    agent_commands,
    backup_commands,
    check_commands,
    cost_commands,
    distribute_commands,
    erasure_commands,
    export_commands,
    import_commands,
    key_commands,
    model_commands,
    operation_commands,
    restore_commands,
    settings_commands,
)
from app.process.progress import stoppable


class _StoppableGroup(TyperGroup):
    """The group of commands, which print a short message on Ctrl-C unless they have their own."""

    @override
    def invoke(self, ctx: Any) -> Any:
        with stoppable("Stopped."):
            return super().invoke(ctx)


app = typer.Typer(
    cls=_StoppableGroup,
    help="Open Memory Bank: a self-hosted memory service for AI agents.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _show_version(is_asked: bool) -> None:  # noqa: FBT001 - typer gives the option's value
    if is_asked:
        # Imported here, because other commands do not need it.
        from app.kernel.release import RELEASE  # noqa: PLC0415 - slow import

        typer.echo(f"memory-bank {RELEASE}")
        raise typer.Exit


@app.callback()
def options(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the release and exit."
        ),
    ] = False,
) -> None:
    """Take the options of the program itself."""
    del version  # its callback has ended the command


def _run(process: Callable[[], Coroutine[object, object, None]]) -> None:
    """Run a process; report errors that an operator can fix in one sentence."""
    # Imported here, because `--help` and usage errors should respond at once.
    from app.process.reporting import status_of  # noqa: PLC0415 - slow import
    from app.process.serving import run  # noqa: PLC0415 - slow import

    raise typer.Exit(status_of(lambda: run(process)))


def _run_many(run: Callable[[], int]) -> NoReturn:
    """Run several processes and report errors like `_run`."""
    from app.process.reporting import status_of  # noqa: PLC0415 - slow import

    raise typer.Exit(status_of(run))


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port; 0 picks a free one.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Folder of the embedded Postgres.")] = None,
    processes: Annotated[
        int | None, typer.Option(help="Processes that share the port, one a core.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=0, max=1, help="0: no worker with the embedded Postgres, which otherwise has one."
        ),
    ] = None,
) -> None:
    """Serve the API; without MEMORY_BANK_DATABASE_URL also run Postgres and the worker."""
    settings = read_settings(host=host, port=port, data_dir=data_dir, processes=processes)
    if workers and settings.database_url is not None:
        fail("--workers must be 0 with MEMORY_BANK_DATABASE_URL; see `worker`.", MISUSED)
    works = workers != 0
    if settings.processes > 1:
        from app.process import many  # noqa: PLC0415 - slow import

        _run_many(lambda: many.serve(settings, works=works))
    from app.process import place, serving  # noqa: PLC0415 - slow import

    _run(lambda: serving.serve(settings, place.ProcessPlace(works=works)))


def worker(
    host: Annotated[str | None, typer.Option(help="Address of the port.")] = None,
    port: Annotated[int | None, typer.Option(help="Port of health and metrics; 0: none.")] = None,
    processes: Annotated[int | None, typer.Option(help="Processes, one a core.")] = None,
) -> None:
    """Run operations and sweeps; for an external database, beside one or more servers."""
    settings = read_settings(host=host, worker_port=port, processes=processes)
    if settings.database_url is None:
        fail("worker needs MEMORY_BANK_DATABASE_URL; `serve` without it works itself.", MISUSED)
    if settings.processes > 1:
        from app.process import many  # noqa: PLC0415 - slow import

        _run_many(lambda: many.work(settings))
    from app.process import serving  # noqa: PLC0415 - slow import

    _run(lambda: serving.work(settings))


def migrate_database(
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
            help="Seconds that a statement may take, such as the rewriting of a large table; 0:"
            " no limit. An aborted statement changes nothing.",
        ),
    ] = migrate.STATEMENT_SECONDS,
) -> None:
    """Bring an external database to the schema of this release."""
    settings = read_settings()
    tuning = settings.tuning
    if settings.database_url is None:
        fail("migrate needs MEMORY_BANK_DATABASE_URL; `serve` without it migrates itself.", MISUSED)
    try:
        made = migrate.upgrade(
            settings.database_url.get_secret_value(),
            tuning.database_connect_timeout_seconds,
            recreates_vectors=recreate_vectors,
            beside=Beside(force, tuning.process_seen_seconds, tuning.process_beat_seconds),
            statement_seconds=statement_timeout,
        )
    except OldProcessesError as error:
        fail(str(error), IN_USE)
    except SchemaError as error:
        fail(str(error))
    if recreate_vectors:
        typer.echo(f"Recreated: {', '.join(made) or 'nothing, all vector tables exist'}.")
    typer.echo("The database has the schema of this release.")


def reembed(
    *,
    engine: Annotated[
        list[int] | None, typer.Option(help="Engine, by its id; repeatable.", min=1)
    ] = None,
    all_engines: Annotated[bool, typer.Option("--all", help="Every engine.")] = False,
    data_dir: Annotated[Path | None, typer.Option(help="Folder of the embedded Postgres.")] = None,
) -> None:
    """Embed memories with the configured model; the former one serves until all are embedded."""
    if bool(engine) == all_engines:
        fail("Give at least one --engine, or --all.", MISUSED)
    settings = read_settings(data_dir=data_dir)
    from app.process import reembed_admin  # noqa: PLC0415 - slow import

    reembed_admin.run(settings, engine, typer.echo)


def demo() -> None:
    """Demonstrate the service on a temporary server with bundled conversations."""
    from app.process import demo as demonstration  # noqa: PLC0415 - slow import

    read_settings(log_level="ERROR")
    _run(demonstration.run)


def openapi() -> None:
    """Print the OpenAPI document."""
    from app.process.main import create_app  # noqa: PLC0415 - slow import
    from app.process.serving import offline_resources  # noqa: PLC0415 - slow import

    document = create_app(offline_resources(read_settings())).openapi()
    json.dump(document, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


_GROUPS: Mapping[str, Mapping[str, Callable[..., None] | typer.Typer]] = {
    "Run": {"serve": serve, "worker": worker, "demo": demo},
    "Try a model": {
        "check-model": model_commands.check_model,
        "check-embedder": model_commands.check_embedder,
    },
    "Look up": {
        "settings": settings_commands.settings,
        "costs": cost_commands.costs,
        "openapi": openapi,
    },
    "Keys and agents": {"mcp": agent_commands.mcp, "keys": key_commands.app},
    "Move memories in and out": {
        "import": import_commands.import_memories,
        "export": export_commands.export,
        "restore": restore_commands.restore,
    },
    "Back up": {
        "backup": backup_commands.backup,
        "backups": backup_commands.backups,
        "restore-backup": backup_commands.restore_backup,
        "erasures": erasure_commands.app,
    },
    "Keep the database": {
        "check": check_commands.check,
        "migrate": migrate_database,
        "reembed": reembed,
        "operations": operation_commands.app,
        "pg": backup_commands.pg,
        "distribute": distribute_commands.distribute,
    },
}
"""All commands, by purpose."""
_CONTEXTS = {"pg": backup_commands.ANY_ARGUMENTS}

for _purpose, _commands in _GROUPS.items():
    for _name, _run_command in _commands.items():
        if isinstance(_run_command, typer.Typer):
            app.add_typer(_run_command, name=_name, rich_help_panel=_purpose)
        else:
            context = _CONTEXTS.get(_name)
            app.command(_name, context_settings=context, rich_help_panel=_purpose)(_run_command)


def main() -> None:
    """Run the command line."""
    app()


if __name__ == "__main__":
    main()
