"""Worker job that turns the events of a stream into memories.

The job marks the waiting events as processed in the transaction that writes the memories. The
operation continues while events are ripe; all its generations share one further operation.

If a generation fails or a worker is killed, the events stay in the stream. The runner retries, and
after the last attempt the sweep opens another operation. After a permanent failure, events are
retried in halves, so that one unreadable event does not block the rest.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import chain
from typing import Any

from app.adapters.db.session import Session
from app.adapters.resources import Resources
from app.kernel.errors import Cancelled, NotFound, Reason, ResourceExhausted
from app.kernel.limits import Counted
from app.kernel.names import EngineName, OperationName
from app.kernel.wire.scalars import format_timestamp, parse_timestamp, with_utc_offset
from app.memory.generation.logic.outcomes import response_of_both, together
from app.memory.generation.schemas import MAX_EVENTS, GenerateMemoriesRequest
from app.memory.generation.services.conversation import StreamPlace, digest
from app.memory.generation.services.generation import GENERATE
from app.memory.generation.services.generation_input import ReadPart
from app.memory.generation.services.work import Generation, GenerationTask
from app.memory.ingestion.logic import ListedEvent, first_batch, in_order, last
from app.memory.ingestion.service import EMPTY_RESPONSE, IngestionService, source_of
from app.memory.ingestion.store import repository
from app.memory.ingestion.store.repository import StreamKey, Waiting, rule_of
from app.memory.ingestion.store.tables import StreamRow
from app.platform.limits.services.quotas import is_full
from app.platform.operations.services.runner import RETRYABLE, Job, LeaseLost, Postponed
from app.platform.operations.store import leases
from app.platform.operations.store import repository as operations
from app.platform.operations.store.repository import UNMET_REQUESTS, NewOperation
from app.platform.usage.service import note

_MAX_OVERLAP = MAX_EVENTS // 2
"""Maximum number of processed events that one generation reads again."""
_GENERATION = "generateMemoriesOperation"
"""Key of the generation's operation name in metadata and response."""


@dataclass(frozen=True)
class EventBatch:
    """Events of a stream that one generation reads.

    Attributes:
        kept: processed events with stored content, in order.
        again: the events of `kept` that are read again.
        contents: the contents of all events that are read, by event number.
    """

    stream: StreamRow
    kept: Sequence[ListedEvent]
    again: Sequence[ListedEvent]
    waiting: Sequence[ListedEvent]
    contents: Mapping[int, Mapping[str, Any]]

    @property
    def read(self) -> Sequence[ListedEvent]:
        """All events that are read, in order."""
        return sorted(chain(self.again, self.waiting), key=in_order)


async def ingest(job: Job, resources: Resources) -> None:
    """Run the operation of a stream."""
    await _Ingestion(job, resources, IngestionService(resources)).run()


@dataclass
class _Ingestion:
    job: Job
    resources: Resources
    service: IngestionService
    _generate_id: str = ""
    """The id of the generation's operation, which all parts of this operation share."""

    async def run(self) -> None:
        """Generate memories from the waiting events; raise Postponed at a limit of the engine."""
        batch = await self._read()
        if batch is None or not batch.waiting:
            await self._finish_empty()
            return
        now = self.job.clock.now()
        task = GenerationTask(
            engine=self._engine,
            kind=self.job.claim.kind,
            caller=self.job.claim.caller,
            request=await asyncio.to_thread(request_of, batch, now),
            step=self.job.step,
            begin=self._begin,
            finish=partial(self._finish, batch),
            note=partial(note, self.job),
            origin=ReadPart(place=place_of(batch)),
        )
        try:
            await Generation(self.resources, task).run()
        except ResourceExhausted as error:
            if error.reason is not Reason.TOKEN_BUDGET_EXHAUSTED:
                raise
            pause = timedelta(seconds=error.retry_after_seconds or 0)
            raise Postponed(self.job.clock.now() + pause) from error
        except (*RETRYABLE, Cancelled, LeaseLost):
            raise
        except Exception:
            await self._set_aside(batch)
            raise

    @property
    def _engine(self) -> EngineName:
        return EngineName.parse(self.job.claim.engine_name)

    @property
    def _key(self) -> StreamKey:
        return StreamKey.queued(self._engine.engine, self.job.claim.request)

    @property
    def _most(self) -> int:
        """Maximum number of bytes per generation; the overlap has a separate, equal limit."""
        return self.resources.settings.max_generation_chars

    async def _read(self) -> EventBatch | None:
        key = self._key
        async with self.job.db.snapshot() as session:
            stream = await repository.find(session, key)
            if stream is None:
                return None
            overlap = _overlap(stream)
            kept = await repository.list_kept(session, key)
            now = self.job.clock.now()
            due = await repository.list_due(session, key, now, MAX_EVENTS - overlap)
            again, waiting = last(kept, overlap, self._most), first_batch(due, self._most)
            if waiting:
                await self._check_room(session)
            seqs = [event.seq for event in chain(again, waiting)]
            contents = await repository.contents(session, key, seqs)
        return EventBatch(stream, kept, again, waiting, contents)

    async def _check_room(self, session: Session) -> None:
        # The quota of bytes is not checked, since processing events frees their bytes.
        settings = self.resources.settings
        if await is_full(session, settings, self._engine.engine, Counted.MEMORIES):
            pause = timedelta(seconds=settings.tuning.ingestion_retry_seconds)
            raise Postponed(self.job.clock.now() + pause)

    async def _set_aside(self, batch: EventBatch) -> None:
        now, settings = self.job.clock.now(), self.resources.settings
        pause = timedelta(seconds=settings.tuning.ingestion_retry_seconds)
        if len(batch.waiting) == 1:
            # This event is the cause. Its pause equals its age, so the pauses grow.
            longest = timedelta(seconds=settings.tuning.ingestion_max_pending_seconds)
            pause = max(pause, min(now - batch.waiting[0].arrival_time, longest))
        seqs = [event.seq for event in batch.waiting]
        async with self.job.db.transaction() as session:
            stream = await repository.find(session, self._key, for_update=True)
            if stream is None:
                return
            limit = max(1, len(seqs) // 2)
            await repository.set_aside(session, self._key, seqs, now + pause, limit)
            until = min(now + pause, stream.aside_time or now + pause)
            await repository.change(session, stream, {"aside_time": until})

    async def _finish_empty(self) -> None:
        async with self.job.db.transaction() as session:
            stream = await repository.find(session, self._key, for_update=True)
            if stream is None:
                # The stream was erased, or its engine was deleted.
                await self.job.finish(session, self._response({}), {"pendingEventCount": 0})
            else:
                await self._conclude(session, stream, {})

    async def _begin(self, session: Session) -> str:
        # The generations of one operation share another one, which the first of them
        # reserves.
        now, claim = self.job.clock.now(), self.job.claim
        new = NewOperation.of(self._engine, GENERATE, "GenerateMemories", now, self.job.keep)
        new = replace(new.within(claim.scopes), caller=claim.caller)
        new = new.noting(source=source_of(self._key))
        earlier = None
        if _GENERATION in claim.details:
            new = replace(new, operation_id=claim.details[_GENERATION].rpartition("/")[2])
            earlier = await leases.lock(session, self._engine.engine, new.operation_id)
        if earlier is None:
            new = await operations.reserve(session, new)
        self._generate_id = new.operation_id
        return new.operation_id

    async def _finish(
        self,
        batch: EventBatch,
        session: Session,
        response: dict[str, Any],
        details: dict[str, Any],
    ) -> None:
        """Mark the events as processed; raise NotFound if the stream was erased in the meantime."""
        stream = await repository.find(session, self._key, for_update=True)
        if stream is None:
            raise NotFound.of(f"The stream, with reasoningEngines/{self._engine.engine},")
        await self._settle(session, batch)
        await self._store_generation(session, response, details)
        own = {
            **details,
            "eventCount": len(batch.waiting),
            "overlapEventCount": len(batch.again),
        }
        # Requests to forget are left out, since they quote users and may have been erased.
        before = self.job.claim.details
        merged = together(own, {key: before[key] for key in before if key != UNMET_REQUESTS})
        merged[_GENERATION] = str(OperationName(self._engine, self._generate_id))
        values: dict[str, Any] = {"failure_count": 0, "retry_time": None}
        if _GENERATION not in self.job.claim.details:
            # All events that waited at the start were ripe, even those that this generation left.
            values["flush_seq"] = max(stream.flush_seq, batch.stream.next_seq)
        stream = await repository.change(session, stream, values)
        await self._conclude(session, stream, merged)

    async def _settle(self, session: Session, batch: EventBatch) -> None:
        """Mark the events as processed; delete contents that the next overlap does not need."""
        waited = [event.seq for event in batch.waiting]
        await repository.mark_processed(session, self._key, waited, self.job.clock.now())
        known = sorted(chain(batch.kept, batch.waiting), key=in_order)
        kept = {event.seq for event in last(known, _overlap(batch.stream), self._most)}
        forgotten = [event.seq for event in known if event.seq not in kept]
        await repository.forget_content(session, self._key, forgotten)

    async def _store_generation(
        self, session: Session, response: dict[str, Any], details: dict[str, Any]
    ) -> None:
        # The operation may have the effects of earlier parts.
        row = await leases.lock(session, self._engine.engine, self._generate_id)
        assert row is not None
        response = response_of_both(response, row.response or {})
        merged = together(details, row.details)
        await operations.extend_done(session, row, self.job.clock.now(), response, merged)

    async def _conclude(self, session: Session, stream: StreamRow, details: dict[str, Any]) -> None:
        """Continue with a locked stream if more events are ripe; otherwise finish the operation."""
        now = self.job.clock.now()
        left = await repository.count_pending(session, self._key)
        stream = await repository.change(session, stream, _left_values(stream, left))
        details = {**details, "pendingEventCount": left.count}
        if left.ready_oldest is not None:
            ripe = self.service.ripe_time(stream, left.ready, left.ready_oldest, now)
            if ripe <= now:
                await self.job.go_on(session, now, details)
                return
        await self.job.finish(session, self._response(details), details)
        if left.count:
            new = self.service.new_operation(self._engine, self._key, stream.scope, now)
            new = new.noting(pendingEventCount=left.count)
            due = await self.service.due_time(session, stream, now)
            await self.service.open(session, stream, new, due)

    def _response(self, details: Mapping[str, Any]) -> dict[str, Any]:
        name = details.get(_GENERATION, self.job.claim.details.get(_GENERATION))
        return EMPTY_RESPONSE if name is None else {**EMPTY_RESPONSE, _GENERATION: name}


def request_of(batch: EventBatch, now: datetime) -> GenerateMemoriesRequest:
    """Return the request of a generation for the events of a batch."""
    # No revisions are stored if their expiry time has passed, since they could never be read.
    options = dict(batch.stream.options)
    expires = options.get("revisionExpireTime")
    if expires is not None and parse_timestamp(expires) <= now:
        del options["revisionExpireTime"]
        options["disableMemoryRevisions"] = True
    events = [
        {"content": batch.contents[event.seq], "eventId": event.event_id, "eventTime": _time(event)}
        for event in batch.read
    ]
    return GenerateMemoriesRequest.model_validate(
        {"scope": batch.stream.scope, "directContentsSource": {"events": events}, **options}
    )


def _time(event: ListedEvent) -> datetime | None:
    moment = event.event_time
    return None if moment is None else with_utc_offset(moment, event.utc_offset)


def place_of(batch: EventBatch) -> StreamPlace:
    """Return the stream and the positions of a batch's events."""
    row = batch.stream
    # The creation time is part of the source: a recreated stream starts again at number 1.
    created = format_timestamp(row.create_time)
    source = digest("stream", row.engine_id, row.scope_hash.hex(), row.stream_id, created)
    times = [event.time for event in batch.read]
    again = frozenset(event.seq for event in batch.again)
    return StreamPlace(source, [event.seq for event in batch.read], times, again)


def _overlap(stream: StreamRow) -> int:
    rule = rule_of(stream)
    return 0 if rule is None else min(rule.overlap_event_count or 0, _MAX_OVERLAP)


def _left_values(stream: StreamRow, left: Waiting) -> dict[str, Any]:
    values: dict[str, Any] = {
        "pending_count": left.count,
        "pending_bytes": left.bytes,
        "oldest_pending_time": left.oldest,
        "aside_time": left.aside_time,
    }
    if left.first_ready is None or left.first_ready >= stream.flush_seq:
        values["flush_seq"] = 0
    if not left.count:
        values |= {"operation_id": None, "options": {}, "failure_count": 0, "retry_time": None}
    return values
