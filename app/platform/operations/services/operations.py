"""Use cases of operations: read, list, wait, cancel, delete."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from app.adapters.db.lists import list_page
from app.adapters.db.session import Database, Session
from app.adapters.resources import Resources, ResponseReader
from app.kernel.changes import IdempotencyKey
from app.kernel.clock import Clock
from app.kernel.errors import FailedPrecondition, Reason
from app.kernel.names import EngineName, OperationName
from app.kernel.paging import PageRequest
from app.platform.operations.logic.states import OperationState
from app.platform.operations.schemas import ListOperationsResponse, Operation
from app.platform.operations.services.mutation import unlocked, write
from app.platform.operations.store import repository
from app.platform.operations.store.filtering import operations
from app.platform.operations.store.tables import OperationRow
from app.settings.settings import Settings

# Exponential backoff: most operations are short, and waiters are many.
_FIRST_LOOK_SECONDS = 0.05
_LONGEST_PAUSE_SECONDS = 1.0

GivenUp = Callable[[], Awaitable[bool]]
"""Callback that returns True if the client no longer waits for the response."""


@dataclass(frozen=True)
class OperationService:
    """Operations as clients see them."""

    db: Database
    clock: Clock
    readers: Mapping[str, ResponseReader]
    kinds: Collection[str]
    """All kinds of operations, which filters may name."""
    settings: Settings
    stopping: asyncio.Event
    """Set when the process is stopping; it ends all waits."""

    @classmethod
    def of(cls, resources: Resources) -> "OperationService":
        """Build the service from the process's resources."""
        return cls(
            resources.db,
            resources.clock,
            resources.registry.response_readers,
            resources.registry.kinds,
            resources.settings,
            resources.stopping,
        )

    @property
    def longest_wait(self) -> timedelta:
        """Longest wait of `:wait` before it answers a running operation."""
        return timedelta(seconds=self.settings.tuning.operation_wait_max_seconds)

    async def get(self, name: OperationName) -> Operation:
        """Return an operation; its response is filled from the present state."""
        return await self.render(await repository.find_alone(self.db, name, self.clock.now()))

    async def render(self, row: OperationRow) -> Operation:
        """Return the wire form of an operation that was just stored or read."""
        if row.kind not in self.readers or row.response is None:
            return Operation.from_row(row)
        async with self.db.snapshot() as session:
            return await self._render(session, row)

    async def list_operations(
        self, engine: EngineName, filter_text: str | None, page: PageRequest
    ) -> ListOperationsResponse:
        """Return a page of an engine's operations, newest first, without texts in responses."""
        listed = operations(self.kinds)
        asked = listed.filtered_page(page, self.settings, filter_text, engine=engine.engine)
        statement = repository.select_operations(engine, self.clock.now())
        async with self.db.snapshot() as session:
            rows, token = await list_page(session, statement, asked)
        return ListOperationsResponse(
            operations=[Operation.from_row(row) for row in rows], next_page_token=token
        )

    async def wait(
        self, name: OperationName, at_most: timedelta | None, is_given_up: GivenUp
    ) -> Operation:
        """Return the operation once done; as it is after `at_most` or when the process stops.

        `is_given_up` returns True if no waiter is left.
        """
        limit = self.longest_wait if at_most is None else min(at_most, self.longest_wait)
        loop = asyncio.get_running_loop()
        # Not `asyncio.timeout`: it would cancel a statement, and with it the connection.
        deadline = loop.time() + limit.total_seconds()
        pause = _FIRST_LOOK_SECONDS
        while True:
            operation = await self.get(name)
            left = deadline - loop.time()
            if operation.done or left <= 0 or self.stopping.is_set() or await is_given_up():
                return operation
            with suppress(TimeoutError):
                async with asyncio.timeout(min(pause, left)):
                    await self.stopping.wait()
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    async def cancel(self, name: OperationName, once: IdempotencyKey | None) -> None:
        """Cancel a pending operation; ask a running one to stop; leave an ended one alone."""
        now = self.clock.now()
        async with write(self, unlocked(name.engine), once, now=now) as change:
            if change.replayed is not None:
                return
            row = await repository.get(change.session, name, now, for_update=True)
            await repository.cancel(change.session, row, now, self.settings.operation_retention)

    async def delete(self, name: OperationName, once: IdempotencyKey | None) -> None:
        """Delete an ended operation; its effects stay.

        Raises:
            FailedPrecondition: it has not ended.
        """
        now = self.clock.now()
        async with write(self, unlocked(name.engine), once, now=now) as change:
            if change.replayed is not None:
                return
            row = await repository.get(change.session, name, now, for_update=True)
            if not OperationState(row.state).is_final:
                raise FailedPrecondition(
                    f"{name} has not ended; cancel it first.", Reason.OPERATION_RUNNING
                )
            await repository.remove(change.session, row)

    async def _render(self, session: Session, row: OperationRow) -> Operation:
        read = self.readers.get(row.kind)
        response: Mapping[str, Any] | None = row.response
        if read is not None and response is not None:
            response = await read(session, response)
        return Operation.from_row(row, response)
