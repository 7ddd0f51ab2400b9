"""Use cases of the events of a session: append one, or several at once, list, erase."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from app.adapters.cooperative import each
from app.adapters.db.filters import read_filter
from app.adapters.db.pages import Slice
from app.adapters.db.session import Database
from app.adapters.db.session import Session as DatabaseSession
from app.adapters.resources import EventListener, Resources
from app.kernel.clock import Clock
from app.kernel.errors import Aborted, NotFound, Reason
from app.kernel.ids import new_id
from app.kernel.limits import Counted
from app.kernel.names import EventName, SessionName
from app.kernel.once import Once
from app.kernel.ordering import read_order
from app.kernel.paging import (
    PageRequest,
    clamp_page_size,
    decode_token,
    encode_token,
    rows_within,
    typed_key,
)
from app.kernel.permissions import Permission
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.engines.store.rows import name_of
from app.platform.engines.store.tables import EngineRow
from app.platform.limits.services.quotas import check_room
from app.platform.operations.store import repeats
from app.platform.sessions.logic.spoken import Step, step_of
from app.platform.sessions.logic.states import Parts
from app.platform.sessions.schemas.events import (
    AppendedEvent,
    AppendEventRequest,
    BatchAppendEventsRequest,
    BatchAppendEventsResponse,
    BatchedEvent,
    CreateExchangeRequest,
    Exchange,
    ListEventsResponse,
    SessionEvent,
)
from app.platform.sessions.schemas.sessions import MAX_PAGE_BYTES, MAX_PAGE_SIZE, check_state_size
from app.platform.sessions.services.changes import Appended, Erased, tell
from app.platform.sessions.store import entered, erasure, repository, shared
from app.platform.sessions.store.entered import At, Standing
from app.platform.sessions.store.shared import Change
from app.settings.settings import Settings


@dataclass(frozen=True)
class _Event:
    """An event about to be appended.

    Attributes:
        delta: what it changes of the session's state, and of what that shares with others.
    """

    columns: Mapping[str, Any]
    step: Step
    delta: Mapping[str, Any]

    @classmethod
    def of(cls, request: AppendEventRequest) -> "_Event":
        columns = request.columns()
        step = step_of(request.author, columns["content"], columns["event_metadata"])
        delta = (request.actions and request.actions.state_delta) or {}
        return cls(columns, step, delta)


@dataclass(frozen=True)
class EventService:
    """The events that sessions hold."""

    db: Database
    clock: Clock
    settings: Settings
    listeners: Sequence[EventListener]
    erasers: Sequence[EventListener]

    @classmethod
    def of(cls, resources: Resources) -> "EventService":
        """Build the service from the process's resources."""
        listeners, erasers = resources.registry.event_listeners, resources.registry.event_erasers
        return cls(resources.db, resources.clock, resources.settings, listeners, erasers)

    async def append(
        self, name: SessionName, request: AppendEventRequest, once: Once | None
    ) -> None:
        """Append an event, and apply what it changes of the session's state.

        Raises:
            InvalidArgument: a state would become too large.
            NotFound: no such session.
            PermissionDenied: what all users share would change, and the caller is bound to some.
        """
        now = self.clock.now()
        event = _Event.of(request)
        parts = Parts.of(event.delta)
        async with self.db.transaction() as session:
            engine = await engines.get(session, name.engine, Lock.SHARED)
            if await repeats.is_repeated(session, engine.engine_id, once, now):
                return
            at = At(now, request.timestamp)
            stands = await entered.count_event(session, name, at, event.step, parts.own)
            await self._check_and_share(session, name, stands, parts, "actions.stateDelta")
            place = (stands.last_seq, stands.place.exchange)
            await entered.insert_event(session, _row(name, event, place, now))
            if event.step is Step.ANSWERS:
                await self._tell(session, engine, name, stands, now)

    async def append_all(
        self, name: SessionName, request: BatchAppendEventsRequest, once: Once | None
    ) -> BatchAppendEventsResponse:
        """Append events in their order, all or none; a repeated request is answered as before.

        Raises:
            Aborted: the last event is not the expected one.
            InvalidArgument: a state would become too large.
            NotFound: no such session.
            PermissionDenied: what all users share would change, and the caller is bound to some.
            ResourceExhausted: there is no room for all of them in the engine.
        """
        expected = request.expected_last_seq
        return await self._append_all(name, request.events, expected, once, self.clock.now())

    async def exchange(
        self, name: SessionName, request: CreateExchangeRequest, once: Once | None
    ) -> Exchange:
        """Append an exchange of two events; a repeated request is answered as before.

        The errors are as those of `append_all`.
        """
        now = self.clock.now()
        events = request.events(now, str(new_id(now)))
        found = await self._append_all(name, events, request.expected_last_seq, once, now)
        return Exchange(**dict(found), exchange=found.events[-1].exchange)

    async def _append_all(
        self,
        name: SessionName,
        requests: Sequence[BatchedEvent],
        expected: int | None,
        once: Once | None,
        now: datetime,
    ) -> BatchAppendEventsResponse:
        events = await each(requests, _Event.of)
        async with self.db.transaction() as session:
            engine = await engines.get(session, name.engine, Lock.SHARED)
            stored = SessionName(name_of(engine), name.session)
            known = await repeats.answered_with(session, engine.engine_id, once, now)
            if known is not None:
                return _response(stored, known["events"])
            room = (engine.engine_id, Counted.EVENTS, len(events))
            await check_room(session, self.settings, *room)
            rows = await self._enter(session, engine, name, events, (expected, now))
            told = [[row["event_id"], row["seq"], row["exchange"]] for row in rows]
            await repeats.keep_answer(session, engine.engine_id, once, {"events": told})
            return _response(stored, told)

    async def _enter(
        self,
        session: DatabaseSession,
        engine: EngineRow,
        name: SessionName,
        events: Sequence[_Event],
        at: tuple[int | None, datetime],
    ) -> list[dict[str, Any]]:
        """Append events to a session whose last one is as expected, if anything is expected."""
        expected, now = at
        before = await entered.lock(session, name, now)
        _check_last(name, before.last_seq, expected)
        rows, place, delta = [], before.place, dict[str, Any]()
        for seq, event in enumerate(events, before.last_seq + 1):
            place = place.after(event.step)
            rows.append(_row(name, event, (seq, place.exchange), now))
            delta |= event.delta
        stands = replace(before, last_seq=before.last_seq + len(events), place=place)
        parts = Parts.of(delta)
        at_last = At(now, events[-1].columns["timestamp"])
        stands = await entered.count_events(session, name, at_last, stands, parts.own)
        last = max((number for number, event in enumerate(events) if event.delta), default=0)
        field = f"events[{last}].actions.stateDelta"
        await self._check_and_share(session, name, stands, parts, field)
        await entered.insert_events(session, rows)
        if any(event.step is Step.ANSWERS for event in events):
            await self._tell(session, engine, name, stands, now)
        return rows

    async def _check_and_share(
        self,
        session: DatabaseSession,
        name: SessionName,
        stands: Standing,
        parts: Parts,
        field: str,
    ) -> None:
        """Check the state that a session has now, and change what it shares with others."""
        if stands.state is not None:
            check_state_size(stands.state, field)
        change = Change(
            engine_id=name.engine.engine,
            user_id=stands.user_id,
            parts=parts,
            field=field,
            permission=Permission.EVENTS_APPEND,
            most_bytes=self.settings.max_shared_state_bytes,
        )
        await shared.write(session, change)

    async def _tell(
        self,
        session: DatabaseSession,
        engine: EngineRow,
        name: SessionName,
        stands: Standing,
        now: datetime,
    ) -> None:
        """Tell of an answer, if it is one to anything."""
        if stands.place.exchange == 0:
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
        await tell(self.listeners, session, appended)

    async def erase(self, name: EventName, once: Once | None) -> None:
        """Erase what an event says, for good; its number stays taken.

        What it has changed of the session's state stays as it is.

        Raises:
            NotFound: no such session, or no such event in it.
        """
        now = self.clock.now()
        async with self.db.transaction() as session:
            engine = await engines.get(session, name.session.engine, Lock.SHARED)
            if await repeats.is_repeated(session, engine.engine_id, once, now):
                return
            row = await repository.get(session, name.session, now, for_update=True)
            seq = await erasure.erase_event(session, name.session, name.event, now)
            if seq is None:
                raise NotFound.of(name)
            await repository.update_session(session, row, {}, now)
            await tell(self.erasers, session, Erased(engine, name.session, seq, now))

    async def list_page(
        self,
        name: SessionName,
        filter_text: str | None,
        order_by: str | None,
        page: PageRequest,
    ) -> ListEventsResponse:
        """Return a page of a session's events.

        Raises:
            NotFound: no such session.
        """
        now = self.clock.now()
        limit = clamp_page_size(page.size, maximum=MAX_PAGE_SIZE)
        order = read_order(order_by, "timestamp", ("timestamp",))
        clause = read_filter(filter_text, repository.EVENT_FILTER_FIELDS, self.settings)
        query = {"list": "events", "session": f"{name.engine.engine}/{name.session}"}
        query |= {"filter": filter_text or "", "order": str(order.is_descending)}
        after = typed_key(decode_token(page.token, query), datetime, int) if page.token else None
        async with self.db.snapshot() as session:
            engine = name_of(await engines.get(session, name.engine))
            await repository.get(session, name, now)
            asked = Slice(limit + 1, after, order.is_descending)
            found = (session, name, clause.condition)
            sizes = await repository.list_event_sizes(*found, asked)
            fits = rows_within(sizes, limit, MAX_PAGE_BYTES)
            rows = await repository.list_event_page(*found, replace(asked, limit=fits))
        last = rows[-1] if len(sizes) > fits else None
        stored = SessionName(engine, name.session)
        return ListEventsResponse(
            session_events=[SessionEvent.from_row(stored, row) for row in rows],
            next_page_token=last and encode_token(query, [last.timestamp, last.seq]),
        )


def _check_last(name: SessionName, last_seq: int, expected: int | None) -> None:
    """Refuse to append after other events than the caller knows of.

    Raises:
        Aborted: the last event is another.
    """
    if expected not in {None, last_seq}:
        raise Aborted(
            f"expectedLastSeq: the last event of sessions/{name.session} is {last_seq}, not"
            f" {expected}; read those in between, and send it again.",
            Reason.SEQUENCE_CONFLICT,
            metadata={"lastSeq": str(last_seq)},
        )


def _row(name: SessionName, event: _Event, place: tuple[int, int], now: datetime) -> dict[str, Any]:
    """Return the columns of an event with its number and that of its exchange."""
    seq, exchange = place
    return {
        "engine_id": name.engine.engine,
        "session_id": name.session,
        "seq": seq,
        "event_id": str(new_id(now)),
        "exchange": exchange,
        **event.columns,
        "create_time": now,
    }


def _response(
    session: SessionName, told: Sequence[tuple[str, int, int] | list[Any]]
) -> BatchAppendEventsResponse:
    """Return the answer to an append; `session` is the stored full name."""
    events = [
        AppendedEvent(name=str(EventName(session, event_id)), seq=seq, exchange=exchange)
        for event_id, seq, exchange in told
    ]
    return BatchAppendEventsResponse(events=events, last_seq=events[-1].seq)
