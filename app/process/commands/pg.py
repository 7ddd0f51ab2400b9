"""Run a bundled program of Postgres on the embedded database: `pg pg_dump -Fc -f FILE`."""

import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated

import typer

from app.adapters.postgres.embedded import running_postgres
from app.adapters.postgres.programs import find_binaries, postgres_program
from app.adapters.postgres.server import variables_of
from app.adapters.terminal import MISUSED, fail
from app.process.backup_steps import DataDir, backup_steps, read_embedded
from app.settings.environment import environment
from app.settings.settings import Settings

CONTEXT_SETTINGS = {"ignore_unknown_options": True, "allow_interspersed_args": False}
"""Leaves all further arguments to the program."""
PROGRAMS = ("pg_dump", "pg_restore", "psql", "pg_waldump")
"""The bundled programs that an operator may run."""


def run(
    program: Annotated[str, typer.Argument(help="pg_dump, pg_restore, psql or pg_waldump.")],
    arguments: Annotated[list[str] | None, typer.Argument(help="Its arguments.")] = None,
    data_dir: DataDir = None,
) -> None:
    settings = read_embedded(data_dir)
    if program not in PROGRAMS:
        fail(f"PROGRAM must be one of {', '.join(PROGRAMS)}; got {program}.", MISUSED)
    with backup_steps("Stopped."):
        status = run_program(settings, program, arguments or [])
    sys.exit(status)


def run_program(settings: Settings, program: str, arguments: Sequence[str]) -> int:
    """Run a bundled program on the database of the data folder and return its exit status.

    Raises:
        PostgresStartError: there is no database, or its server cannot run.
    """
    path = str(postgres_program(find_binaries(), program))
    with running_postgres(settings) as url, _left_to_child():
        variables = {**environment(), **variables_of(url)}
        return subprocess.run([path, *arguments], env=variables, check=False).returncode  # noqa: S603 - a program of the installed package


@contextmanager
def _left_to_child() -> Iterator[None]:
    """Leave Ctrl-C to the program in the foreground, as a shell does."""
    # The program would inherit SIG_IGN, but not a handler.
    former = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)
