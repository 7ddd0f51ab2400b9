"""Use cases of operations: read, list, wait, cancel, delete, retry; the metrics of the queue."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from prometheus_client import Gauge

from app.adapters.batches import SweepBatches
from app.adapters.db.filters import read_filter
from app.adapters.db.lists import list_page
from app.adapters.db.session import Database, Session
from app.adapters.metrics import of_all
from app.adapters.resources import Resources, ResponseReader, Retry
from app.kernel.auth import Caller
from app.kernel.changes import IdempotencyKey
from app.kernel.clock import Clock
from app.kernel.errors import AlreadyExists, FailedPrecondition, InvalidArgument, NotFound, Reason
from app.kernel.names import EngineName, OperationName
from app.kernel.paging import PageRequest
from app.kernel.permissions import Permission
from app.platform.operations.logic.states import INGEST, OperationState
from app.platform.operations.schemas import (
    FailureGroup,
    GroupFailuresResponse,
    ListOperationsResponse,
    Operation,
)
from app.platform.operations.services.mutation import insert_queued, unlocked, write
from app.platform.operations.store import (
    failures,
    idempotency,
    kept_requests,
    leases,
    queue,
    repository,
)
from app.platform.operations.store.filtering import operations
from app.platform.operations.store.repository import NewOperation
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
        listed = operations(engine, self.kinds)
        asked = listed.filtered_page(page, self.settings, filter_text, engine=engine.engine)
        statement = repository.select_operations(engine, self.clock.now())
        async with self.db.snapshot() as session:
            rows, token = await list_page(session, statement, asked)
        return ListOperationsResponse(
            operations=[Operation.from_row(row) for row in rows], next_page_token=token
        )

    async def group_failures(
        self, engine: EngineName, filter_text: str | None
    ) -> GroupFailuresResponse:
        """Return the failed operations that a filter selects, by reason, model and hour."""
        fields = operations(engine, self.kinds).fields
        clause = read_filter(filter_text, fields, self.settings)
        async with self.db.snapshot() as session:
            counted = await failures.count_groups(session, engine, self.clock.now(), clause)
        return GroupFailuresResponse(
            failure_groups=[
                FailureGroup(
                    reason=group.reason,
                    author=group.author,
                    start_time=group.hour,
                    operation_count=group.operations,
                )
                for group in counted.groups
            ],
            operation_count=counted.operations,
            is_capped=counted.has_more or None,
        )

    async def wait(
        self, name: OperationName, at_most: timedelta | None, is_given_up: GivenUp
    ) -> Operation:
        """Return the operation once done; as it is after `at_most` or when the process stops."""
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
        """Delete an ended operation, or raise FailedPrecondition; its effects stay."""
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


_DUE = of_all(Gauge, "memory_bank_operations_due", "Operations that are due and wait for a worker.")
_OLDEST = of_all(
    Gauge,
    "memory_bank_operations_oldest_due_seconds",
    "Time since the oldest of the due operations became due; 0 without any.",
)

_RUNNING = of_all(
    Gauge, "memory_bank_operations_running", "Operations that a worker has claimed.", ["kind"]
)


async def show_queue(resources: Resources) -> None:
    """Update the queue metrics, over all engines."""
    now = resources.clock.now()

    async def read(session: Session) -> tuple[tuple[int, float], Mapping[str, int]]:
        return await queue.queue_at(session, now), await queue.running_by_kind(session)

    (due, oldest_seconds), running = await resources.db.read_all(read)
    _DUE.set(due)
    _OLDEST.set(oldest_seconds)
    _RUNNING.clear()
    for kind, count in running.items():
        _RUNNING.labels(kind).set(count)


async def retry(
    resources: Resources,
    name: OperationName,
    once: IdempotencyKey | None,
    require: Callable[[Permission], None],
    *,
    validate_only: bool = False,
) -> OperationRow:
    """Queue a failed operation's request as a new operation of the caller.

    `require` checks the permission that the kind's own method demands. With `validate_only`, the
    new operation is a preview, and the failed one keeps its request.

    Raises:
        AlreadyExists: the operation was retried.
        FailedPrecondition: the operation has not failed, its kind is not retried, or its request is
            not kept.
        InvalidArgument: the kind has no previews.
        ResourceExhausted: a limit of the kind's own method is reached, or the queue is full.
    """
    now = resources.clock.now()
    async with resources.db.transaction() as session:
        failed = await repository.get(session, name, now)
        way = resources.registry.retries.get(failed.kind)
        if way is not None:
            require(way.permission)
        new = _renewed(resources, failed, now)
        if validate_only:
            new = _previewing(new, failed, way)
        known = await idempotency.begin(session, once, new.engine_id, now, operation=new)
        if known is not None:
            return await known.operation(session, name.engine, now)
        way = _checked(resources, failed, now)
        most = resources.settings.engine_max_queued_operations
        await leases.check_queue(session, failed.engine_id, most)
        # Before the operation's lock: an erasure locks the engine first, too.
        renewed = await way.renew(resources, session, failed, new)
        locked = await leases.lock(session, failed.engine_id, failed.operation_id)
        if locked is None:
            raise NotFound.of(name)
        _checked(resources, locked, now)
        row = await insert_queued(session, once, new.engine_id, begun=new, operation=renewed)
        await repository.note_undo(session, row)
        if not validate_only:
            await kept_requests.hand_on(session, locked, row.name)
        return row


def retried_kinds(resources: Resources, caller: Caller) -> list[str]:
    """Return the kinds of operations that a caller may retry."""
    retries = resources.registry.retries
    return [kind for kind, way in retries.items() if caller.may(way.permission)]


def _renewed(resources: Resources, failed: OperationRow, now: datetime) -> NewOperation:
    kept = {key: value for key, value in failed.details.items() if key in {"@type", "source"}}
    return NewOperation(
        failed.engine_id,
        failed.engine_name,
        failed.kind,
        now,
        resources.settings.operation_retention,
        {**kept, "retriedOperation": failed.name},
        failed.key,
        failed.request,
        scopes=failed.scopes,
    )


def _previewing(new: NewOperation, failed: OperationRow, way: Retry | None) -> NewOperation:
    """Return the preview of a retry; it waits for no other operation, since it writes nothing."""
    if way is None or way.preview is None:
        raise InvalidArgument.of_field(
            "validateOnly", f"must be false: operations of the kind {failed.kind} have no previews."
        )
    # What earlier rounds have written is no part of the preview.
    rest = {key: value for key, value in (failed.request or {}).items() if key != "answered"}
    kind = replace(new, kind=way.preview).noting(validateOnly=True)
    return kind.queued(None, {**rest, "validateOnly": True})


def _checked(resources: Resources, row: OperationRow, now: datetime) -> Retry:
    state, retries = OperationState(row.state), resources.registry.retries
    if not state.is_final:
        raise FailedPrecondition(
            f"{row.name} has not ended; only a failed operation is retried.",
            Reason.OPERATION_RUNNING,
        )
    if state is not OperationState.FAILED:
        raise FailedPrecondition(
            f"{row.name} {_ENDS[state]}; only a failed operation is retried.",
            Reason.OPERATION_NOT_FAILED,
        )
    if row.kind not in retries:
        raise FailedPrecondition(
            f"{row.name} {_instead(row.kind, sorted(retries))}", Reason.KIND_NOT_RETRIED
        )
    if newer := row.details.get(kept_requests.RETRIED_BY):
        raise AlreadyExists(
            f"{row.name} was retried; see {newer}.",
            Reason.ALREADY_RETRIED,
            metadata={"operation": newer},
        )
    kept = resources.settings.failed_request_retention
    if row.request is None or row.update_time + kept <= now:
        raise not_kept(row)
    return retries[row.kind]


_ENDS = {OperationState.SUCCEEDED: "succeeded", OperationState.CANCELLED: "was cancelled"}


def _instead(kind: str, retried: list[str]) -> str:
    if kind == INGEST:
        return "ingests a stream, which keeps its events and tries by itself; flush the stream."
    return f"is of the kind {kind}; only these kinds are retried: {', '.join(retried)}."


def not_kept(row: OperationRow) -> FailedPrecondition:
    """Return the error of an operation whose request cannot run again."""
    return FailedPrecondition(
        f"The request of {row.name} is no longer kept, or was erased; send the request itself.",
        Reason.REQUEST_NOT_KEPT,
    )


async def forget_old_requests(batches: SweepBatches) -> int:
    """Clear the requests of operations that failed too long ago; return the count."""
    kept = batches.resources.settings.failed_request_retention
    select = partial(kept_requests.select_old, kept)
    return await batches.remove(select, kept_requests.clear_old)
