"""The worker loop: claims operations, runs them under a lease, and records their ends."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from random import SystemRandom
from time import monotonic
from typing import Any

import structlog

from app.adapters import tracing
from app.adapters.concurrency import raise_if_cancelled
from app.adapters.db.errors import is_unreached_state
from app.adapters.db.nodes import working_for
from app.adapters.db.own_connections import Notices
from app.adapters.db.session import Database, Session
from app.kernel.clock import Clock
from app.kernel.errors import (
    Aborted,
    DeadlineExceeded,
    Internal,
    NotFound,
    Reason,
    ResourceExhausted,
    ServiceError,
    Unavailable,
    describe,
)
from app.kernel.wire.scalars import parse_timestamp
from app.platform.operations.logic.places import PassedOver, passed_over
from app.platform.operations.services.claiming import Claiming
from app.platform.operations.store import leases, queue, repository
from app.platform.operations.store.leases import EVER, Claim, WantedOperations
from app.platform.operations.store.queue import UNREACHED
from app.settings.settings import Settings

log = structlog.get_logger()

RETRYABLE = (Unavailable, ResourceExhausted, DeadlineExceeded, Aborted)
"""Transient failures."""
# The model client has already retried the first two as long as a client should wait; a token
# budget lasts a day; a generation that used up its plans is not paid for again unasked; a text
# that took too long takes as long again.
_FINAL = (
    Reason.MODEL_TIMEOUT,
    Reason.MODEL_RATE_LIMITED,
    Reason.TOKEN_BUDGET_EXHAUSTED,
    Reason.SCOPE_KEEPS_CHANGING,
    Reason.TEXT_TAKES_TOO_LONG,
)
# A retry waits between half of its delay and the whole, so that failures spread out.
_JITTER = 0.5
_LONGEST_WAIT = timedelta(days=1)
"""Time for which an operation is tried again while a node of a distributed database is away."""
_random = SystemRandom()


class LeaseLost(Exception):
    """Another worker holds the operation; nothing of this attempt may remain."""


class Postponed(Exception):
    """A job cannot run before a given time, through no fault of its own."""

    def __init__(self, until: datetime) -> None:
        super().__init__(until)
        self.until = until


@dataclass(frozen=True)
class Job:
    """A claimed operation, as seen by the function that runs it."""

    claim: Claim
    db: Database
    clock: Clock
    keep: timedelta

    async def step(self) -> None:
        """Raise Cancelled if the client has asked to cancel. Opens a short transaction."""
        async with self.db.snapshot() as session:
            is_cancelled = await leases.is_cancelled(session, self.claim.owned)
        if is_cancelled:
            raise repository.cancelled()

    async def finish(
        self, session: Session, response: dict[str, Any], details: dict[str, Any]
    ) -> None:
        """End the operation in the transaction of its effects, which the exceptions must roll back.

        Raises:
            Cancelled: the client has asked to cancel.
            LeaseLost: this worker no longer owns the operation.
        """
        ended = (self.clock.now(), self.keep)
        if await repository.finish(session, self.claim.owned, ended, response, details):
            return
        if await leases.is_cancelled(session, self.claim.owned):
            raise repository.cancelled()
        raise LeaseLost

    async def advance(self, session: Session) -> None:
        """Note that the work advances, or raise LeaseLost; a later kill then costs no attempt."""
        if not await queue.restart_attempts(session, self.claim.owned):
            raise LeaseLost

    async def go_on(
        self,
        session: Session,
        now: datetime,
        details: dict[str, Any],
        request: dict[str, Any] | None = None,
    ) -> None:
        """Requeue the partly done operation in the transaction of its effects, or raise LeaseLost.

        `details` are added to its metadata; a `request` for the rest replaces its own.
        """
        ended = (now, self.keep)
        if not await leases.go_on(session, self.claim.owned, ended, now, details, request):
            raise LeaseLost

    async def note(self, session: Session, details: dict[str, Any]) -> None:
        """Add to the metadata of the running operation; no effect if its lease was lost."""
        await repository.note(session, self.claim.owned, details)

    async def lock_details(self, session: Session) -> dict[str, Any]:
        """Lock the operation and return its metadata as they are now, or raise LeaseLost."""
        details = await queue.lock_details(session, self.claim.owned)
        if details is None:
            raise LeaseLost
        return details


JobFunction = Callable[[Job], Awaitable[None]]


class Runner:
    """The worker that runs operations until it is stopped."""

    def __init__(
        self,
        db: Database,
        clock: Clock,
        settings: Settings,
        jobs: Mapping[str, JobFunction],
        retried: Collection[str] = (),
    ) -> None:
        self._db = db
        self._clock = clock
        self._settings = settings
        self._jobs = jobs
        self._retried = retried if settings.failed_request_retention else ()
        self._claiming = Claiming(db, clock, settings)
        self._lease = timedelta(seconds=settings.tuning.worker_lease_seconds)
        self._keep = timedelta(seconds=settings.operation_retention_seconds)
        self.notices = Notices()
        self._running: dict[asyncio.Task[None], Claim] = {}
        self._looked = monotonic()

    def is_looking(self) -> bool:
        """Return True if the runner has just looked for work, or has no room for more."""
        is_full = self.count_running() >= self._settings.worker_places
        quiet = monotonic() - self._looked
        return is_full or quiet < self._settings.tuning.worker_hung_seconds

    def count_running(self) -> int:
        """Return the number of operations that are running."""
        return len(self._running)

    async def run(self) -> None:
        """Claim and run until cancelled; then let running work end within the grace period."""
        slots = asyncio.Semaphore(self._settings.worker_places)
        try:
            while True:
                await slots.acquire()
                claim = await self._next()
                task = asyncio.create_task(self._work(claim))
                self._running[task] = claim
                task.add_done_callback(self._running.pop)
                task.add_done_callback(lambda _: slots.release())
                # Its key is free now, or its next attempt has a time.
                task.add_done_callback(lambda _: self.notices.come())
        finally:
            await self._drain()

    async def run_pending(self) -> int:
        """Run the due operations one after another and return their number; for tests."""
        count = 0
        while (claim := await self._claiming.claim()) is not None:
            await self._work(claim)
            count += 1
        return count

    async def run_one(self, engine_id: int, operation_id: str) -> bool:
        """Run one operation now, due or not, unless a worker has it; return True if it ran."""
        wanted = WantedOperations(engine_id, [operation_id], EVER)
        claim = await self._claiming.take(wanted)
        if claim is not None:
            await self._work(claim)
        return claim is not None

    async def _next(self) -> Claim:
        while True:
            self.notices.clear()
            self._looked = monotonic()
            pause = self._settings.tuning.worker_poll_seconds
            try:
                may_write = not self._db.fence.closed.is_set()
                passed = self._passed_over()
                if may_write and (claim := await self._claiming.claim(passed)) is not None:
                    return claim
                if self.notices.are_heard:
                    pause = max(pause, await self._claiming.quiet_seconds())
            except Exception as error:  # noqa: BLE001 - a worker outlives whatever befalls its database
                raise_if_cancelled()
                log.warning("worker.claim_failed", error=describe(error))
            await self.notices.wait(pause)

    def _passed_over(self) -> PassedOver:
        running = [(claim.owned.engine_id, claim.caller) for claim in self._running.values()]
        return passed_over(running, self._settings.worker_places)

    async def _drain(self) -> None:
        if not self._running:
            return
        running = set(self._running)
        _, late = await asyncio.wait(running, timeout=self._settings.shutdown_grace_seconds)
        for task in late:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _work(self, claim: Claim) -> None:
        name = f"{claim.engine_name}/operations/{claim.owned.operation_id}"
        with structlog.contextvars.bound_contextvars(
            operation=name,
            kind=claim.kind,
            engine=claim.owned.engine_id,
            request_id=claim.request_id,
        ):
            job = Job(claim, self._db, self._clock, self._keep)
            with working_for(claim.owned.engine_id):
                work = asyncio.create_task(self._run_job(job))
                keeper = asyncio.create_task(self._keep_lease(claim, work))
            try:
                await work
            except asyncio.CancelledError:
                work.cancel()
                await asyncio.gather(work, return_exceptions=True)
                await self._record(lambda: self._release(claim), timedelta())
            except LeaseLost:
                log.warning("operation.lease_lost", attempts=claim.attempts)
            except Postponed as later:
                await self._record(partial(self._postpone, claim, later.until), self._lease)
            except Exception as error:  # noqa: BLE001 - every failure must be recorded in the row
                # Bound now: the name of a caught error is deleted at the end of its clause.
                await self._record(partial(self._fail, claim, error), self._lease)
            else:
                log.info("operation.succeeded", attempts=claim.attempts)
            finally:
                keeper.cancel()
            # A caller that runs operations in a loop ends now.
            raise_if_cancelled()

    async def _run_job(self, job: Job) -> None:
        claim = job.claim
        if claim.is_cancelled:
            raise repository.cancelled()
        if claim.attempts > self._settings.tuning.worker_max_attempts:
            raise Internal(
                f"The work did not end in {self._settings.tuning.worker_max_attempts} attempts.",
                Reason.ATTEMPTS_EXHAUSTED,
            )
        with tracing.operation_span(claim.kind, claim.traceparent, attempts=claim.attempts):
            await self._jobs[claim.kind](job)

    async def _keep_lease(self, claim: Claim, work: asyncio.Task[None]) -> None:
        while True:
            await asyncio.sleep(self._lease.total_seconds() / 3)
            try:
                async with self._db.transaction() as session:
                    kept = await leases.renew(session, claim.owned, self._lease)
            except Exception as error:  # noqa: BLE001 - the next renewal may succeed
                log.warning("operation.renew_failed", error=describe(error))
                continue
            if kept is not False:
                work.cancel()
                return

    async def _release(self, claim: Claim) -> None:
        async with self._db.transaction() as session:
            await leases.release(session, claim.owned, self._ended())

    async def _postpone(self, claim: Claim, until: datetime) -> None:
        log.info("operation.postponed", until=until.isoformat())
        async with self._db.transaction() as session:
            await leases.postpone(session, claim.owned, self._ended(), until)

    async def _fail(self, claim: Claim, error: Exception) -> None:
        failure = _as_service_error(error)
        may_retry = isinstance(failure, RETRYABLE) and failure.reason not in _FINAL
        is_last = claim.attempts >= self._settings.tuning.worker_max_attempts
        said = log.bind(
            reason=failure.reason,
            attempts=claim.attempts,
            http_status=failure.metadata.get("httpStatus"),
        )
        async with self._db.transaction() as session:
            since = self._unreached_since(claim, failure)
            if since is not None:
                due = self._clock.now() + self._node_delay(since)
                said.warning("operation.node_away", since=since.isoformat())
                error_row = failure.as_operation_error()
                await leases.wait_for_node(
                    session, claim.owned, self._ended(), due, error_row, since
                )
                return
            if may_retry and not is_last:
                due = self._clock.now() + self._delay(failure, claim.attempts)
                said.warning("operation.retry")
                await leases.retry(
                    session, claim.owned, self._ended(), due, failure.as_operation_error()
                )
                return
            said.error("operation.failed")
            # Nothing can be retried below what is gone.
            keeps = claim.kind in self._retried and not isinstance(failure, NotFound)
            await repository.fail(session, claim.owned, self._ended(), failure, keeps=keeps)

    def _unreached_since(self, claim: Claim, error: ServiceError) -> datetime | None:
        """Return since when an operation waits for a node of a distributed database.

        None if it does not, or has done so for a day. The node is another than the operation's own,
        which takes the outcome.
        """
        # A slow statement and a full disk have the same reason, and no node to wait for.
        is_unreached = isinstance(error, Unavailable) and is_unreached_state(error)
        if not self._db.is_distributed or not is_unreached:
            return None
        now, noted = self._clock.now(), claim.details.get(UNREACHED)
        since = now if noted is None else parse_timestamp(noted)
        return since if now - since < _LONGEST_WAIT else None

    def _node_delay(self, since: datetime) -> timedelta:
        tuning = self._settings.tuning
        away = (self._clock.now() - since).total_seconds()
        longest = max(tuning.worker_retry_base_seconds, away)
        return _jittered(min(longest, tuning.worker_retry_max_seconds))

    def _ended(self) -> tuple[datetime, timedelta]:
        return self._clock.now(), self._keep

    def _delay(self, error: ServiceError, attempts: int) -> timedelta:
        base = self._settings.tuning.worker_retry_base_seconds
        # Writing this outcome proves that the database is back: unlike an overloaded model, it
        # needs no growing delay.
        if error.reason is not Reason.DATABASE_UNAVAILABLE:
            base = min(base * 2 ** (attempts - 1), self._settings.tuning.worker_retry_max_seconds)
        return _jittered(base)

    async def _record(self, write: Callable[[], Awaitable[None]], at_most: timedelta) -> None:
        """Write an outcome, retrying for `at_most`; after that the lease expires."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + at_most.total_seconds()
        while not self._db.fence.closed.is_set():
            try:
                await write()
            except Exception as error:  # noqa: BLE001 - as the docstring has it
                log.warning("operation.outcome_not_recorded", error=describe(error))
            else:
                return
            if loop.time() >= deadline:
                return
            await asyncio.sleep(self._settings.tuning.worker_poll_seconds)


def _jittered(seconds: float) -> timedelta:
    return timedelta(seconds=seconds * (_JITTER + _JITTER * _random.random()))


def _as_service_error(error: Exception) -> ServiceError:
    if isinstance(error, ServiceError):
        return error
    log.error("operation.unexpected_error", error=describe(error))
    return Internal("The work failed for an unexpected reason.", Reason.INTERNAL)
