"""Every statement on sessions and their events.

All functions take part in the caller's transaction.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import (
    ColumnElement,
    Select,
    Text,
    and_,
    cast,
    delete,
    func,
    literal,
    null,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import JSONB, insert
from sqlalchemy.orm import InstrumentedAttribute, defer
from sqlalchemy.sql.dml import ReturningDelete

from app.core.errors import AlreadyExists, NotFound, Reason
from app.core.names import SessionName
from app.db.conditions import check_scope
from app.db.filter_fields import MapField, TextField, TimestampField
from app.db.filters import Fields
from app.db.pages import Slice, sliced
from app.db.session import Session
from app.sessions.spoken import Said, speaker_of, text_of
from app.sessions.tables import SessionEventRow, SessionRow

_R = TypeVar("_R")

FILTER_FIELDS: Fields = {
    "user_id": TextField(SessionRow.user_id),
    "display_name": TextField(SessionRow.display_name),
    "labels": MapField(SessionRow.labels),
    "create_time": TimestampField(SessionRow.create_time),
    "update_time": TimestampField(SessionRow.update_time),
    "expire_time": TimestampField(SessionRow.expire_time),
}
"""What the filter of a list of sessions may name."""

EVENT_FILTER_FIELDS: Fields = {"timestamp": TimestampField(SessionEventRow.timestamp)}
"""What the filter of a list of events may name."""


async def get(
    session: Session, name: SessionName, now: datetime, *, for_update: bool = False
) -> SessionRow:
    """Return a session that has not expired.

    Raises:
        NotFound: there is none.
    """
    row = await find(session, name, now, for_update=for_update)
    if row is None:
        raise NotFound.of(name)
    return row


async def find(
    session: Session, name: SessionName, now: datetime, *, for_update: bool = False
) -> SessionRow | None:
    """Return a session, if there is one that has not expired."""
    statement = select(SessionRow).where(_is_live(name, now))
    if for_update:
        statement = statement.with_for_update()
    return (await session.execute(statement)).scalar_one_or_none()


def _is_live(name: SessionName, now: datetime) -> ColumnElement[bool]:
    return (
        (SessionRow.engine_id == name.engine.engine)
        & (SessionRow.session_id == name.session)
        & (SessionRow.expire_time > now)
    )


async def list_sizes(
    session: Session,
    engine_id: int,
    clause: ColumnElement[bool],
    by: str,
    page: Slice[tuple[datetime, str]],
) -> Sequence[int]:
    """Return the lengths of the states, in bytes, of the sessions that `list_page` returns."""
    size = func.octet_length(cast(SessionRow.session_state, Text()))
    return await _listed(session, select(size), _of_engine(engine_id, clause, by), page)


async def list_page(
    session: Session,
    engine_id: int,
    clause: ColumnElement[bool],
    by: str,
    page: Slice[tuple[datetime, str]],
) -> Sequence[SessionRow]:
    """Return sessions of an engine in the order of the column `by`."""
    return await _listed(session, select(SessionRow), _of_engine(engine_id, clause, by), page)


async def list_event_sizes(
    session: Session,
    name: SessionName,
    clause: ColumnElement[bool],
    page: Slice[tuple[datetime, int]],
) -> Sequence[int]:
    """Return the lengths, in bytes, of the events that `list_event_page` returns."""
    sizes = select(SessionEventRow.size_bytes)
    return await _listed(session, sizes, _of_session(name, clause), page)


async def list_event_page(
    session: Session,
    name: SessionName,
    clause: ColumnElement[bool],
    page: Slice[tuple[datetime, int]],
) -> Sequence[SessionEventRow]:
    """Return events of a session in the order of their time."""
    return await _listed(session, select(SessionEventRow), _of_session(name, clause), page)


_Asked = tuple[ColumnElement[bool], tuple[InstrumentedAttribute[Any], InstrumentedAttribute[Any]]]


def _of_engine(engine_id: int, clause: ColumnElement[bool], by: str) -> _Asked:
    order = (getattr(SessionRow, by), SessionRow.session_id)
    return and_(SessionRow.engine_id == engine_id, clause), order


def _of_session(name: SessionName, clause: ColumnElement[bool]) -> _Asked:
    is_mine = and_(
        SessionEventRow.engine_id == name.engine.engine,
        SessionEventRow.session_id == name.session,
    )
    return is_mine & clause, (SessionEventRow.timestamp, SessionEventRow.seq)


async def _listed(
    session: Session, what: Select[_R], asked: _Asked, page: Slice[Any]
) -> Sequence[_R]:
    where, order = asked
    return (await session.execute(sliced(what.where(where), order, page))).scalars().all()


async def list_events(
    session: Session,
    engine_id: int,
    session_id: str,
    start: datetime | None,
    end: datetime | None,
    limit: int,
) -> tuple[Sequence[SessionEventRow], int]:
    """Return the last events with content from `start` and before `end`, and how many are older.

    They come in the order of their time. For those who read what was said: the raw event is not
    loaded, and cannot be read.
    """
    wanted = [
        SessionEventRow.engine_id == engine_id,
        SessionEventRow.session_id == session_id,
        SessionEventRow.content.is_not(None),
    ]
    if start is not None:
        wanted.append(SessionEventRow.timestamp >= start)
    if end is not None:
        wanted.append(SessionEventRow.timestamp < end)
    statement = (
        select(SessionEventRow)
        .where(*wanted)
        .options(defer(SessionEventRow.raw_event, raiseload=True))
        .order_by(SessionEventRow.timestamp.desc(), SessionEventRow.seq.desc())
        .limit(limit)
    )
    rows = (await session.execute(statement)).scalars().all()[::-1]
    if len(rows) < limit:
        return rows, 0
    counted = select(func.count()).select_from(SessionEventRow).where(*wanted)
    return rows, (await session.execute(counted)).scalar_one() - len(rows)


async def list_said(
    session: Session, name: SessionName, between: tuple[int, int], limit: int, *, newest: bool
) -> list[Said]:
    """Return up to `limit` events with numbers from the one to the other, in their order.

    Where there are more, the newest of them, or the oldest; erased ones are left out.
    """
    row = SessionEventRow
    order = row.seq.desc() if newest else row.seq
    statement = (
        select(row.seq, row.event_id, row.exchange, row.author, row.content, row.token_count)
        .where(
            row.engine_id == name.engine.engine,
            row.session_id == name.session,
            row.seq.between(*between),
            row.delete_time.is_(None),
        )
        .order_by(order)
        .limit(limit)
    )
    found = [
        Said(seq, event_id, exchange, speaker_of(author, content), content, text_of(content), count)
        for seq, event_id, exchange, author, content, count in await session.execute(statement)
    ]
    return found[::-1] if newest else found


def is_unexpired(now: datetime) -> ColumnElement[bool]:
    """Select what has not expired at `now`."""
    return SessionRow.expire_time > now


async def exists_any(session: Session, engine_id: int, now: datetime) -> bool:
    """Say whether an engine has sessions that have not expired."""
    statement = select(SessionRow.session_id).where(
        SessionRow.engine_id == engine_id, is_unexpired(now)
    )
    return (await session.execute(statement.limit(1))).first() is not None


async def insert_session(session: Session, values: Mapping[str, Any]) -> SessionRow:
    """Insert a session; an expired one of the same id gives way.

    Raises:
        AlreadyExists: the id is taken.
        NotFound: the session's caller does not reach the user.
    """
    check_scope(session, {"user_id": values["user_id"]})
    expired = delete(SessionRow).where(
        SessionRow.engine_id == values["engine_id"],
        SessionRow.session_id == values["session_id"],
        SessionRow.expire_time <= values["create_time"],
    )
    await session.execute(expired)
    statement = insert(SessionRow).values(dict(values)).on_conflict_do_nothing()
    row = (await session.execute(statement.returning(SessionRow))).scalar_one_or_none()
    if row is None:
        raise AlreadyExists(
            f"sessions/{values['session_id']} exists; choose another id.", Reason.ID_TAKEN
        )
    return row


async def update_session(
    session: Session, row: SessionRow, values: Mapping[str, Any]
) -> SessionRow:
    """Change a session that the caller has locked."""
    statement = (
        update(SessionRow)
        .where(SessionRow.engine_id == row.engine_id, SessionRow.session_id == row.session_id)
        .values(**values, version=SessionRow.version + 1)
        .returning(SessionRow)
        .execution_options(populate_existing=True, synchronize_session=False)
    )
    return (await session.execute(statement)).scalar_one()


async def count_event(
    session: Session, name: SessionName, now: datetime, delta: Mapping[str, Any]
) -> tuple[int, dict[str, Any] | None]:
    """Give a new event its number and apply its change of the session's state.

    The session stays locked until the transaction ends, so numbers have no gap. Returns the number,
    and the new state where it changed.

    Raises:
        NotFound: there is no such session.
    """
    values: dict[str, Any] = {
        "last_seq": SessionRow.last_seq + 1,
        "version": SessionRow.version + 1,
        "update_time": now,
    }
    if delta:
        values["session_state"] = SessionRow.session_state.op("||")(literal(dict(delta), JSONB()))
    # A large state is not read back by each event that leaves it alone.
    state = SessionRow.session_state if delta else null()
    statement = (
        update(SessionRow)
        .where(_is_live(name, now))
        .values(values)
        .returning(SessionRow.last_seq, state)
        .execution_options(synchronize_session=False)
    )
    found = (await session.execute(statement)).first()
    if found is None:
        raise NotFound.of(name)
    return found[0], found[1]


async def insert_event(session: Session, values: Mapping[str, Any]) -> None:
    """Insert an event under the number that `count_event` gave."""
    await session.execute(insert(SessionEventRow).values(dict(values)))


async def remove(session: Session, row: SessionRow) -> None:
    """Erase a session with its events."""
    await session.execute(
        delete(SessionRow).where(
            SessionRow.engine_id == row.engine_id, SessionRow.session_id == row.session_id
        )
    )


async def remove_of_engine(session: Session, engine_id: int, limit: int) -> int:
    """Remove up to `limit` events of an engine, or without events sessions; return how many."""
    is_mine = SessionEventRow.engine_id == engine_id
    removed = await session.execute(_event_removal(is_mine, limit).where(is_mine))
    if count := len(removed.all()):
        return count
    ids = select(SessionRow.session_id).where(SessionRow.engine_id == engine_id).limit(limit)
    gone = await session.execute(
        delete(SessionRow)
        .where(SessionRow.engine_id == engine_id, SessionRow.session_id.in_(ids))
        .returning(SessionRow.session_id)
        .execution_options(synchronize_session=False)
    )
    return len(gone.all())


async def remove_expired(session: Session, now: datetime, limit: int) -> int:
    """Remove up to `limit` events of expired sessions, then these; return how many rows; a sweep's.

    Events go first, so that a session with many of them does not make one long statement.
    """
    key = (SessionRow.engine_id, SessionRow.session_id)
    expired = select(*key).where(SessionRow.expire_time <= now).limit(limit)
    keys = (await session.execute(expired.with_for_update(skip_locked=True))).all()
    if not keys:
        return 0
    theirs = tuple_(SessionEventRow.engine_id, SessionEventRow.session_id).in_(keys)
    removed = await session.execute(_event_removal(theirs, limit))
    if len(removed.all()) == limit:
        return limit
    await session.execute(
        delete(SessionRow)
        .where(tuple_(*key).in_(keys))
        .execution_options(synchronize_session=False)
    )
    return len(keys)


def _event_removal(which: ColumnElement[bool], limit: int) -> ReturningDelete[int]:
    key = (SessionEventRow.engine_id, SessionEventRow.session_id, SessionEventRow.seq)
    # Events that another removal holds are left to it: neither waits for the other.
    held = select(*key).where(which).limit(limit).with_for_update(skip_locked=True).cte("old")
    return (
        delete(SessionEventRow)
        .where(tuple_(*key).in_(select(held)))
        .returning(SessionEventRow.seq)
        .execution_options(synchronize_session=False)
    )
