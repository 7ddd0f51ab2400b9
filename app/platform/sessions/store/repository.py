"""Statements on sessions and their events."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Row,
    Select,
    Text,
    and_,
    cast,
    func,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import InstrumentedAttribute, defer

from app.adapters.db.bulk import insert_drawn_row
from app.adapters.db.clock import database_time
from app.adapters.db.conditions import check_scope
from app.adapters.db.filter_fields import MapField, TextField, TimestampField
from app.adapters.db.filters import Fields
from app.adapters.db.lists import List, bytes_of
from app.adapters.db.session import Session
from app.kernel.errors import AlreadyExists, NotFound, Reason
from app.kernel.names import SessionName
from app.platform.sessions.store import erasure
from app.platform.sessions.store.append_batch import is_live
from app.platform.sessions.store.tables import (
    AppStateRow,
    SessionEventRow,
    SessionRow,
    UserStateRow,
)

_FIELDS: Fields = {
    "user_id": TextField(SessionRow.user_id),
    "display_name": TextField(SessionRow.display_name),
    "labels": MapField(SessionRow.labels),
    "create_time": TimestampField(SessionRow.create_time),
    "update_time": TimestampField(SessionRow.update_time),
    "expire_time": TimestampField(SessionRow.expire_time),
}
MAX_PAGE_SIZE = 100
"""Limit for a page's events or states; a page always has at least one row."""
SESSIONS = List(
    "sessions",
    (SessionRow.create_time, SessionRow.session_id),
    is_descending=True,
    fields=_FIELDS,
    orders=(SessionRow.create_time, SessionRow.update_time),
    max_size=MAX_PAGE_SIZE,
)
EVENTS = List(
    "events",
    (SessionEventRow.timestamp, SessionEventRow.seq),
    fields={"timestamp": TimestampField(SessionEventRow.timestamp)},
    orders=(SessionEventRow.timestamp,),
    max_size=MAX_PAGE_SIZE,
)
_EVENT = SessionEventRow
_LOOKED_AT = 100
"""Former sessions of a user whose last events are compared."""


async def get(
    session: Session, name: SessionName, now: datetime, *, for_update: bool = False
) -> SessionRow:
    """Return a session that has not expired, or raise NotFound."""
    row = await find(session, name, now, for_update=for_update)
    if row is None:
        raise NotFound.of(name)
    return row


async def find(
    session: Session, name: SessionName, now: datetime, *, for_update: bool = False
) -> SessionRow | None:
    """Return a session that has not expired, or None."""
    statement = select(SessionRow).where(is_live(name, now))
    if for_update:
        statement = statement.with_for_update()
    return (await session.execute(statement)).scalar_one_or_none()


async def hold(session: Session, name: SessionName, create_time: datetime) -> bool:
    """Keep a session from removal in the transaction; return False if it was removed before.

    A single event may still be appended to it; a batch of events waits.
    """
    statement = (
        select(SessionRow.session_id)
        .where(
            SessionRow.engine_id == name.engine.engine,
            SessionRow.session_id == name.session,
            SessionRow.create_time == create_time,
        )
        .with_for_update(read=True, key_share=True)
    )
    return (await session.execute(statement)).scalar_one_or_none() is not None


def select_sessions(engine_id: int, now: datetime) -> Select[SessionRow]:
    """Select the sessions of an engine that have not expired."""
    return select(SessionRow).where(SessionRow.engine_id == engine_id, is_unexpired(now))


def size_with_shared_state(engine_id: int) -> ColumnElement[int]:
    """Return the size of a listed session, which holds the state that it shares with others."""
    of_user = select(_length(UserStateRow.state)).where(
        UserStateRow.engine_id == engine_id, UserStateRow.user_id == SessionRow.user_id
    )
    of_all = select(_length(AppStateRow.state)).where(AppStateRow.engine_id == engine_id)
    shared = func.coalesce(of_user.correlate(SessionRow).scalar_subquery(), 0) + func.coalesce(
        of_all.scalar_subquery(), 0
    )
    return bytes_of(select(SessionRow)) + shared


def _length(state: InstrumentedAttribute[dict[str, Any]]) -> ColumnElement[int]:
    return func.octet_length(cast(state, Text()))


async def list_of_user(
    session: Session,
    engine_id: int,
    user_id: str,
    clause: ColumnElement[bool],
    since: tuple[datetime, str] | None,
    limit: int,
) -> Sequence[Row[datetime, str, int, int]]:
    """Return a user's sessions with events that contexts show, newest first, from `since` on."""
    row = SessionRow
    key = (row.create_time, row.session_id)
    statement = select(*key, row.cleared_seq, row.last_seq).where(
        row.engine_id == engine_id,
        row.user_id == user_id,
        row.last_seq > row.cleared_seq,
        clause,
    )
    if since is not None:
        statement = statement.where(tuple_(*key) <= since)
    order = [column.desc() for column in key]
    return (await session.execute(statement.order_by(*order).limit(limit))).all()


async def list_former(
    session: Session, current: SessionRow, now: datetime, limit: int
) -> Sequence[Row[str, int, int]]:
    """Return the user's sessions from before `current` that have readable events.

    They come in the order of their last events, newest first, `limit` of the `_LOOKED_AT` that
    were created last. Cleared and erased events are not readable.
    """
    row, key = SessionRow, (SessionRow.create_time, SessionRow.session_id)
    newest = (
        select(_EVENT.timestamp)
        .where(
            _EVENT.engine_id == current.engine_id,
            _EVENT.session_id == row.session_id,
            _EVENT.seq > row.cleared_seq,
            _EVENT.delete_time.is_(None),
        )
        .order_by(_EVENT.seq.desc())
        .limit(1)
        .scalar_subquery()
    )
    each = (
        select(*key, row.cleared_seq, row.last_seq, newest.label("time"))
        .where(
            row.engine_id == current.engine_id,
            row.user_id == current.user_id,
            is_unexpired(now),
            tuple_(*key) < tuple_(current.create_time, current.session_id),
        )
        .order_by(*(column.desc() for column in key))
        .limit(_LOOKED_AT)
        .subquery()
    )
    statement = (
        select(each.c.session_id, each.c.cleared_seq, each.c.last_seq)
        .where(each.c.time.is_not(None))
        .order_by(each.c.time.desc(), each.c.create_time.desc(), each.c.session_id.desc())
        .limit(limit)
    )
    return (await session.execute(statement)).all()


def select_events(name: SessionName) -> Select[SessionEventRow]:
    """Select the events of a session."""
    return select(SessionEventRow).where(
        SessionEventRow.engine_id == name.engine.engine,
        SessionEventRow.session_id == name.session,
        SessionEventRow.delete_time.is_(None),
    )


class EventPlace(NamedTuple):
    """The place of an event in the order of times, and its length."""

    timestamp: datetime
    seq: int
    size_bytes: int = 0


@dataclass(frozen=True)
class EventSpan:
    """Events of a session with content: in `[start, end)`, after a place, and up to a number."""

    session_id: str
    start: datetime | None
    end: datetime | None
    last_seq: int
    after: EventPlace | None = None

    def selected(self, engine_id: int) -> list[ColumnElement[bool]]:
        """Return the conditions that select them."""
        wanted = [
            SessionEventRow.engine_id == engine_id,
            SessionEventRow.session_id == self.session_id,
            SessionEventRow.content.is_not(None),
            SessionEventRow.seq <= self.last_seq,
        ]
        if self.start is not None:
            wanted.append(SessionEventRow.timestamp >= self.start)
        if self.end is not None:
            wanted.append(SessionEventRow.timestamp < self.end)
        if self.after is not None:
            place = tuple_(SessionEventRow.timestamp, SessionEventRow.seq)
            wanted.append(place > tuple_(self.after.timestamp, self.after.seq))
        return wanted


async def list_places(
    session: Session, engine_id: int, span: EventSpan, limit: int
) -> tuple[Sequence[EventPlace], int]:
    """Return the places of a span's last events in time order, and the number of older ones."""
    wanted = span.selected(engine_id)
    statement = (
        select(SessionEventRow.timestamp, SessionEventRow.seq, SessionEventRow.size_bytes)
        .where(*wanted)
        .order_by(SessionEventRow.timestamp.desc(), SessionEventRow.seq.desc())
        .limit(limit)
    )
    places = [EventPlace(*row) for row in await session.execute(statement)][::-1]
    if len(places) < limit:
        return places, 0
    counted = select(func.count()).select_from(SessionEventRow).where(*wanted)
    return places, (await session.execute(counted)).scalar_one() - len(places)


async def events_at(
    session: Session, engine_id: int, session_id: str, places: Sequence[EventPlace]
) -> Sequence[SessionEventRow]:
    """Return the events at these places, in time order, without their raw form."""
    statement = (
        select(SessionEventRow)
        .where(
            SessionEventRow.engine_id == engine_id,
            SessionEventRow.session_id == session_id,
            SessionEventRow.seq.in_([place.seq for place in places]),
        )
        .options(defer(SessionEventRow.raw_event, raiseload=True))
        .order_by(SessionEventRow.timestamp, SessionEventRow.seq)
    )
    return (await session.execute(statement)).scalars().all()


def is_unexpired(now: datetime) -> ColumnElement[bool]:
    """Select sessions that have not expired at `now`."""
    return SessionRow.expire_time > now


async def exists_any(session: Session, engine_id: int, now: datetime) -> bool:
    """Return True if an engine has sessions that have not expired."""
    statement = select(SessionRow.session_id).where(
        SessionRow.engine_id == engine_id, is_unexpired(now)
    )
    return (await session.execute(statement.limit(1))).first() is not None


async def insert_session(
    session: Session, values: Mapping[str, Any], *, is_chosen: bool
) -> SessionRow:
    """Insert a session; one with a chosen id replaces an expired one.

    Raises:
        AlreadyExists: the chosen id is taken.
        NotFound: the user is outside the reach of the session's caller.
    """
    check_scope(session, {"user_id": values["user_id"]})
    if not is_chosen:
        return await insert_drawn_row(SessionRow, session, values, "session_id")
    is_expired = SessionRow.expire_time <= database_time(session)
    await erasure.remove_some(session, values["engine_id"], [values["session_id"]], is_expired)
    statement = insert(SessionRow).values(dict(values)).on_conflict_do_nothing()
    row = (await session.execute(statement.returning(SessionRow))).scalar_one_or_none()
    if row is None:
        raise AlreadyExists(
            f"sessions/{values['session_id']} exists; choose another id.", Reason.ID_TAKEN
        )
    return row


async def update_session(
    session: Session, row: SessionRow, values: Mapping[str, Any], now: datetime
) -> SessionRow:
    """Update a session that the caller has locked."""
    shown = func.greatest(SessionRow.shown_update_time, now)
    statement = (
        update(SessionRow)
        .where(SessionRow.engine_id == row.engine_id, SessionRow.session_id == row.session_id)
        .values(**values, version=SessionRow.version + 1, update_time=now, shown_update_time=shown)
        .returning(SessionRow)
        .execution_options(populate_existing=True, synchronize_session=False)
    )
    return (await session.execute(statement)).scalar_one()


async def find_miscounted(session: Session, engine_id: int) -> str | None:
    """Return the id of a session whose events are not numbered from 1 to its last number."""
    counted = (
        select(
            _EVENT.session_id,
            func.count().label("count"),
            func.max(_EVENT.seq).label("last"),
            func.max(_EVENT.exchange).label("exchanges"),
        )
        .where(_EVENT.engine_id == engine_id)
        .group_by(_EVENT.session_id)
        .subquery()
    )
    last = func.coalesce(counted.c.last, 0)
    is_wrong = or_(
        SessionRow.last_seq != last,
        SessionRow.exchanges != func.coalesce(counted.c.exchanges, 0),
        func.coalesce(counted.c.count, 0) != last,
    )
    statement = (
        select(SessionRow.session_id)
        .outerjoin(counted, counted.c.session_id == SessionRow.session_id)
        .where(and_(SessionRow.engine_id == engine_id, is_wrong))
        .limit(1)
    )
    return (await session.execute(statement)).scalar_one_or_none()
