"""One summary: what is read for it, the model's call outside any transaction, and its row.

Whatever becomes of the call, its costs are recorded, and nothing of the session is lost: until
there is a summary, its events stand for themselves.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import structlog

from app.adapters.db.session import Session
from app.adapters.llm.ports import Meter, TextModel
from app.adapters.resources import Resources
from app.conversation.strategies.logic.composing import Due
from app.conversation.strategies.logic.policies import Combine, Rules, Summarising
from app.conversation.summaries.services.writing import (
    Summarised,
    Task,
    model_for,
    name_of,
    summarise,
)
from app.conversation.summaries.store import erasure, repository
from app.conversation.summaries.store.repository import NewSummary
from app.kernel.errors import Reason, ServiceError
from app.kernel.failures import describe
from app.kernel.limits import Counted
from app.kernel.names import SessionName
from app.kernel.wire.memory_policy import MemoryPolicy
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.limits.services.quotas import check_room
from app.platform.operations.services.runner import Job, LeaseLost, Postponed
from app.platform.operations.store import claims
from app.platform.operations.store import repository as operations
from app.platform.sessions.logic.spoken import Said
from app.platform.sessions.store import repository as sessions
from app.platform.sessions.store.tables import SessionRow
from app.platform.usage.logic import costs
from app.platform.usage.services.usage import UsageService, reset_time
from app.platform.usage.store import repository as usage

log = structlog.get_logger()

_MAX_NOTE_SECONDS = 5
"""What work that is stopped may take to note its costs: who stops it waits for that."""


@dataclass(frozen=True)
class Found:
    """What a summary is made of, and by what is seen later that it still is.

    Attributes:
        superseded: the active summaries that give way to it.
    """

    task: Task
    session_time: datetime
    cleared_seq: int
    superseded: frozenset[str]


@dataclass
class Work:
    """The making of summaries of one session by one policy.

    Attributes:
        is_asked: whether one is made again because somebody asked for it.
        spent: what all calls have taken so far.
        count: the summaries that were made.
    """

    job: Job
    resources: Resources
    name: SessionName
    policy: MemoryPolicy
    rules: Rules
    made: Summarising
    is_asked: bool = False
    spent: Meter = field(default_factory=Meter)
    count: int = 0

    @property
    def model(self) -> TextModel | None:
        """The model that writes; None: sentences are chosen by their weight."""
        return model_for(self.resources.models, self.made)

    async def found(
        self,
        session: Session,
        row: SessionRow,
        due: Due,
        said: Sequence[Said],
        previous: Sequence[str],
    ) -> Found:
        """Return what is to be written; `said` and `previous` are what is to be read."""
        superseded = await repository.list_overlapping(session, self.name, self.rules.key, due)
        task = Task(due, self.rules, self.made, said, previous)
        return Found(task, row.create_time, row.cleared_seq, superseded)

    async def lock(self, session: Session) -> SessionRow | None:
        """Hold the engine, so that it is not deleted, and the session, if it is still there."""
        await engines.get(session, self.name.engine, Lock.SHARED)
        return await self.find(session, for_update=True)

    async def find(self, session: Session, *, for_update: bool = False) -> SessionRow | None:
        """Return the session, if it is still there, and not another user's under its id."""
        now = self.job.clock.now()
        row = await sessions.find(session, self.name, now, for_update=for_update)
        users = (self.job.claim.scopes or {}).get("user_id", ())
        return row if row is not None and row.user_id in users else None

    async def write(self, found: Found, meter: Meter) -> Summarised:
        """Have a summary written. Without a transaction.

        Raises:
            Postponed: the model failed, or the engine's tokens of the day, or its bytes, are used
                up; that is written, and when it is tried again.
            ServiceError: the same where somebody asked for it: it is not tried again.
        """
        try:
            await self._check_room()
            if self.model is not None:
                await self._check_budget()
            return await self._written(found.task, meter)
        except Exception as error:
            # One that nobody has foreseen, too: asked for anew at once, it would cost the same.
            retry_time = await self._fail(found, meter, _reason_of(error))
            raise error if retry_time is None else Postponed(retry_time) from error
        except asyncio.CancelledError:
            # The worker stops: what was asked until then is paid for.
            await self._note_in_time(meter)
            raise

    async def _written(self, task: Task, meter: Meter) -> Summarised:
        try:
            return await summarise(self.model, task, meter)
        finally:
            for model, used in meter.by_model.items():
                self.spent.add(model, used)

    @asynccontextmanager
    async def writing(self, meter: Meter) -> AsyncIterator[Session]:
        """Open the transaction of what calls were for; where it fails, their costs are kept."""
        count = self.count
        try:
            async with self.job.db.transaction() as session:
                yield session
        except BaseException:
            self.count = count
            await self._note_in_time(meter)
            raise

    async def hold(self, session: Session) -> None:
        """Note what the operation has come to, and keep it; late in a transaction, as `record`.

        Raises:
            Cancelled: the client has asked to cancel.
            LeaseLost: it is no longer this worker's, which must leave nothing in that case.
        """
        owned = self.job.claim.owned
        lease = timedelta(seconds=self.resources.settings.worker_lease_seconds)
        is_cancelled = await claims.renew(session, owned, lease)
        if is_cancelled is None:
            raise LeaseLost
        if is_cancelled:
            raise operations.cancelled()
        await self.job.note(session, self.details())

    async def keep(
        self, session: Session, row: SessionRow | None, found: Found, summary: NewSummary
    ) -> bool:
        """Write the row of a summary; false: the session has changed, and it was made in vain."""
        if row is None or row.create_time != found.session_time:
            return False
        if await self._is_same(session, row, found):
            await repository.insert_summary(session, self.name, summary)
            self.count += 1
            return True
        await repository.insert_stale(session, self.name, summary)
        return False

    async def _is_same(self, session: Session, row: SessionRow, found: Found) -> bool:
        """Say whether a summary that was made is still the one to make."""
        due = found.task.due
        if row.cleared_seq != found.cleared_seq:
            return False
        key = self.rules.key
        if await repository.list_overlapping(session, self.name, key, due) != found.superseded:
            return False
        kept = 0 if due.read is None else await erasure.count_kept(session, self.name, due.read)
        return kept == len(found.task.said)

    def row(self, found: Found, meter: Meter, written: Summarised | None) -> NewSummary:
        """Return the row of a summary, or of what came to nothing."""
        template = "" if self.model is None else found.task.template
        return NewSummary(
            policy_key=self.rules.key,
            policy=self.policy.wire(),
            due=found.task.due,
            is_cell=self.made.combine is not Combine.APPEND,
            is_asked=self.is_asked,
            now=self.job.clock.now(),
            model_id=name_of(self.model),
            template=template,
            text=None if written is None else written.text,
            is_cut=written is not None and written.is_cut,
            usage=self._usage(meter),
        )

    def _usage(self, meter: Meter) -> dict[str, dict[str, Any]]:
        prices = self.resources.settings.model_prices
        return {
            model: {
                "calls": used.calls,
                "inputTokens": used.input_tokens,
                "outputTokens": used.output_tokens,
                "milliseconds": used.milliseconds,
                **({} if (cost := costs.cost_of(model, used, prices)) is None else {"cost": cost}),
            }
            for model, used in meter.by_model.items()
        }

    async def record(self, session: Session, meter: Meter) -> None:
        """Count what was spent; called late, as those of one engine wait here for each other."""
        settings = self.resources.settings
        now = self.job.clock.now()
        await usage.record(session, self.name.engine.engine, now, meter, settings.model_prices)

    def details(self) -> dict[str, Any]:
        """Return what the operation's metadata tell of all attempts: costs, and what was made."""
        earlier = self.job.claim.details
        own = costs.details(self.spent, self.resources.settings)
        count = self.count + int(earlier.get("summaryCount", 0))
        return {**costs.with_earlier(own, earlier), "summaryCount": count}

    async def _check_room(self) -> None:
        settings = self.resources.settings
        async with self.job.db.snapshot() as session:
            await check_room(session, settings, self.name.engine.engine, Counted.BYTES, 1)

    async def _check_budget(self) -> None:
        service = UsageService.of(self.resources)
        if service.settings.daily_max_tokens is None:
            return
        async with self.job.db.snapshot() as session:
            await service.check_budget(session, self.name.engine.engine)

    async def _fail(self, found: Found, meter: Meter, reason: Reason) -> datetime | None:
        """Write that a summary could not be made; return when it is tried again, if it is."""
        retry_time = None
        async with self.writing(meter) as session:
            row = await self.lock(session)
            if row is not None and row.create_time == found.session_time:
                failed = await repository.last_failure(session, self.name, self.rules.key)
                times = 0 if failed is None else failed.attempts
                retry_time = None if self.is_asked else self._next_time(reason, times)
                new = self.row(found, meter, None)
                await repository.fail(session, self.name, new, reason, retry_time)
            await self.record(session, meter)
            await self.hold(session)
        return retry_time

    def _next_time(self, reason: Reason, times: int) -> datetime:
        """Return when to try again what has failed so often before."""
        now = self.job.clock.now()
        if reason is Reason.TOKEN_BUDGET_EXHAUSTED:
            return reset_time(now)
        settings = self.resources.settings
        # No more doublings than make a day of a second.
        seconds = settings.worker_retry_base_seconds * 2 ** min(times, 17)
        return now + timedelta(seconds=min(seconds, settings.summary_retry_max_seconds))

    async def _note_in_time(self, meter: Meter) -> None:
        """Note the costs in a task of its own, which no second cancellation breaks off."""
        noting = asyncio.create_task(self._note(meter))
        _, late = await asyncio.wait([noting], timeout=_MAX_NOTE_SECONDS)
        for task in late:
            task.cancel()

    async def _note(self, meter: Meter) -> None:
        try:
            async with self.job.db.transaction() as session:
                await engines.get(session, self.name.engine, Lock.SHARED)
                await self.record(session, meter)
                await self.job.note(session, self.details())
        except Exception as error:  # noqa: BLE001 - what broke off the work is what has to be told
            log.warning("summary.costs_not_recorded", error=describe(error))


def _reason_of(error: Exception) -> Reason:
    if isinstance(error, ServiceError):
        return error.reason
    log.error("summary.unexpected_error", error=describe(error))
    return Reason.INTERNAL
