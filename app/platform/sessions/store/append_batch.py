"""Statements that append events to a session."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Update, and_, case, func, literal, null, or_, select, update
from sqlalchemy.dialects.postgresql import JSONB

from app.adapters.db.bulk import insert_drawn_rows
from app.adapters.db.session import Session
from app.kernel.errors import NotFound
from app.kernel.names import SessionName
from app.platform.sessions.logic.event_text import ExchangePlace, Step
from app.platform.sessions.store.tables import SessionEventRow, SessionRow

_TICK = timedelta(microseconds=1)
_LAST = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Standing:
    """A session after its newest event; `state` is its own state if just changed, else None."""

    user_id: str
    memory_policy: dict[str, Any] | None
    last_seq: int
    place: ExchangePlace
    cleared_seq: int
    cleared_exchange: int
    state: dict[str, Any] | None


@dataclass(frozen=True)
class At:
    """The time of an append, and the latest timestamp that the sender gave its events."""

    now: datetime
    newest: datetime

    @property
    def shown(self) -> datetime:
        """The time just after the newest event, which the session shows as its last change."""
        return _just_after(self.newest)


_STANDING = (
    SessionRow.user_id,
    SessionRow.memory_policy,
    SessionRow.last_seq,
    SessionRow.exchanges,
    SessionRow.is_answered,
    SessionRow.cleared_seq,
    SessionRow.cleared_exchange,
)


def is_live(name: SessionName, now: datetime) -> ColumnElement[bool]:
    """Select a session that has not expired."""
    return is_live_by_id(name.engine.engine, name.session, now)


def is_live_by_id(engine_id: Any, session_id: Any, now: Any) -> ColumnElement[bool]:  # noqa: ANN401 - values, or their places in a hot statement
    """Select a session as `is_live` does."""
    return and_(
        SessionRow.engine_id == engine_id,
        SessionRow.session_id == session_id,
        SessionRow.expire_time > now,
    )


_NEXT = {"last_seq": SessionRow.last_seq + 1}
_BEGINS = case((or_(SessionRow.is_answered, SessionRow.exchanges == 0), 1), else_=0)
MOVES: Mapping[Step, Mapping[str, Any]] = {
    Step.ASKS: {**_NEXT, "exchanges": SessionRow.exchanges + _BEGINS, "is_answered": False},
    Step.ANSWERS: {**_NEXT, "is_answered": SessionRow.exchanges > 0},
    Step.GOES_ON: _NEXT,
}
"""`ExchangePlace.after` in SQL: the session's columns after one more event."""


async def lock(session: Session, name: SessionName, now: datetime) -> Standing:
    """Lock a session and return its standing, or raise NotFound."""
    statement = select(*_STANDING, null()).where(is_live(name, now)).with_for_update()
    return _standing(name, (await session.execute(statement)).first())


async def count_event(
    session: Session, name: SessionName, at: At, step: Step, delta: Mapping[str, Any]
) -> Standing:
    """Assign a new event its number and exchange, and apply its change of the session's own state.

    The session stays locked until the transaction ends, so the numbers have no gap.
    """
    return await _count(session, name, at, {**MOVES[step]}, delta)


async def count_events(
    session: Session, name: SessionName, at: At, stands: Standing, delta: Mapping[str, Any]
) -> Standing:
    """Apply several new events to a locked session; `stands` is its standing after them."""
    values = {
        "last_seq": stands.last_seq,
        "exchanges": stands.place.exchange,
        "is_answered": stands.place.is_answered,
    }
    return await _count(session, name, at, values, delta)


async def _count(
    session: Session,
    name: SessionName,
    at: At,
    values: dict[str, Any],
    delta: Mapping[str, Any],
) -> Standing:
    if delta:
        values["session_state"] = SessionRow.session_state.op("||")(literal(dict(delta), JSONB()))
    # The state may be large, so an event that leaves it unchanged does not read it back.
    state = SessionRow.session_state if delta else null()
    statement = (
        moved(values, at.now, literal(at.shown, SessionRow.create_time.type))
        .where(is_live(name, at.now))
        .returning(*_STANDING, state)
        .execution_options(synchronize_session=False)
    )
    return _standing(name, (await session.execute(statement)).first())


def moved(values: Mapping[str, Any], now: Any, shown: ColumnElement[datetime]) -> Update:  # noqa: ANN401 - a time, or its place in a hot statement
    """Return the update of a session by new events; `shown` is `At.shown`."""
    times = {
        "update_time": now,
        "shown_update_time": func.greatest(SessionRow.shown_update_time, shown),
    }
    return update(SessionRow).values(**values, version=SessionRow.version + 1, **times)


def _just_after(moment: datetime) -> datetime:
    """Return the next microsecond: a search strictly before it includes this moment."""
    return min(moment, _LAST - _TICK) + _TICK


def _standing(name: SessionName, columns: Sequence[Any] | None) -> Standing:
    if columns is None:
        raise NotFound.of(name)
    user_id, policy, last_seq, exchange, is_answered, cleared_seq, cleared_exchange, state = columns
    place = ExchangePlace(exchange, is_answered)
    return Standing(user_id, policy, last_seq, place, cleared_seq, cleared_exchange, state)


async def insert_events(session: Session, rows: Sequence[dict[str, Any]]) -> None:
    """Insert events of a session locked by the transaction; a taken id is replaced in `rows`."""
    await insert_drawn_rows(SessionEventRow, session, rows, "event_id", as_sent=True)
