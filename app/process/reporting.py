"""Messages of a process for its operator: a new data folder, its stop and fatal errors."""

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TextIO

import typer

from app.adapters.db.migrate import SchemaError
from app.adapters.llm.models import ModelSetupError
from app.adapters.postgres.embedded import PostgresStartError
from app.adapters.postgres.server import has_cluster
from app.adapters.terminal import FAILED, OUTDATED
from app.kernel.errors import ServiceError
from app.process.listening import SchemaChangedError, ServeError

_SUCCEEDED = 0


def status_of(run: Callable[[], int | None]) -> int:
    """Run to the end and return the exit status; print an error that an operator can fix."""
    try:
        return run() or _SUCCEEDED
    except SchemaChangedError as error:
        typer.echo(str(error), err=True)
        return OUTDATED
    except (SchemaError, PostgresStartError, ServeError, ModelSetupError, ServiceError) as error:
        typer.echo(str(error), err=True)
        return FAILED


def tell_new_folder(data_dir: Path, stream: TextIO) -> None:
    """Announce a new data folder, because its name may be a typing error."""
    if not has_cluster(data_dir):
        say(f"New data folder: {data_dir.resolve()}", stream)


def tell_stopping(grace_seconds: float) -> None:
    """Announce the stop of the process and its longest duration, on a terminal only."""
    if sys.stdout.isatty():
        say(f"Stopping: what runs has {grace_seconds:g} s to end; a second Ctrl-C ends it at once.")


def say(sentence: str, stream: TextIO | None = None) -> None:
    """Write and flush a line; a closed stream is ignored."""
    stream = stream or sys.stdout
    with suppress(OSError):
        stream.write(f"{sentence}\n")
        stream.flush()
