"""The implementation of `memory-bank erasures ...`: the list of erasures, and their repetition.

The database is found as for `memory-bank keys`.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from app.adapters.db.migrate import SchemaError
from app.adapters.llm.names import ModelSetupError
from app.adapters.postgres.process import PostgresStartError
from app.adapters.resources import Resources, open_resources
from app.adapters.terminal import fail
from app.kernel.errors import FailedPrecondition, Reason, ServiceError
from app.kernel.names import OperationName
from app.memory.erasures.services.certificates import line_of
from app.memory.erasures.services.restores import ErasureLine, RestoreService, read_lines
from app.memory.erasures.store import repository
from app.platform.operations.schemas import Operation
from app.platform.operations.store import repository as operations
from app.process.features import register
from app.process.key_admin import database_of
from app.process.worker import make_runner
from app.settings.settings import Settings

_LOOK_SECONDS = 0.5


@asynccontextmanager
async def _opened(settings: Settings) -> AsyncIterator[Resources]:
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(database_of(settings, may_make=False))
        yield register(await stack.enter_async_context(open_resources(settings, url)))


async def listed(resources: Resources) -> str:
    """Return the list of all erasures, a line each."""
    async with resources.db.snapshot() as session:
        return "".join(map(line_of, await repository.list_all(session)))


async def repeated(resources: Resources, lines: Sequence[ErasureLine]) -> int:
    """Repeat the erasures that the database does not know; return how many found something.

    Raises:
        FailedPrecondition: one of them failed, or the list was made with another key.
    """
    runner = make_runner(resources)
    queued = await RestoreService(resources).queue(lines)
    for name in queued:
        await runner.run_one(name.engine.engine, name.operation)
        while not (operation := await _operation(resources, name)).done:
            # A worker has it, or it waits for its next attempt.
            await asyncio.sleep(_LOOK_SECONDS)
            await runner.run_one(name.engine.engine, name.operation)
        if operation.error is not None:
            raise FailedPrecondition(f"{name}: {operation.error['message']}", Reason.INTERNAL)
    return len(queued)


async def _operation(resources: Resources, name: OperationName) -> Operation:
    async with resources.db.snapshot() as session:
        return Operation.from_row(await operations.get(session, name, resources.clock.now()))


def export(settings: Settings, file: Path) -> int:
    """Write the list into a file; return the number of its lines."""

    async def write() -> int:
        async with _opened(settings) as resources:
            text = await listed(resources)
        await asyncio.to_thread(file.write_text, text, encoding="utf-8")
        return text.count("\n")

    return _run(write())


def apply(settings: Settings, file: Path) -> int:
    """Repeat the erasures of a file; return how many found something to erase."""

    async def repeat() -> int:
        text = await asyncio.to_thread(file.read_text, encoding="utf-8")
        lines = read_lines(text)
        async with _opened(settings) as resources:
            return await repeated(resources, lines)

    return _run(repeat())


def _run(work: Coroutine[Any, Any, int]) -> int:
    try:
        return asyncio.run(work)
    except (SchemaError, PostgresStartError, ModelSetupError, ServiceError) as error:
        fail(str(error))
    except (OSError, UnicodeDecodeError) as error:
        fail(f"The file cannot be used: {error}")
