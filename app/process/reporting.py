"""The end of a process: its status, and one sentence where an operator can mend what is wrong."""

from collections.abc import Callable

import typer

from app.adapters.db.migrate import SchemaError
from app.adapters.llm.names import ModelSetupError
from app.adapters.postgres.embedded import PostgresStartError
from app.adapters.terminal import FAILED, OUTDATED
from app.kernel.errors import ServiceError
from app.process.listening import SchemaChangedError, ServeError

_SUCCEEDED = 0


def status_of(run: Callable[[], int | None]) -> int:
    """Run to the end; return the status, after the reason of a failure that can be mended."""
    try:
        return run() or _SUCCEEDED
    except SchemaChangedError as error:
        typer.echo(str(error), err=True)
        return OUTDATED
    except (SchemaError, PostgresStartError, ServeError, ModelSetupError, ServiceError) as error:
        typer.echo(str(error), err=True)
        return FAILED
