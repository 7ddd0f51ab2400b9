"""The implementation of `memory-bank reembed`: queues re-embeddings and runs them itself.

If a worker leases an operation first, this command follows it. Either process may be killed; the
other continues from the saved progress. The database is chosen as for `memory-bank keys`.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial

import typer

from app.adapters.db.migrate import SchemaError
from app.adapters.llm.names import ModelSetupError
from app.adapters.postgres.process import PostgresStartError
from app.adapters.resources import Resources, open_resources
from app.adapters.terminal import FAILED, fail
from app.kernel.audit import Audited
from app.kernel.auth import Caller, Reach
from app.kernel.errors import ServiceError
from app.kernel.names import WILDCARD, EngineName, LocationName, OperationName
from app.kernel.paging import MAX_PAGE_SIZE, PageRequest
from app.kernel.permissions import Permission
from app.memory.reembedding.services import reembedding
from app.platform.audit.service import AuditService
from app.platform.engines.services.engines import EngineService
from app.platform.operations.schemas import Operation
from app.platform.operations.services.runner import Runner
from app.platform.operations.store import repository as operations
from app.process.key_admin import database_of
from app.process.worker import make_runner
from app.settings.settings import Settings

CALLER = Caller("command-line", frozenset(Permission))
"""The caller of this command in the audit log."""

_LOOK_SECONDS = 0.5

Report = Callable[[Operation], None]
"""Called with the current state of an operation after every poll."""


async def reembed(settings: Settings, engine_ids: Sequence[int] | None, report: Report) -> bool:
    """Re-embed some or all engines with the configured model; return True if all succeeded.

    Raises:
        NotFound: an engine does not exist.
        ModelSetupError: the model cannot be opened.
        PostgresStartError: the embedded Postgres cannot start, or there is no database.
        SchemaError: the database is not ready for this release.
    """
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(database_of(settings, may_make=False))
        resources = await stack.enter_async_context(open_resources(settings, url))
        if engine_ids is None:
            names = await all_engines(resources)
        else:
            names = [EngineName(WILDCARD, WILDCARD, engine_id) for engine_id in engine_ids]
        queued = [await _queued(resources, name) for name in names]
        runner = make_runner(resources)
        ended = [await _followed(resources, runner, operation, report) for operation in queued]
        return all(operation.error is None for operation in ended)


async def all_engines(resources: Resources) -> list[EngineName]:
    """Return the names of all engines."""
    service = EngineService.of(resources)
    everywhere = LocationName(WILDCARD, WILDCARD)
    names: list[EngineName] = []
    token: str | None = None
    while True:
        page = await service.list_engines(
            everywhere, Reach(), None, PageRequest(MAX_PAGE_SIZE, token)
        )
        names += [EngineName.parse(engine.name) for engine in page.reasoning_engines]
        token = page.next_page_token
        if token is None:
            return names


async def _queued(resources: Resources, name: EngineName) -> OperationName:
    audited = Audited(CALLER.key_id, "reembedReasoningEngine", str(name), engine_id=name.engine)
    record = partial(AuditService.of(resources).record, audited=audited)
    db = resources.db.for_caller(CALLER, record)
    row = await reembedding.start(replace(resources, db=db), name, None)
    return OperationName(EngineName.parse(row.engine_name), row.operation_id)


async def _followed(
    resources: Resources, runner: Runner, name: OperationName, report: Report
) -> Operation:
    """Run an operation or follow the worker that runs it; return it when it has ended."""
    async with asyncio.TaskGroup() as group:
        running: asyncio.Task[None] | None = None
        while True:
            async with resources.db.snapshot() as session:
                row = await operations.get(session, name, resources.clock.now())
            operation = Operation.from_row(row)
            report(operation)
            if operation.done:
                # The group waits for a run in this process, which may still clean up.
                return operation
            if running is None or running.done():
                running = group.create_task(_run(resources, runner, name))
            await asyncio.sleep(_LOOK_SECONDS)


async def _run(resources: Resources, runner: Runner, name: OperationName) -> None:
    """Run an operation unless a worker runs it; wait if it was postponed."""
    if await runner.run_one(name.engine.engine, name.operation):
        # An operation that has not ended was postponed, because the model is unavailable.
        async with resources.db.snapshot() as session:
            row = await operations.get(session, name, resources.clock.now())
        if not Operation.from_row(row).done:
            await asyncio.sleep(resources.settings.tuning.embedding_retry_seconds)


def run(settings: Settings, engine_ids: Sequence[int] | None, say: Callable[[str], None]) -> None:
    """Re-embed until all operations end and print progress; report errors in one sentence."""
    try:
        succeeded = asyncio.run(reembed(settings, engine_ids, _Said(say)))
    except (SchemaError, PostgresStartError, ModelSetupError, ServiceError) as error:
        fail(str(error))
    if not succeeded:
        raise typer.Exit(FAILED)


class _Said:
    """Prints the progress of operations."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._last = ""

    def __call__(self, operation: Operation) -> None:
        """Print the progress of an operation unless it equals the last printed line."""
        line = f"{operation.name.partition('/operations/')[0]}: {_state(operation)}"
        if line != self._last:
            self._say(line)
        self._last = line


def _state(operation: Operation) -> str:
    metadata = operation.metadata
    if operation.error is not None:
        return str(operation.error["message"])
    if operation.response is not None:
        serves = (
            f"{metadata['embeddedCount']} memories; {operation.response['embeddingModel']} serves."
        )
        refused = operation.response.get("refusedCount", 0)
        # The operation names the refused memories.
        return f"{serves} It refuses {refused} more, found by words alone." if refused else serves
    if "postponedUntil" in metadata:
        return f"the model is away; next attempt at {metadata['postponedUntil']}."
    if "totalCount" not in metadata:
        return "waiting."
    return f"{metadata['embeddedCount']} of {metadata['totalCount']} ({metadata['percent']} %)."
