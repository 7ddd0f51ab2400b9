"""Use cases of ingestion: buffer events, keep the operation that is to process them, sweep."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import structlog

from app.core.names import EngineName
from app.core.once import Once
from app.db.session import Session
from app.engines import repository as engines
from app.engines.config import GenerationRule, MemoryBankConfig
from app.engines.repository import Lock
from app.engines.schemas import config_of, name_of
from app.generation.schemas import ContentEvent
from app.ingestion import repository
from app.ingestion.repository import StreamKey
from app.ingestion.schemas import IngestEventsRequest, merged_options
from app.ingestion.tables import StreamRow
from app.ingestion.triggers import Buffer, ripe_time, rule_for
from app.memories.schemas import scope_hash
from app.memories.service import MemoryService
from app.operations import claims, repeats
from app.operations import repository as operations
from app.operations.repository import NewOperation
from app.operations.schemas import State, type_url
from app.operations.tables import OperationRow
from app.resources import Resources
from app.wire.scalars import parse_timestamp

log = structlog.get_logger()

INGEST = "ingestion.ingest"
"""The kind of the operation that processes a stream's events; while it waits, it is the timer."""

EMPTY_RESPONSE = {"@type": type_url("IngestEventsResponse")}
"""What an operation answers that had nothing to process."""


@dataclass(frozen=True)
class Pending:
    """What waits in all streams: how many events, and the age of the oldest (seconds)."""

    count: int
    oldest_age_seconds: float


@dataclass(frozen=True)
class IngestionService:
    """Buffers events; `jobs.py` processes them."""

    memories: MemoryService

    @classmethod
    def of(cls, resources: Resources) -> "IngestionService":
        """Build the service from the process's resources."""
        return cls(MemoryService.of(resources))

    async def ingest(
        self, name: EngineName, request: IngestEventsRequest, once: Once | None
    ) -> OperationRow:
        """Add events to a stream; return the operation that is to process them.

        All requests on a stream get the same operation until that has ended. Where nothing waits
        afterwards, it is a new one that is done.

        Raises:
            InvalidArgument: the life of the revisions lies in the past.
        """
        now = self.memories.clock.now()
        key = StreamKey(name.engine, scope_hash(request.scope), request.stream)
        async with self.memories.db.transaction() as session:
            engine = await engines.get(session, name, Lock.SHARED)
            new = self.new_operation(name_of(engine), key, now)
            stream = await repository.lock_or_begin(session, key, request.scope, now)
            # Behind the stream's lock: a repetition sent at the same moment waits there.
            if (known := await repeats.answered(session, name.engine, once)) is not None:
                return known
            # A life that lies in the past is the caller's error: found now, not by the worker.
            self.memories.writing(engine, new, request)
            stream, dropped = await self._buffer(session, stream, request, config_of(engine))
            new = new.noting(pendingEventCount=stream.pending_count, duplicateEventCount=dropped)
            row = await self._operation(session, stream, new)
            await repeats.replay(session, replace(new, operation_id=row.operation_id), once)
            return row

    async def _buffer(
        self,
        session: Session,
        stream: StreamRow,
        request: IngestEventsRequest,
        config: MemoryBankConfig,
    ) -> tuple[StreamRow, int]:
        """Add the events that the stream does not know; return it, and how many it knew."""
        now = self.memories.clock.now()
        bank = config.generation_config
        default = bank.generation_trigger_config if bank is not None else None
        rule = rule_for(request.generation_trigger_config, default)
        source = request.direct_contents_source
        given = source.events if source is not None else []
        added = await self._add_events(session, stream, given)
        values: dict[str, Any] = {"rule": rule and rule.wire()}
        pending = stream.pending_count + added
        if pending and (request.force_flush or rule is None):
            values["flush_seq"] = stream.next_seq + added
        if pending and (options := request.options()):
            values["options"] = merged_options(stream.options, options)
        if added:
            values |= {
                "pending_count": pending,
                "next_seq": stream.next_seq + added,
                "last_arrival_time": max(stream.last_arrival_time, now),
                "oldest_pending_time": stream.oldest_pending_time or now,
            }
        return await repository.change(session, stream, values), len(given) - added

    async def _add_events(
        self, session: Session, stream: StreamRow, events: Sequence[ContentEvent]
    ) -> int:
        """Insert the events whose ids are new to the stream; return how many."""
        now = self.memories.clock.now()
        key = StreamKey.of(stream)
        ids = {event.event_id for event in events if event.event_id}
        seen = await repository.known_ids(session, key, ids) if ids else set()
        rows: list[Mapping[str, Any]] = []
        for event in events:
            if event.event_id:
                if event.event_id in seen:
                    continue
                seen.add(event.event_id)
            rows.append(
                {
                    **key.columns(),
                    "seq": stream.next_seq + len(rows),
                    "event_id": event.event_id or None,
                    "event_time": event.event_time,
                    "arrival_time": now,
                    "process_time": None,
                    "content": event.content.wire(),
                }
            )
        if rows:
            await repository.insert_events(session, rows)
        return len(rows)

    async def _operation(
        self, session: Session, stream: StreamRow, new: NewOperation
    ) -> OperationRow:
        """Return the operation of a changed stream, due when the stream is ripe."""
        found = None
        if stream.operation_id is not None:
            found = await claims.lock_open(session, stream.engine_id, stream.operation_id)
        if stream.pending_count == 0:
            done = replace(new, key=None, request=None)
            return found or await operations.insert_done(session, done, EMPTY_RESPONSE)
        if found is None:
            return await self.open(session, stream, new, self.ripe_time(stream))
        due = found.due_time if _is_settled(found, new.now) else self.ripe_time(stream)
        counts = {key: new.details[key] for key in ("pendingEventCount", "duplicateEventCount")}
        return await claims.reschedule(session, found, due, new.now, counts)

    async def open(
        self, session: Session, stream: StreamRow, new: NewOperation, due: datetime
    ) -> OperationRow:
        """Open the operation of a locked stream in which events wait."""
        row = await operations.insert(session, replace(new, due=due))
        await repository.change(session, stream, {"operation_id": row.operation_id})
        return row

    def ripe_time(self, stream: StreamRow) -> datetime:
        """Return when the events of a stream, of which some wait, are to become memories."""
        assert stream.oldest_pending_time is not None
        rule = None if stream.rule is None else GenerationRule.model_validate(stream.rule)
        buffer = Buffer(
            begin=stream.create_time,
            oldest=stream.oldest_pending_time,
            newest=stream.last_arrival_time,
            count=stream.pending_count,
            is_flushed=stream.flush_seq > 0,
        )
        longest = timedelta(seconds=self.memories.settings.ingestion_max_pending_seconds)
        return ripe_time(rule, buffer, self.memories.clock.now(), longest)

    def new_operation(self, engine: EngineName, key: StreamKey, now: datetime) -> NewOperation:
        """Start an operation that is to process a stream's events."""
        new = NewOperation(
            engine_id=engine.engine,
            engine_name=str(engine),
            kind=INGEST,
            now=now,
            keep=self.memories.settings.operation_retention,
            details={"@type": type_url("IngestEventsOperationMetadata")},
        )
        # The key of generations over the scope: of all of them, one runs at a time.
        return new.queued(key.scope_hash.hex(), key.to_queue())

    async def reopen(self) -> None:
        """Give streams a new operation whose last one ended without processing what waits; a sweep.

        After a failure it is due in a while; after a cancellation, when the events have waited as
        long as they may.
        """
        limit = self.memories.settings.sweep_batch_rows
        while True:
            async with self.memories.db.transaction() as session:
                found = await repository.list_stranded(session, limit)
                for stream, engine, ended in found:
                    await self._reopen(session, stream, name_of(engine), ended)
            if found:
                log.info("ingestion.reopened", streams=len(found))
            if len(found) < limit:
                return

    async def _reopen(
        self, session: Session, stream: StreamRow, engine: EngineName, ended: OperationRow | None
    ) -> None:
        now = self.memories.clock.now()
        new = self.new_operation(engine, StreamKey.of(stream), now)
        new = new.noting(pendingEventCount=stream.pending_count)
        await self.open(session, stream, new, self._due_again(stream, ended, now))

    def _due_again(self, stream: StreamRow, ended: OperationRow | None, now: datetime) -> datetime:
        assert stream.oldest_pending_time is not None
        if ended is not None and ended.state == State.CANCELLED:
            longest = timedelta(seconds=self.memories.settings.ingestion_max_pending_seconds)
            return max(now, stream.oldest_pending_time + longest)
        since = ended.update_time if ended is not None else now
        return max(now, since + timedelta(seconds=self.memories.settings.ingestion_retry_seconds))

    async def forget_old_ids(self, session: Session, now: datetime, limit: int) -> int:
        """Remove what is left of events that arrived too long ago; return how many; a sweep."""
        return await repository.remove_old_events(session, self._known_since(now), limit)

    async def forget_old_streams(self, session: Session, now: datetime, limit: int) -> int:
        """Remove streams that have been silent as long; return how many; a sweep."""
        return await repository.remove_old_streams(session, self._known_since(now), limit)

    def _known_since(self, now: datetime) -> datetime:
        return now - timedelta(seconds=self.memories.settings.ingestion_event_id_seconds)

    async def pending(self) -> Pending:
        """Return what waits in the streams of all engines; for the metrics."""
        async with self.memories.db.snapshot() as session:
            oldest, count = await repository.oldest_pending(session)
        now = self.memories.clock.now()
        return Pending(count, max(0.0, (now - (oldest or now)).total_seconds()))


def _is_settled(row: OperationRow, now: datetime) -> bool:
    """Say whether an operation's time stays, whatever a later request says.

    What was ripe stays so; what was postponed is not tried before.
    """
    postponed = row.details.get("postponedUntil")
    return row.due_time <= now or (postponed is not None and parse_timestamp(postponed) > now)
