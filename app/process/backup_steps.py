"""The progress, the errors and the settings of commands about backups of the embedded Postgres."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated

import typer

from app.adapters.db.migrate import SchemaError
from app.adapters.llm.names import ModelSetupError
from app.adapters.postgres.backup import BACKUPS
from app.adapters.postgres.catalog import BackupError, BackupFolder
from app.adapters.postgres.programs import PostgresStartError
from app.adapters.terminal import MISUSED, fail, read_settings
from app.kernel.errors import ServiceError
from app.memory.erasures.logic import ERASURE_LIST
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


def keep_copy(data_dir: Path, folder: BackupFolder) -> None:
    """Merge the list of a data folder into the copy stored with its backups.

    An empty copy shows a restore that no erasure is missing.
    """
    folder.write_file(ERASURE_LIST, joined([folder.path / ERASURE_LIST, data_dir / ERASURE_LIST]))


def lists_of(folder: BackupFolder, given: Path | None, data_dir: Path) -> list[Path]:
    """Return the lists that a restore applies, if they exist, and the given one.

    They are the copy stored with the backups and the list in the folder to restore into. Backups
    before migrations are in a data folder, whose list is included.
    """
    folders = [folder.path, data_dir]
    if folder.path.name == BACKUPS:
        folders.append(folder.path.parent)
    lists = [path for each in folders if (path := each / ERASURE_LIST).exists()]
    return [*lists, given] if given else lists


def joined(paths: Iterable[Path]) -> str:
    """Return the distinct lines of all lists; missing lists count as empty.

    Raises:
        BackupError: a list cannot be read.
    """
    lines: dict[str, None] = {}
    for path in paths:
        try:
            lines |= dict.fromkeys(path.read_text(encoding="utf-8").splitlines())
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError) as error:
            raise BackupError(f"{path} cannot be read: {error}.") from error
    return "".join(f"{line}\n" for line in lines if line.strip())
