"""Writes of summaries, and reads of one or a page; `lookups.py` has all other reads.

Writers must hold the lock of the session's row. So must changes of summaries when events are erased
or a session's context is cleared.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Select,
    and_,
    func,
    literal_column,
    select,
    update,
)

from app.adapters.db.bulk import insert_drawn_row
from app.adapters.db.lists import List
from app.adapters.db.session import Session
from app.adapters.db.subjects import RowsOf, TextsOf
from app.conversation.strategies.logic.turns import Due
from app.conversation.summaries.store.tables import SessionSummaryRow
from app.kernel.errors import FailedPrecondition, NotFound, Reason
from app.kernel.ids import bucket_of_user, new_id
from app.kernel.names import SessionName, SummaryName
from app.platform.sessions.logic.event_text import EventNumbers
from app.platform.sessions.store.tables import SessionEventRow, SessionRow

_R = SessionSummaryRow


class StoredSummaryState(StrEnum):
    """Current state of a summary."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    STALE = "stale"
    """The text is erased: a covered event was erased, or the session changed during the writing."""
    FAILED = "failed"
    """The summariser failed. Without a retry time there is no further attempt."""


IS_ACTIVE: ColumnElement[bool] = _R.state == literal_column(f"'{StoredSummaryState.ACTIVE}'")
"""Condition for active summaries; a literal, since a parameter could not use their partial index.
"""


@dataclass(frozen=True)
class NewSummary:
    """A summary to store.

    Attributes:
        is_cell: whether it is the next version of the summary that starts at the same event.
        is_asked: whether a client requested it again; such a summary does not resolve a failure.
    """

    policy_key: str
    policy: dict[str, Any]
    due: Due
    is_cell: bool
    now: datetime
    model_id: str
    template: str
    text: str | None = None
    is_cut: bool = False
    is_asked: bool = False
    usage: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


async def last_exchange(
    session: Session, engine_id: int, session_id: str, policy_key: str
) -> int | None:
    """Return the last exchange that a policy's summaries cover; None: no summary."""
    statement = (
        select(_R.last_exchange)
        .where(
            _R.engine_id == engine_id,
            _R.session_id == session_id,
            _R.policy_key == policy_key,
            IS_ACTIVE,
        )
        .order_by(_R.last_seq.desc())
        .limit(1)
    )
    return (await session.execute(statement)).scalar_one_or_none()


async def last_failure(
    session: Session, name: SessionName, policy_key: str
) -> SessionSummaryRow | None:
    """Return the failed summary of a policy that will be retried, or None."""
    statement = select(_R).where(of(name), _R.policy_key == policy_key, is_retried())
    return (await session.execute(statement)).scalar_one_or_none()


async def insert_summary(session: Session, name: SessionName, new: NewSummary) -> SessionSummaryRow:
    """Insert a finished summary, and supersede the summaries of its policy that overlap it.

    It replaces a failed summary that waits for its retry, and includes the usage of that one.
    """
    overlapping = _overlapping(name, new.policy_key, new.due)
    await change(session, overlapping, state=StoredSummaryState.SUPERSEDED, update_time=new.now)
    values = {"text": new.text, "is_cut": new.is_cut, "error_reason": None, "retry_time": None}
    return await _write(session, name, new, {**values, "state": StoredSummaryState.ACTIVE})


async def list_overlapping(
    session: Session, name: SessionName, policy_key: str, due: Due
) -> frozenset[str]:
    """Return the ids of a policy's active summaries that a new one would supersede."""
    statement = select(_R.summary_id).where(_overlapping(name, policy_key, due))
    return frozenset((await session.execute(statement)).scalars())


def _overlapping(name: SessionName, policy_key: str, due: Due) -> ColumnElement[bool]:
    return and_(
        of(name),
        _R.policy_key == policy_key,
        IS_ACTIVE,
        _R.last_seq >= due.first_seq,
        _R.first_seq <= due.last_seq,
    )


async def insert_stale(session: Session, name: SessionName, new: NewSummary) -> None:
    """Insert a summary that was discarded because its session changed; its text is not kept."""
    await _write(
        session, name, new, {"state": StoredSummaryState.STALE, "text": None, "retry_time": None}
    )


async def fail(
    session: Session, name: SessionName, new: NewSummary, reason: str, retry_time: datetime | None
) -> SessionSummaryRow:
    """Record a failed summary, of which each policy has at most one.

    `retry_time` is None for a summary that a client requested, which is not retried.
    """
    values = {"state": StoredSummaryState.FAILED, "text": None, "error_reason": reason}
    return await _write(session, name, new, {**values, "retry_time": retry_time})


async def _write(
    session: Session, name: SessionName, new: NewSummary, values: Mapping[str, Any]
) -> SessionSummaryRow:
    failed = None if new.is_asked else await last_failure(session, name, new.policy_key)
    columns = {**_columns(new), **values}
    columns["boundary_seq"], user_id = await _standing(session, name)
    summary_id = str(new_id(new.now, bucket_of_user(user_id)))
    if values["state"] == StoredSummaryState.FAILED:
        columns["attempts"] = 1 + (failed.attempts if failed is not None else 0)
    if failed is None:
        columns |= {
            "engine_id": name.engine.engine,
            "session_id": name.session,
            "summary_id": summary_id,
            "version": await _next_version(session, name, new, ""),
            "usage": dict(new.usage),
            "create_time": new.now,
        }
        return await insert_drawn_row(_R, session, columns, "summary_id")
    if values["state"] != StoredSummaryState.FAILED:
        # The new id makes it the newest: among overlapping summaries, the greatest id counts.
        columns |= {"summary_id": summary_id, "create_time": new.now}
    columns["usage"] = _added(failed.usage, new.usage)
    columns["version"] = await _next_version(session, name, new, failed.summary_id)
    statement = (
        update(_R)
        .where(of(name), _R.summary_id == failed.summary_id)
        .values(columns)
        .returning(_R)
        .execution_options(populate_existing=True, synchronize_session=False)
    )
    return (await session.execute(statement)).scalar_one()


def _columns(new: NewSummary) -> dict[str, Any]:
    due = new.due
    return {
        "policy_key": new.policy_key,
        "policy": new.policy,
        "kind": due.kind,
        "first_seq": due.first_seq,
        "last_seq": due.last_seq,
        "last_exchange": due.last_exchange,
        "char_limit": due.chars,
        "previous": list(due.previous),
        "read_first_seq": due.read.first if due.read else None,
        "read_last_seq": due.read.last if due.read else None,
        "model_id": new.model_id,
        "template": new.template,
        "update_time": new.now,
    }


async def _standing(session: Session, name: SessionName) -> tuple[int, str]:
    """Return the session's last event and its user; contexts as of later events use the summary."""
    statement = select(SessionRow.last_seq, SessionRow.user_id).where(
        SessionRow.engine_id == name.engine.engine, SessionRow.session_id == name.session
    )
    last_seq, user_id = (await session.execute(statement)).one()
    return last_seq, user_id


async def _next_version(session: Session, name: SessionName, new: NewSummary, besides: str) -> int:
    due = new.due
    same = [of(name), _R.policy_key == new.policy_key, _R.first_seq == due.first_seq]
    if not new.is_cell:
        same += [_R.kind == due.kind, _R.last_seq == due.last_seq]
    statement = select(func.max(_R.version)).where(*same, _R.summary_id != besides)
    return 1 + ((await session.execute(statement)).scalar_one() or 0)


def _added(
    first: Mapping[str, Mapping[str, Any]], other: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the sum of usage over attempts; if a cost is unknown, the sum has no cost."""
    return {
        model: _sum(first.get(model), other.get(model)) for model in first.keys() | other.keys()
    }


def _sum(first: Mapping[str, Any] | None, other: Mapping[str, Any] | None) -> dict[str, Any]:
    parts = [part for part in (first, other) if part is not None]
    names = set.intersection(*(set(part) for part in parts))
    return {name: sum(part[name] for part in parts) for name in sorted(names)}


async def get(session: Session, name: SummaryName) -> SessionSummaryRow:
    """Return a summary."""
    statement = select(_R).where(of(name.session), _R.summary_id == name.summary)
    row = (await session.execute(statement)).scalar_one_or_none()
    if row is None:
        raise NotFound.of(name)
    return row


SUMMARIES = List("summaries", (_R.summary_id,))


def select_summaries(
    name: SessionName, state: StoredSummaryState | None, policy_key: str | None
) -> Select[SessionSummaryRow]:
    """Select the summaries of a session in a state and of a policy; None: any."""
    statement = select(_R).where(of(name))
    if state is not None:
        statement = statement.where(_R.state == state)
    if policy_key is not None:
        statement = statement.where(_R.policy_key == policy_key)
    return statement


def not_active(name: SummaryName) -> FailedPrecondition:
    """Return the error for a summary that cannot be regenerated since it is not active."""
    return FailedPrecondition(
        f"{name} is not active: another has taken its place, or an event of it was erased.",
        Reason.SUMMARY_NOT_ACTIVE,
    )


async def change(session: Session, which: ColumnElement[bool], **values: object) -> None:
    """Update summaries."""
    statement = update(_R).where(which).values(**values)
    await session.execute(statement.execution_options(synchronize_session=False))


def of(name: SessionName) -> ColumnElement[bool]:
    """Select the summaries of a session."""
    return and_(_R.engine_id == name.engine.engine, _R.session_id == name.session)


def is_retried() -> ColumnElement[bool]:
    """Select failed summaries that will be retried."""
    return _R.retry_time.is_not(None)


ERASURES = (RowsOf(_R).erasure(),)
"""Erasure of the rows of a scope."""
TEXTS = (TextsOf(_R, "text", lambda key: f"sessions/{key[0]}"),)
"""Texts that a scan for sensitive values reads."""


async def mark_stale(
    session: Session, engine_id: int, session_id: str, seq: int, now: datetime
) -> Collection[str]:
    """Erase the texts of all summaries that cover an event; return the keys of their policies."""
    covering = and_(
        _R.engine_id == engine_id,
        _R.session_id == session_id,
        _R.first_seq <= seq,
        _R.last_seq >= seq,
        _R.state != StoredSummaryState.FAILED,
    )
    statement = (
        update(_R)
        .where(covering)
        .values(state=StoredSummaryState.STALE, text=None, update_time=now)
        .returning(_R.policy_key)
        .execution_options(synchronize_session=False)
    )
    return set((await session.execute(statement)).scalars())


async def supersede_all(session: Session, name: SessionName, now: datetime) -> Collection[str]:
    """Supersede a session's active summaries; give up its failed ones and return their policies."""
    given_up = (
        update(_R)
        .where(of(name), is_retried())
        .values(retry_time=None, update_time=now)
        .returning(_R.policy_key)
        .execution_options(synchronize_session=False)
    )
    keys = set((await session.execute(given_up)).scalars())
    is_active = and_(of(name), IS_ACTIVE)
    await change(session, is_active, state=StoredSummaryState.SUPERSEDED, update_time=now)
    return keys


async def give_up(session: Session, name: SessionName, policy_key: str, now: datetime) -> None:
    """Give up the failed summaries of a policy, which are no longer due."""
    failed = and_(of(name), _R.policy_key == policy_key, is_retried())
    await change(session, failed, retry_time=None, update_time=now)


async def count_kept(session: Session, name: SessionName, numbers: EventNumbers) -> int:
    """Return the number of events with the given numbers that are not erased."""
    event = SessionEventRow
    statement = select(func.count()).where(
        event.engine_id == name.engine.engine,
        event.session_id == name.session,
        event.seq.between(numbers.first, numbers.last),
        event.delete_time.is_(None),
    )
    return (await session.execute(statement)).scalar_one()
