"""The command `memory-bank export`.

The implementation, `app.process.exporting`, is slow to import and is imported when needed.
"""

from typing import Annotated

import typer

from app.process.remote_api import KeyFile, Url


def export(  # noqa: PLR0913 - one argument an option
    *,
    engine: Annotated[str, typer.Option(help="Engine, by its id.")] = "1",
    output: Annotated[
        str | None,
        typer.Option(
            help="File to write, or - for standard output.", show_default="ENGINE-TIME.omb.gz"
        ),
    ] = None,
    vectors: Annotated[bool, typer.Option("--vectors", help="With the vectors.")] = False,
    no_artifacts: Annotated[
        bool, typer.Option("--no-artifacts", help="Without the artifacts of task memory.")
    ] = False,
    no_sessions: Annotated[
        bool, typer.Option("--no-sessions", help="Without sessions and their states.")
    ] = False,
    plain: Annotated[
        bool,
        typer.Option(
            "--plain", help="Only the memories that are live, one JSON a line, as imports take it."
        ),
    ] = False,
    wait: Annotated[
        float, typer.Option(min=0, help="Seconds to wait first until every operation has ended.")
    ] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
    url: Url = None,
    key_file: KeyFile = None,
) -> None:
    """Write an engine to an archive: configuration, memories with history, sessions, tasks."""
    from app.process import exporting  # noqa: PLC0415 - slow import

    wanted = exporting.ExportCommand(
        engine=engine,
        output=output,
        vectors=vectors,
        artifacts=not no_artifacts,
        sessions=not no_sessions,
        is_plain=plain,
        wait_seconds=wait,
        replaces=force,
    )
    exporting.run(wanted, url, key_file)
