"""The progress, the errors and the settings of commands about backups of the embedded Postgres."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated

import typer

from app.adapters.db.migrate import SchemaError
from app.adapters.llm.models import ModelSetupError
from app.adapters.postgres.catalog import BackupError
from app.adapters.postgres.programs import PostgresStartError
from app.adapters.terminal import MISUSED, fail, read_settings
from app.kernel.errors import ServiceError
from app.process.progress import progress, stoppable
from app.settings.settings import Settings

Directory = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of backups.")]
DataDir = Annotated[Path | None, typer.Option(help="Folder of the embedded Postgres.")]


class _Steps:
    """Shows the progress of consecutive steps in bytes."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._step = ""
        self._done = 0

    def __call__(self, step: str, done: int, total: int) -> None:
        if self._step != step:
            self._stack.close()
            self._step, self._done = step, 0
            self._shown = self._stack.enter_context(progress(step, total, "bytes"))
        self._shown.advance(done - self._done)
        self._done = done


@contextmanager
def backup_steps(interrupted: str) -> Iterator[_Steps]:
    """Yield a progress display; report errors and Ctrl-C in one sentence."""
    try:
        with stoppable(interrupted), ExitStack() as stack:
            yield _Steps(stack)
    except (
        BackupError,
        PostgresStartError,
        SchemaError,
        ModelSetupError,
        ServiceError,
        OSError,
    ) as error:
        fail(str(error))


def read_embedded(data_dir: Path | None) -> Settings:
    """Read the settings of a command that supports only the embedded Postgres."""
    settings = read_settings(data_dir=data_dir)
    if data_dir is None and settings.database_url is not None:
        fail(
            "This command is for the embedded Postgres: name its folder with --data-dir. For the"
            " database of MEMORY_BANK_DATABASE_URL use its own tools, such as pg_dump.",
            MISUSED,
        )
    return settings
