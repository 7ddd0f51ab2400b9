"""Keep the list of erasures outside the database, and repeat them after a restore."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from app.adapters.resources import Resources
from app.adapters.terminal import MISUSED, fail, read_settings
from app.kernel.errors import FailedPrecondition, InvalidArgument, Reason
from app.kernel.names import WILDCARD, EngineName, OperationName
from app.memory.erasures import store
from app.memory.erasures.services.erasures import (
    UNDER_WAY,
    ErasureLine,
    line_of,
    queue_again,
    read_lines,
)
from app.platform.engines.store import repository as engines
from app.platform.engines.store.tables import name_of
from app.platform.operations.schemas import Operation
from app.platform.operations.store import repository as operations
from app.process.on_database import run_on_database
from app.process.restoring import header_of
from app.process.worker import make_runner

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False)

_LOOK_SECONDS = 0.5
_DataDir = Annotated[Path | None, typer.Option(help="Folder of the embedded Postgres.")]
_File = Annotated[Path, typer.Argument(help="File with a line for each erasure.")]


@app.command("export")
def export(file: _File, data_dir: _DataDir = None) -> None:
    """Write the list of all erasures into FILE; it has pseudonyms only."""
    text = run_on_database(read_settings(data_dir=data_dir), listed)
    with _failing():
        file.write_text(text, encoding="utf-8")
    count = text.count("\n")
    typer.echo(f"Erasures written: {count}.")


@app.command("apply")
def apply(
    file: _File,
    archive: Annotated[
        Path | None, typer.Option(help="Archive from which --engine was restored.")
    ] = None,
    engine: Annotated[
        int | None, typer.Option(help="Engine that was restored from --archive, by its id.")
    ] = None,
    data_dir: _DataDir = None,
) -> None:
    """Erase again what a restored backup or archive has brought back, by the list in FILE."""
    if (archive is None) != (engine is None):
        fail("--archive and --engine belong together.", MISUSED)
    settings = read_settings(data_dir=data_dir)
    with _failing():
        lines = read_lines(file.read_text(encoding="utf-8"))
    if archive is not None and engine is not None:
        header = header_of(archive)
        restored = RestoredEngine(engine, header.engine, header.export_time)
        count = run_on_database(settings, lambda resources: restored.erase_again(resources, lines))
    else:
        count = run_on_database(settings, lambda resources: repeated(resources, lines))
    typer.echo(f"Erasures repeated: {count}.")


@dataclass(frozen=True)
class RestoredEngine:
    """An engine restored from an archive, its name there, and the time of the export (`since`)."""

    engine_id: int
    archived: str
    since: datetime

    async def erase_again(self, resources: Resources, lines: Sequence[ErasureLine]) -> int:
        """Repeat the erasures since the export; return the number that found data.

        The archive cannot contain data that was erased earlier.

        Raises:
            FailedPrecondition: an erasure failed, or the list was made with another key.
        """
        async with resources.db.snapshot() as session:
            name = EngineName(WILDCARD, WILDCARD, self.engine_id)
            name = name_of(await engines.get(session, name))
        recent = [
            line.model_copy(update={"engine": str(name), "is_service_wide": False})
            for line in lines
            if line.engine == self.archived and line.time >= self.since - UNDER_WAY
        ]
        return await repeated(resources, recent)


async def listed(resources: Resources) -> str:
    """Return the list of all erasures, one per line."""
    async with resources.db.snapshot() as session:
        return "".join(map(line_of, await store.list_all(session)))


async def repeated(resources: Resources, lines: Sequence[ErasureLine]) -> int:
    """Repeat the erasures that the database does not know; return the number that found data.

    Raises:
        FailedPrecondition: an erasure failed, or the list was made with another key.
    """
    runner = make_runner(resources)
    queued = await queue_again(resources, lines)
    for name in queued:
        await runner.run_one(name.engine.engine, name.operation)
        while not (operation := await _operation(resources, name)).done:
            # A worker holds the operation, or it waits for its next attempt.
            await asyncio.sleep(_LOOK_SECONDS)
            await runner.run_one(name.engine.engine, name.operation)
        if operation.error is not None:
            raise FailedPrecondition(f"{name}: {operation.error['message']}", Reason.INTERNAL)
    return len(queued)


async def _operation(resources: Resources, name: OperationName) -> Operation:
    async with resources.db.snapshot() as session:
        return Operation.from_row(await operations.get(session, name, resources.clock.now()))


@contextmanager
def _failing() -> Iterator[None]:
    try:
        yield
    except InvalidArgument as error:
        fail(str(error))
    except (OSError, UnicodeDecodeError) as error:
        fail(f"The file cannot be used: {error}")
