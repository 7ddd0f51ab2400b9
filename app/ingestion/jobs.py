"""What a worker runs to turn the events of a stream into memories.

Read what waits, generate, then note in the transaction of the changes what became of the events.
A generation that fails leaves them waiting: the runner tries again, and after its last attempt the
sweep opens another operation. So it is with a worker that is killed.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import chain
from typing import Any

from app.core.errors import Reason, ResourceExhausted
from app.core.ids import new_id
from app.core.names import EngineName, OperationName
from app.db.session import Session
from app.engines.config import GenerationRule
from app.generation.schemas import MAX_EVENTS, GenerateMemoriesRequest
from app.generation.service import GENERATE
from app.generation.work import Generation, Task
from app.ingestion import repository
from app.ingestion.repository import StreamKey
from app.ingestion.service import EMPTY_RESPONSE, IngestionService
from app.ingestion.tables import StreamEventRow, StreamRow
from app.operations import repository as operations
from app.operations.repository import NewOperation
from app.operations.runner import Job, Postponed
from app.operations.schemas import type_url
from app.resources import Resources
from app.wire.scalars import parse_timestamp

_MAX_OVERLAP = MAX_EVENTS // 2
"""Processed events that one generation reads again at most."""


@dataclass(frozen=True)
class Batch:
    """What one generation reads of a stream.

    Attributes:
        stream: as it was when it was read.
        kept: processed events whose content is kept, in their order.
        waiting: events that wait.
    """

    stream: StreamRow
    kept: Sequence[StreamEventRow]
    waiting: Sequence[StreamEventRow]

    @property
    def again(self) -> Sequence[StreamEventRow]:
        """The processed events that are read again."""
        return self.kept[max(0, len(self.kept) - _overlap(self.stream)) :]


async def ingest(job: Job, resources: Resources) -> None:
    """Run the operation of a stream."""
    await _Ingestion(job, resources, IngestionService.of(resources)).run()


@dataclass(frozen=True)
class _Ingestion:
    """One run of the operation of a stream."""

    job: Job
    resources: Resources
    service: IngestionService

    async def run(self) -> None:
        """Generate memories of what waits.

        Raises:
            Postponed: the engine's tokens of the day are spent.
            ServiceError: the generation failed.
        """
        batch = await self._read()
        if not batch.waiting:
            await self._finish_empty()
            return
        now = self.job.clock.now()
        generate_id = str(new_id(now))
        task = Task(
            engine=self._engine,
            operation_id=generate_id,
            request=await asyncio.to_thread(request_of, batch, now),
            step=self.job.step,
            finish=partial(self._finish, batch, generate_id),
            note=self.job.note,
        )
        try:
            await Generation.of(self.resources, task).run()
        except ResourceExhausted as error:
            if error.reason is not Reason.TOKEN_BUDGET_EXHAUSTED:
                raise
            pause = timedelta(seconds=error.retry_after_seconds or 0)
            raise Postponed(self.job.clock.now() + pause) from error

    @property
    def _engine(self) -> EngineName:
        return EngineName.parse(self.job.claim.engine_name)

    @property
    def _key(self) -> StreamKey:
        return StreamKey.queued(self._engine.engine, self.job.claim.request)

    async def _read(self) -> Batch:
        async with self.job.db.snapshot() as session:
            stream = await repository.get(session, self._key)
            kept = sorted(await repository.list_processed(session, self._key), key=_order)
            limit = MAX_EVENTS - _overlap(stream)
            waiting = await repository.list_pending(session, self._key, limit)
        return Batch(stream, kept, waiting)

    async def _finish_empty(self) -> None:
        async with self.job.db.transaction() as session:
            stream = await repository.get(session, self._key, for_update=True)
            await self.job.finish(session, EMPTY_RESPONSE, {})
            await self._go_on(session, stream)

    async def _finish(
        self,
        batch: Batch,
        generate_id: str,
        session: Session,
        response: dict[str, Any],
        details: dict[str, Any],
    ) -> None:
        """Note what became of the events, in the transaction of the changes."""
        stream = await repository.get(session, self._key, for_update=True)
        await self._settle(session, stream, batch)
        done = self._generate_operation(generate_id).noting(**details)
        await operations.insert_done(session, done, response)
        counts = {"eventCount": len(batch.waiting), "overlapEventCount": len(batch.again)}
        generate_name = str(OperationName(self._engine, generate_id))
        answer = {**EMPTY_RESPONSE, "generateMemoriesOperation": generate_name}
        await self.job.finish(session, answer, {**details, **counts, "pendingEventCount": 0})
        await self._go_on(session, stream)

    async def _settle(self, session: Session, stream: StreamRow, batch: Batch) -> None:
        """Mark the events as processed; forget what they said, save for the next overlap."""
        waited = [event.seq for event in batch.waiting]
        await repository.mark_processed(session, self._key, waited, self.job.clock.now())
        known = sorted(chain(batch.kept, batch.waiting), key=_order)
        forgotten = known[: max(0, len(known) - _overlap(stream))]
        await repository.forget_content(session, self._key, [event.seq for event in forgotten])

    async def _go_on(self, session: Session, stream: StreamRow) -> None:
        """Open the next operation of a locked stream if events came meanwhile."""
        left = await repository.count_pending(session, self._key)
        values: dict[str, Any] = {
            "pending_count": left.count,
            "oldest_pending_time": left.oldest,
        }
        if left.first_seq is None or left.first_seq >= stream.flush_seq:
            values["flush_seq"] = 0
        if not left.count:
            values |= {"operation_id": None, "options": {}}
        stream = await repository.change(session, stream, values)
        if left.count:
            new = self.service.new_operation(self._engine, self._key, self.job.clock.now())
            new = new.noting(pendingEventCount=left.count)
            await self.service.open(session, stream, new, self.service.ripe_time(stream))

    def _generate_operation(self, generate_id: str) -> NewOperation:
        return NewOperation(
            engine_id=self._engine.engine,
            engine_name=self.job.claim.engine_name,
            kind=GENERATE,
            now=self.job.clock.now(),
            keep=self.job.keep,
            details={"@type": type_url("GenerateMemoriesOperationMetadata")},
            operation_id=generate_id,
        )


def request_of(batch: Batch, now: datetime) -> GenerateMemoriesRequest:
    """Return the generation that the events of a batch ask for.

    Where the moment at which its revisions were to expire has passed, none are kept: written now,
    they could never be read.
    """
    options = dict(batch.stream.options)
    expires = options.get("revisionExpireTime")
    if expires is not None and parse_timestamp(expires) <= now:
        del options["revisionExpireTime"]
        options["disableMemoryRevisions"] = True
    read = sorted(chain(batch.again, batch.waiting), key=_order)
    events = [{"content": one.content, "eventTime": _time(one)} for one in read]
    return GenerateMemoriesRequest.model_validate(
        {"scope": batch.stream.scope, "directContentsSource": {"events": events}, **options}
    )


def _overlap(stream: StreamRow) -> int:
    """Return how many processed events the next generation reads again."""
    if stream.rule is None:
        return 0
    rule = GenerationRule.model_validate(stream.rule)
    return min(rule.overlap_event_count or 0, _MAX_OVERLAP)


def _time(event: StreamEventRow) -> datetime:
    return event.event_time or event.arrival_time


def _order(event: StreamEventRow) -> tuple[datetime, int]:
    return _time(event), event.seq
