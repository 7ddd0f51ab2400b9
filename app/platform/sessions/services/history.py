"""Use cases of a session's events: append one or several, list, erase."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from app.adapters.concurrency import each
from app.adapters.db.lists import list_page
from app.adapters.db.session import Database, Session
from app.adapters.db.session import Session as DatabaseSession
from app.adapters.resources import EventListener, Resources
from app.kernel.changes import IdempotencyKey
from app.kernel.clock import Clock
from app.kernel.errors import Aborted, NotFound, Reason
from app.kernel.ids import NO_BUCKET, bucket_of_user, new_id
from app.kernel.limits import Counted
from app.kernel.names import EventName, SessionName
from app.kernel.paging import PageRequest
from app.kernel.permissions import Permission
from app.kernel.wire.privacy_config import Place
from app.platform.engines.services.engine_cache import EngineCache
from app.platform.engines.store import repository as engines
from app.platform.engines.store.tables import EngineRow, memory_policy_of, name_of
from app.platform.limits.services.quotas import check_room
from app.platform.operations.services.mutation import write
from app.platform.operations.store.idempotency import record_of
from app.platform.privacy.service import PrivacyService
from app.platform.sessions.logic.event_text import ExchangePlace, Step, step_of
from app.platform.sessions.logic.states import StateParts
from app.platform.sessions.schemas.events import (
    AppendedEvent,
    AppendEventRequest,
    BatchAppendEventsRequest,
    BatchAppendEventsResponse,
    CreateExchangeRequest,
    Exchange,
    ListEventsResponse,
    SessionEvent,
)
from app.platform.sessions.schemas.sessions import check_state_size
from app.platform.sessions.store import append_batch, erasure, fast_sql, repository, shared
from app.platform.sessions.store.append_batch import At, Standing
from app.platform.sessions.store.shared import StateChange
from app.settings.settings import Settings

TEXT_FIELDS = {
    "author",
    "content",
    "actions",
    "error_code",
    "error_message",
    "event_metadata",
    "raw_event",
}
"""Fields of an event that hold texts of users; names and ids are left as they are."""
EXCHANGE_FIELDS = {"input", "output", "agent", "metadata"}


@dataclass(frozen=True)
class _NewEvent:
    """An event about to be appended; `delta` changes the session's state, own and shared."""

    columns: Mapping[str, Any]
    step: Step
    delta: Mapping[str, Any]

    @classmethod
    def of(cls, request: AppendEventRequest) -> "_NewEvent":
        columns = request.columns()
        step = step_of(request.author, columns["content"], columns["event_metadata"])
        delta = (request.actions and request.actions.state_delta) or {}
        return cls(columns, step, delta)


@dataclass(frozen=True)
class _Creation:
    """The time of an append, and the bucket of the session's user."""

    now: datetime
    bucket: int


@dataclass(frozen=True)
class EventService:
    """Use cases of the events in sessions."""

    db: Database
    clock: Clock
    settings: Settings
    listeners: Sequence[EventListener]
    erasers: Sequence[EventListener]
    privacy: PrivacyService
    known: EngineCache

    @classmethod
    def of(cls, resources: Resources) -> "EventService":
        """Build the service from the process's resources."""
        registry = resources.registry
        return cls(
            resources.db,
            resources.clock,
            resources.settings,
            registry.event_listeners,
            registry.event_erasers,
            PrivacyService.of(resources),
            EngineCache.of(resources),
        )

    async def append(
        self, name: SessionName, request: AppendEventRequest, once: IdempotencyKey | None
    ) -> None:
        """Append an event and apply its change of the session's state.

        The fast path sends one statement and nearly always works. If it does not apply or changes
        nothing, the event is appended step by step.

        Raises:
            InvalidArgument: a state would become too large, or the engine refuses a value.
            PermissionDenied: a restricted caller would change the state that all users share.
        """
        now = self.clock.now()
        way = Place.SESSION_EVENTS
        request, _ = await self.privacy.admit(name.engine, way, request, TEXT_FIELDS)
        event, at = _NewEvent.of(request), At(now, request.timestamp)
        known = self.known.find(name.engine)
        if known is not None and await self._append_at_once(known, name, event, at, once):
            # The write has confirmed the cached engine.
            self.known.note(known)
            return
        parts = StateParts.of(event.delta)
        async with write(self, engines.locked(name.engine), once, now=now) as change:
            if change.replayed is not None:
                return
            session, engine = change.session, change.engine
            stands = await append_batch.count_event(session, name, at, event.step, parts.own)
            await self._check_and_share(session, name, stands, parts, "actions.stateDelta")
            creation = _Creation(now, bucket_of_user(stands.user_id))
            row = _row(name, event, stands.last_seq, stands.place.exchange, creation)
            await append_batch.insert_events(session, [row])
            if event.step is Step.ANSWERS:
                await self._notify_listeners(session, engine, name, stands, now)

    async def _append_at_once(
        self,
        engine: EngineRow,
        name: SessionName,
        event: _NewEvent,
        at: At,
        once: IdempotencyKey | None,
    ) -> bool:
        """Append an event at once; return False if that did nothing or does not apply.

        A cluster would insert selected rows by way of the coordinator, so there it does not apply.
        """
        audit = self.db.audit
        has_listener = event.step is Step.ANSWERS and memory_policy_of(engine)
        if audit is None or event.delta or has_listener or self.db.is_distributed:
            return False
        # The statement numbers the event, and adds the bucket of the session's user to its id.
        row = _row(name, event, 0, 0, _Creation(at.now, NO_BUCKET))
        rows = {"appended": row, "event": audit({})}
        if once is not None:
            rows["request"] = record_of(once, engine.engine_id, at.now, None)
        return await fast_sql.append(self.db, engine, name, event.step, at=at, rows=rows)

    async def append_all(
        self, name: SessionName, request: BatchAppendEventsRequest, once: IdempotencyKey | None
    ) -> BatchAppendEventsResponse:
        """Append events in order, all or none; a repeated request gets the first answer.

        Raises:
            Aborted: the last event is not the expected one.
            InvalidArgument: a state would become too large, or the engine refuses a value.
            PermissionDenied: a restricted caller would change the state that all users share.
            ResourceExhausted: the engine has no room for all of them.
        """
        expected = request.expected_last_seq
        sent = [(f"events[{n}]", event) for n, event in enumerate(request.events)]
        place = Place.SESSION_EVENTS
        events, _ = await self.privacy.admit_all(name.engine, place, sent, TEXT_FIELDS)
        return await self._append_all(name, events, expected, once, self.clock.now())

    async def exchange(
        self, name: SessionName, request: CreateExchangeRequest, once: IdempotencyKey | None
    ) -> Exchange:
        """Append an exchange of two events as `append_all` does; a repeat gets the first answer."""
        now = self.clock.now()
        place = Place.SESSION_EVENTS
        request, _ = await self.privacy.admit(name.engine, place, request, EXCHANGE_FIELDS)
        events = request.events(now, str(new_id(now, NO_BUCKET)))
        appended = await self._append_all(name, events, request.expected_last_seq, once, now)
        return Exchange(**dict(appended), exchange=appended.events[-1].exchange)

    async def _append_all(
        self,
        name: SessionName,
        requests: Sequence[AppendEventRequest],
        expected: int | None,
        once: IdempotencyKey | None,
        now: datetime,
    ) -> BatchAppendEventsResponse:
        events = await each(requests, _NewEvent.of)
        async with write(self, engines.locked(name.engine), once, now=now) as change:
            session, engine = change.session, change.engine
            stored = SessionName(name_of(engine), name.session)
            if change.replayed is not None:
                return _response(stored, change.replayed.answer["events"])
            await check_room(session, self.settings, engine.engine_id, Counted.EVENTS, len(events))
            rows = await self._append_batch(session, engine, name, events, expected, now)
            numbered = [[row["event_id"], row["seq"], row["exchange"]] for row in rows]
            await change.answer({"events": numbered})
            return _response(stored, numbered)

    async def _append_batch(
        self,
        session: DatabaseSession,
        engine: EngineRow,
        name: SessionName,
        events: Sequence[_NewEvent],
        expected: int | None,
        now: datetime,
    ) -> list[dict[str, Any]]:
        before = await append_batch.lock(session, name, now)
        _check_last(name, before.last_seq, expected)
        creation = _Creation(now, bucket_of_user(before.user_id))
        rows, place, delta = [], before.place, dict[str, Any]()
        for seq, event in enumerate(events, before.last_seq + 1):
            place = place.after(event.step)
            rows.append(_row(name, event, seq, place.exchange, creation))
            delta |= event.delta
        stands = replace(before, last_seq=before.last_seq + len(events), place=place)
        parts = StateParts.of(delta)
        at_last = At(now, max(event.columns["timestamp"] for event in events))
        stands = await append_batch.count_events(session, name, at_last, stands, parts.own)
        last = max((number for number, event in enumerate(events) if event.delta), default=0)
        field = f"events[{last}].actions.stateDelta"
        await self._check_and_share(session, name, stands, parts, field)
        await append_batch.insert_events(session, rows)
        if any(event.step is Step.ANSWERS for event in events):
            await self._notify_listeners(session, engine, name, stands, now)
        return rows

    async def _check_and_share(
        self,
        session: DatabaseSession,
        name: SessionName,
        stands: Standing,
        parts: StateParts,
        field: str,
    ) -> None:
        if stands.state is not None:
            check_state_size(stands.state, field)
        change = StateChange(
            engine_id=name.engine.engine,
            user_id=stands.user_id,
            parts=parts,
            field=field,
            permission=Permission.EVENTS_APPEND,
            most_bytes=self.settings.max_shared_state_bytes,
        )
        await shared.write(session, change)

    async def _notify_listeners(
        self,
        session: DatabaseSession,
        engine: EngineRow,
        name: SessionName,
        stands: Standing,
        now: datetime,
    ) -> None:
        """Notify the listeners of an answer in a session with a policy, once a user has spoken."""
        has_policy = stands.memory_policy or memory_policy_of(engine)
        if stands.place.exchange == 0 or not has_policy:
            return
        appended = Appended(
            engine=engine,
            session_id=name.session,
            user_id=stands.user_id,
            memory_policy=stands.memory_policy,
            last_seq=stands.last_seq,
            place=stands.place,
            cleared_seq=stands.cleared_seq,
            cleared_exchange=stands.cleared_exchange,
            now=now,
        )
        await notify(self.listeners, session, appended)

    async def erase(self, name: EventName, once: IdempotencyKey | None) -> None:
        """Erase an event's content for good; its number and its state change stay."""
        now = self.clock.now()
        async with write(self, engines.locked(name.session.engine), once, now=now) as change:
            if change.replayed is not None:
                return
            session, engine = change.session, change.engine
            row = await repository.get(session, name.session, now, for_update=True)
            seq = await erasure.erase_event(session, name.session, name.event, now)
            if seq is None:
                raise NotFound.of(name)
            await repository.update_session(session, row, {}, now)
            await notify(self.erasers, session, ErasedEvent(engine, name.session, seq, now))

    async def list_events(
        self,
        name: SessionName,
        filter_text: str | None,
        order_by: str | None,
        page: PageRequest,
    ) -> ListEventsResponse:
        """Return a page of a session's events, or raise NotFound."""
        parent = f"{name.engine.engine}/{name.session}"
        events = repository.EVENTS.ordered(order_by)
        # Tokens of this list have an empty filter in place of none.
        asked = events.filtered_page(page, self.settings, filter_text or "", session=parent)
        async with self.db.snapshot() as session:
            engine = name_of(await engines.get(session, name.engine))
            await repository.get(session, name, self.clock.now())
            rows, token = await list_page(session, repository.select_events(name), asked)
        stored = SessionName(engine, name.session)
        return ListEventsResponse(
            session_events=[SessionEvent.from_row(stored, row) for row in rows],
            next_page_token=token,
        )


def _check_last(name: SessionName, last_seq: int, expected: int | None) -> None:
    if expected not in {None, last_seq}:
        raise Aborted(
            f"expectedLastSeq: the last event of sessions/{name.session} is {last_seq}, not"
            f" {expected}; read the events in between, then retry.",
            Reason.SEQUENCE_CONFLICT,
            metadata={"lastSeq": str(last_seq)},
        )


def _row(
    name: SessionName, event: _NewEvent, seq: int, exchange: int, creation: _Creation
) -> dict[str, Any]:
    return {
        "engine_id": name.engine.engine,
        "session_id": name.session,
        "seq": seq,
        "event_id": str(new_id(creation.now, creation.bucket)),
        "exchange": exchange,
        **event.columns,
        "create_time": creation.now,
    }


def _response(
    session: SessionName, numbered: Sequence[tuple[str, int, int] | list[Any]]
) -> BatchAppendEventsResponse:
    events = [
        AppendedEvent(name=str(EventName(session, event_id)), seq=seq, exchange=exchange)
        for event_id, seq, exchange in numbered
    ]
    return BatchAppendEventsResponse(events=events, last_seq=events[-1].seq)


@dataclass(frozen=True)
class Appended:
    """A session after an append with an answer.

    Attributes:
        memory_policy: the policy in the session's row; None: the engine's policy applies.
        place: the place of the newest event; its `complete` is the last complete exchange.
    """

    engine: EngineRow
    session_id: str
    user_id: str
    memory_policy: Mapping[str, Any] | None
    last_seq: int
    place: ExchangePlace
    cleared_seq: int
    cleared_exchange: int
    now: datetime


@dataclass(frozen=True)
class ErasedEvent:
    """An event whose content has been erased, named by its number in the session."""

    engine: EngineRow
    name: SessionName
    seq: int
    now: datetime


async def notify(
    listeners: Iterable[EventListener], session: Session, change: Appended | ErasedEvent
) -> None:
    """Call all listeners in order; an exception from one rolls the transaction back.

    The session's row is locked. `Registry.event_listeners` get an `Appended` once an exchange is
    complete, `Registry.event_erasers` an `ErasedEvent`.
    """
    for listener in listeners:
        await listener(session, change)
