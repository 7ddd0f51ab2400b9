"""Use cases of ingestion: buffer events, schedule their operation, reopen streams, erase."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import structlog
from prometheus_client import Gauge

from app.adapters.batches import SweepBatches
from app.adapters.concurrency import each
from app.adapters.db.clock import database_now
from app.adapters.db.filters import Clause, read_filter
from app.adapters.db.lists import list_page
from app.adapters.db.session import Session
from app.adapters.db.spread import Key
from app.adapters.db.transaction_settings import limited
from app.adapters.llm.ports import TextModel
from app.adapters.metrics import of_all
from app.adapters.resources import Resources
from app.kernel.changes import IdempotencyKey
from app.kernel.errors import InvalidArgument
from app.kernel.ids import scope_hash
from app.kernel.limits import exhausted
from app.kernel.names import WILDCARD, EngineName
from app.kernel.paging import PageRequest
from app.kernel.wire.privacy_config import Place
from app.kernel.wire.scalars import parse_timestamp, utc_offset
from app.memory.erasures.logic import Pseudonyms
from app.memory.erasures.services.erasures import pseudonyms_of
from app.memory.generation.schemas import MAX_EVENT_ID_CHARS, ContentEvent
from app.memory.generation.services.generation import (
    MASKED_FIELDS,
    model_of,
    reads_files,
    untouched,
)
from app.memory.ingestion.logic import Buffer, is_own_failure, pause, ripe_time, rule_for
from app.memory.ingestion.schemas import (
    FlushStreamRequest,
    IngestEventsRequest,
    ListStreamsResponse,
    Stream,
    merged_options,
)
from app.memory.ingestion.store import erasure, listing, repository
from app.memory.ingestion.store.repository import StreamKey, rule_of
from app.memory.ingestion.store.tables import StreamRow
from app.memory.memories.services.memories import MemoryService
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.engines.store.tables import EngineRow, config_of, name_of
from app.platform.limits.services.quotas import check_metadata_size, check_scope_size
from app.platform.operations.logic.states import INGEST, OperationState, type_url
from app.platform.operations.schemas import OperationSource
from app.platform.operations.store import idempotency, leases
from app.platform.operations.store import repository as operations
from app.platform.operations.store.repository import NewOperation
from app.platform.operations.store.tables import OperationRow
from app.platform.privacy.logic import MASKED_COUNTS, noted
from app.platform.privacy.service import PrivacyService

_PENDING = of_all(
    Gauge, "memory_bank_ingestion_pending_events", "Ingested events that are not in memories yet."
)
_OLDEST = of_all(
    Gauge,
    "memory_bank_ingestion_oldest_pending_seconds",
    "Waiting time of the oldest event that is not in memories yet; 0 without any.",
)
_FAILED = of_all(
    Gauge, "memory_bank_streams_failed", "Streams with waiting events whose last operation failed."
)


async def list_streams(
    resources: Resources, name: EngineName, filter_text: str | None, page: PageRequest
) -> ListStreamsResponse:
    """Return a page of an engine's streams, latest arrival first."""
    asked = listing.STREAMS.filtered_page(page, resources.settings, filter_text, engine=name.engine)
    async with resources.db.snapshot() as session:
        await engines.get(session, name)
        rows, token = await list_page(session, listing.select_streams(name.engine), asked)
        streams = await _described(session, name.engine, rows, resources.clock.now())
    return ListStreamsResponse(streams=streams, next_page_token=token)


async def _described(
    session: Session, engine_id: int, rows: Sequence[StreamRow], now: datetime
) -> list[Stream]:
    with_aside = [StreamKey.of(row) for row in rows if row.aside_time is not None]
    aside = await listing.count_aside(session, engine_id, with_aside)
    current_ids = {row.operation_id for row in rows if row.operation_id is not None}
    known = await listing.find_operations(session, engine_id, current_ids, now)
    before = {operation.operation_id: _id_before(operation) for operation in known.values()}
    failed = await listing.find_operations(session, engine_id, set(before.values()), now)
    return [
        Stream.from_row(
            row,
            aside.get(StreamKey.of(row), 0),
            known.get(row.operation_id or ""),
            failed.get(before.get(row.operation_id or "", "")),
        )
        for row in rows
    ]


def _id_before(row: OperationRow) -> str:
    name: str = row.details.get(FAILED_OPERATION, "")
    return name.rpartition("/")[2]


async def reopen(batches: SweepBatches) -> int:
    """Open new operations for streams whose last one left events waiting; return the count."""
    service = IngestionService(batches.resources)
    return await batches.spread(repository.find_stranded, service.reopen)


async def forget_old_ids(batches: SweepBatches) -> int:
    """Remove ids of events that are too old to be sent again; return the count."""
    find, remove = erasure.find_old_events, erasure.remove_old_events
    kept = _known_for(batches.resources)
    return await batches.spread(partial(find, kept), partial(remove, kept))


async def forget_old_streams(batches: SweepBatches) -> int:
    """Remove streams without events for the same period; return the count."""
    find, remove = erasure.find_old_streams, erasure.remove_old_streams
    kept = _known_for(batches.resources)
    return await batches.spread(partial(find, kept), partial(remove, kept))


def _known_for(resources: Resources) -> timedelta:
    return timedelta(seconds=resources.settings.tuning.ingestion_event_id_seconds)


async def refresh_metrics(resources: Resources) -> None:
    """Read the waiting events of the streams of all engines; called at each scrape."""
    oldest, count, failed = await resources.db.read_all(repository.oldest_pending)
    now = resources.clock.now()
    _PENDING.set(count)
    _OLDEST.set(max(0.0, (now - (oldest or now)).total_seconds()))
    _FAILED.set(failed)


async def recount(_: Resources, session: Session, engine: EngineRow) -> None:
    """Recount the waiting events of a restored engine's streams."""
    await repository.count_again(session, engine.engine_id)


log = structlog.get_logger()

EMPTY_RESPONSE = {"@type": type_url("IngestEventsResponse")}
"""Response of an operation that had nothing to process."""
FAILED_OPERATION = "failedOperation"
"""Key in a stream operation's metadata with the failed operation that it replaces."""
_MARK_CHARS = 16


@dataclass(frozen=True)
class IngestionService:
    """Buffers events; `jobs.py` processes them."""

    resources: Resources

    async def flush(
        self, name: EngineName, request: FlushStreamRequest, once: IdempotencyKey | None
    ) -> OperationRow:
        """Make all waiting events of a stream due; return its operation, as `ingest` does.

        Raises:
            NotFound: there is no such stream.
        """
        return await self.ingest(name, request.as_ingestion(), once, begins=False)

    async def ingest(
        self,
        name: EngineName,
        request: IngestEventsRequest,
        once: IdempotencyKey | None,
        *,
        begins: bool = True,
    ) -> OperationRow:
        """Add events to a stream; return the operation that will process them.

        If no event waits afterwards, the result is a new operation that is done. If `begins` is
        False, the stream must exist, and keeps its rule.

        Raises:
            NotFound: the stream does not exist, and `begins` is False.
            InvalidArgument: the expiry of the revisions is in the past, scope or metadata are too
                large, or the request contains values that the engine refuses.
            ResourceExhausted: the stream would exceed its quota of waiting events.
        """
        now = self.resources.clock.now()
        check_scope_size(self.resources.settings, request.scope)
        check_metadata_size(self.resources.settings, request.metadata)
        key = StreamKey(name.engine, scope_hash(request.scope), request.stream)
        request, masked = await _admitted(PrivacyService.of(self.resources), name, request)
        async with self.resources.db.transaction() as session:
            engine = await engines.get(session, name, Lock.SHARED)
            new = self.new_operation(name_of(engine), key, request.scope, now)
            if begins:
                stream = await repository.lock_or_begin(session, key, request.scope, now)
            else:
                stream = await repository.lock(session, name, key)
                request = request.with_rule(rule_of(stream))
            # After the lock on the stream: a concurrent retry waits for the first request.
            known = await idempotency.begin(
                session, once, name.engine, now, operation=new, even_expired=True
            )
            if known is not None:
                return await known.operation(session, name, now)
            # Called for its checks: a revision expiry in the past is a client error.
            MemoryService.of(self.resources).writing(engine, new, request)
            stream, dropped = await self._buffer(session, stream, request, engine)
            new = new.noting(pendingEventCount=stream.pending_count, duplicateEventCount=dropped)
            model = model_of(self.resources.models, engine)
            new = new.noting(**untouched(model, self.resources.settings))
            new = new.noting(**noted(masked))
            row = await self._operation(session, stream, new, is_forced=bool(request.force_flush))
            await idempotency.finish(session, once, name.engine, begun=new, inserted=row)
            return row

    async def _buffer(
        self,
        session: Session,
        stream: StreamRow,
        request: IngestEventsRequest,
        engine: EngineRow,
    ) -> tuple[StreamRow, int]:
        """Add the new events to the stream; return the stream and the number of duplicates."""
        now = self.resources.clock.now()
        bank = config_of(engine).generation_config
        default = bank.generation_trigger_config if bank is not None else None
        rule = rule_for(request.generation_trigger_config, default)
        source = request.direct_contents_source
        events = source.events if source is not None else []
        model = model_of(self.resources.models, engine)
        rows = await self._add_events(session, stream, events, model)
        added = len(rows)
        values: dict[str, Any] = {"rule": rule and rule.wire()}
        if request.force_flush and stream.aside_time is not None:
            await repository.take_up(session, StreamKey.of(stream))
            values["aside_time"] = None
        pending = stream.pending_count + added
        if pending and (request.force_flush or rule is None):
            values["flush_seq"] = stream.next_seq + added
        if pending and (options := request.options()):
            values["options"] = merged_options(stream.options, options)
        if added:
            values |= {
                "pending_count": pending,
                "pending_bytes": stream.pending_bytes + _bytes_of(rows),
                "next_seq": stream.next_seq + added,
                "last_arrival_time": max(stream.last_arrival_time, now),
                "oldest_pending_time": stream.oldest_pending_time or now,
            }
        return await repository.change(session, stream, values), len(events) - added

    async def _add_events(
        self,
        session: Session,
        stream: StreamRow,
        events: Sequence[ContentEvent],
        model: TextModel | None,
    ) -> Sequence[Mapping[str, Any]]:
        """Insert the events with new ids, and return their rows."""
        key = StreamKey.of(stream)
        ids = {event.event_id for event in events if event.event_id}
        seen = await repository.known_ids(session, key, ids) if ids else set()
        new: list[ContentEvent] = []
        for event in events:
            if event.event_id:
                if event.event_id in seen:
                    continue
                seen.add(event.event_id)
            new.append(event)
        now = self.resources.clock.now()
        columns_of_all = await each(new, lambda event: _columns(event, model, now))
        rows = [
            {**key.columns(), "seq": seq, **columns}
            for seq, columns in enumerate(columns_of_all, stream.next_seq)
        ]
        if rows:
            self._check_room(stream, rows)
            await repository.insert_events(session, rows)
        return rows

    def _check_room(self, stream: StreamRow, rows: Sequence[Mapping[str, Any]]) -> None:
        settings = self.resources.settings
        for unit, used, added, limit in (
            ("Events", stream.pending_count, len(rows), settings.tuning.max_stream_pending_events),
            (
                "Bytes",
                stream.pending_bytes,
                _bytes_of(rows),
                settings.tuning.max_stream_pending_bytes,
            ),
        ):
            if used + added > limit:
                raise exhausted(
                    f"The stream must have at most {limit} waiting {unit.lower()}; it has {used},"
                    f" and the request adds {added}.",
                    f"streamPending{unit}",
                    used=used,
                    limit=limit,
                )

    async def _operation(
        self, session: Session, stream: StreamRow, new: NewOperation, *, is_forced: bool
    ) -> OperationRow:
        """Return a changed stream's operation, due when its events are ripe, or now if forced."""
        last = None
        if stream.operation_id is not None:
            last = await leases.lock(session, stream.engine_id, stream.operation_id)
        current = last if last is not None and not OperationState(last.state).is_final else None
        if stream.pending_count == 0:
            done = replace(new, key=None, request=None)
            return current or await operations.insert_done(session, done, EMPTY_RESPONSE)
        if current is None:
            stream = await self._pause_failed(session, stream, last)
            due = new.now if is_forced else await self.due_time(session, stream, new.now)
            return await self.open(session, stream, new, due, last)
        due = new.now
        if not is_forced:
            is_settled = _is_settled(current, new.now)
            due = current.due_time
            if not is_settled:
                due = await self.due_time(session, stream, new.now)
        counts = {key: new.details[key] for key in ("pendingEventCount", "duplicateEventCount")}
        both = (current.details.get(MASKED_COUNTS), new.details.get(MASKED_COUNTS))
        counts |= noted(sum(map(Counter, both), Counter()))
        return await leases.reschedule(session, current, due, new.now, counts)

    async def _pause_failed(
        self, session: Session, stream: StreamRow, ended: OperationRow | None
    ) -> StreamRow:
        if ended is None or not is_own_failure(ended.state, ended.error):
            return stream
        first = timedelta(seconds=self.resources.settings.tuning.ingestion_retry_seconds)
        failures = stream.failure_count + 1
        until = ended.update_time + pause(failures, first, self._longest)
        values = {"failure_count": failures, "retry_time": until}
        return await repository.change(session, stream, values)

    async def open(
        self,
        session: Session,
        stream: StreamRow,
        new: NewOperation,
        due: datetime,
        ended: OperationRow | None = None,
    ) -> OperationRow:
        """Open an operation for a locked stream with waiting events; `ended` is the last one."""
        if ended is not None and ended.state == OperationState.FAILED:
            new = new.noting(**{FAILED_OPERATION: ended.name})
        row = await operations.insert(session, replace(new, due=due))
        await repository.change(session, stream, {"operation_id": row.operation_id})
        return row

    async def due_time(self, session: Session, stream: StreamRow, now: datetime) -> datetime:
        """Return the due time of the operation for a stream with waiting events."""
        count, oldest = stream.pending_count, stream.oldest_pending_time
        moments: list[datetime] = []
        if stream.aside_time is not None:
            left = await repository.count_pending(session, StreamKey.of(stream))
            count, oldest = left.ready, left.ready_oldest
            moments.append(stream.aside_time)
        if oldest is not None:
            moments.append(self.ripe_time(stream, count, oldest, now))
        return max(now, min(moments), stream.retry_time or now)

    def ripe_time(self, stream: StreamRow, count: int, oldest: datetime, now: datetime) -> datetime:
        """Return the due time of generation from `count` events, first arrived at `oldest`."""
        buffer = Buffer(
            begin=stream.create_time,
            oldest=oldest,
            newest=stream.last_arrival_time,
            count=count,
            is_flushed=stream.flush_seq > 0,
        )
        return ripe_time(rule_of(stream), buffer, now, self._longest)

    @property
    def _longest(self) -> timedelta:
        return timedelta(seconds=self.resources.settings.tuning.ingestion_max_pending_seconds)

    def new_operation(
        self, engine: EngineName, key: StreamKey, scope: Mapping[str, str], now: datetime
    ) -> NewOperation:
        """Return a new operation that will process a stream's events."""
        keep = self.resources.settings.operation_retention
        new = NewOperation.of(engine, INGEST, "IngestEvents", now, keep)
        new = new.noting(source=source_of(key))
        # All generations over the scope share the key, so only one runs at a time.
        return new.concerning(scope).queued(key.scope_hash.hex(), key.to_queue())

    async def reopen(self, session: Session, engine_id: int, keys: Sequence[Key]) -> int:
        """Open new operations for streams whose last one left events waiting; return the count."""
        # After a failure, the new operation is due after a pause. After a cancellation, it
        # is due once the events have waited for the maximum time.
        stranded = await repository.lock_stranded(session, engine_id, keys)
        if not stranded:
            return 0
        engine = await engines.get(session, EngineName(WILDCARD, WILDCARD, engine_id))
        last = {stream.operation_id for stream in stranded if stream.operation_id is not None}
        now = await database_now(session)
        ended = await listing.find_operations(session, engine_id, last, now)
        for stream in stranded:
            await self._reopen(session, stream, engine, ended.get(stream.operation_id or ""))
        log.info("ingestion.reopened", streams=len(stranded))
        return len(stranded)

    async def _reopen(
        self, session: Session, stream: StreamRow, engine: EngineRow, ended: OperationRow | None
    ) -> None:
        now = await database_now(session)
        new = self.new_operation(name_of(engine), StreamKey.of(stream), stream.scope, now)
        new = new.noting(
            pendingEventCount=stream.pending_count,
            **untouched(model_of(self.resources.models, engine), self.resources.settings),
        )
        stream = await self._pause_failed(session, stream, ended)
        due = await self.due_time(session, stream, now)
        if stream.operation_id and (ended is None or ended.state == OperationState.CANCELLED):
            # `ended` is None if a client has deleted it. A restored stream had no operation.
            assert stream.oldest_pending_time is not None
            due = max(now, stream.oldest_pending_time + self._longest)
        await self.open(session, stream, new, due, ended)

    def scopes_of(self, filter_text: str | None) -> Clause | None:
        """Return the condition of a filter for streams; None if it has fields besides the scope."""
        if not filter_text:
            return None
        try:
            return read_filter(filter_text, erasure.FILTER_FIELDS, self.resources.settings)
        except InvalidArgument:
            return None

    async def erase(self, session: Session, engine_id: int, scopes: Clause) -> int:
        """Erase streams with all their data; return the number of erased events with content."""
        async with limited(session, scopes.seconds):
            keys = await erasure.list_matching(session, engine_id, scopes.condition)
        erased = [await erasure.erase(session, key) for key in keys]
        open_ids = [operation_id for _, operation_id in erased if operation_id is not None]
        # These operations find no events, and end.
        await leases.run_now(session, engine_id, open_ids, self.resources.clock.now())
        return sum(count for count, _ in erased)


def source_of(key: StreamKey) -> dict[str, Any]:
    """Return a stream as the source in an operation's metadata."""
    return OperationSource(stream=key.stream_id).wire()


async def _admitted(
    privacy: PrivacyService, name: EngineName, sent: IngestEventsRequest
) -> tuple[IngestEventsRequest, Mapping[str, int]]:
    """Return the masked request, and the number of masked values by kind."""
    # A stream ignores repeated event ids. A masked id therefore gets a suffix, the keyed digest
    # of the original id.
    request, masked = await privacy.admit(name, Place.GENERATION, sent, MASKED_FIELDS)
    before, after = sent.direct_contents_source, request.direct_contents_source
    if before is None or after is None:
        return request, masked
    pairs = list(zip(before.events, after.events, strict=True))
    if all(sent_event.event_id == masked_event.event_id for sent_event, masked_event in pairs):
        return request, masked
    async with privacy.db.snapshot() as session:
        pseudonyms = await pseudonyms_of(session, privacy.settings)
    events = [_distinct(sent_event, masked_event, pseudonyms) for sent_event, masked_event in pairs]
    source = after.model_copy(update={"events": events})
    return request.model_copy(update={"direct_contents_source": source}), masked


def _distinct(sent: ContentEvent, masked: ContentEvent, pseudonyms: Pseudonyms) -> ContentEvent:
    if sent.event_id is None or masked.event_id is None or sent.event_id == masked.event_id:
        return masked
    mark = pseudonyms.of({"eventId": sent.event_id})[-_MARK_CHARS:]
    kept = masked.event_id[: MAX_EVENT_ID_CHARS - len(mark) - 1]
    return masked.model_copy(update={"event_id": f"{kept}-{mark}"})


def _is_settled(row: OperationRow, now: datetime) -> bool:
    # A ripe stream stays ripe; a postponed operation or one that waits for a retry runs no
    # earlier. Only a forced flush changes that.
    postponed = row.details.get("postponedUntil")
    is_postponed = postponed is not None and parse_timestamp(postponed) > now
    return row.due_time <= now or row.attempts > 0 or is_postponed


def _bytes_of(rows: Sequence[Mapping[str, Any]]) -> int:
    return sum(row["content_bytes"] for row in rows)


def _columns(event: ContentEvent, model: TextModel | None, now: datetime) -> dict[str, Any]:
    # Files are stored only if the model can read some.
    content = event.kept_content(keeps_files=reads_files(model, [event]))
    return {
        "event_id": event.event_id or None,
        "event_time": event.event_time,
        "utc_offset": None if event.event_time is None else utc_offset(event.event_time),
        "arrival_time": now,
        "content": content,
        "content_bytes": len(json.dumps(content, ensure_ascii=False).encode()),
    }
