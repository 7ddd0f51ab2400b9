"""Lookups of a session's summaries, for contexts and further summaries, and of their usage.

With thousands of summaries, columns that are not needed would dominate the time.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Double,
    Row,
    Select,
    and_,
    case,
    cast,
    func,
    literal,
    literal_column,
    null,
    or_,
    select,
)
from sqlalchemy.dialects.postgresql import JSONB

from app.adapters.db.bulk import any_of
from app.adapters.db.session import Session
from app.conversation.summaries.store.repository import IS_ACTIVE, StoredSummaryState, of
from app.conversation.summaries.store.tables import SessionSummaryRow
from app.kernel.names import SessionName
from app.platform.operations.logic.states import INGEST, SUMMARIZE, OperationState
from app.platform.operations.store.tables import OperationRow

_R = SessionSummaryRow
_MAX_CHARS = 50_000
"""Maximum number of characters read of each summary of several sessions."""
_PENDING: ColumnElement[str] = literal_column(f"'{OperationState.PENDING}'")
_RUNNING: ColumnElement[str] = literal_column(f"'{OperationState.RUNNING}'")


@dataclass(frozen=True)
class ListedSummary:
    """Id, range and text of a summary; `text` is None if it was not requested."""

    summary_id: str
    first_seq: int
    last_seq: int
    last_exchange: int
    text: str | None


@dataclass(frozen=True)
class SummarySpending:
    """Usage of one model for a session's summaries; `cost` None: unknown."""

    model_id: str
    calls: int
    input_tokens: int
    output_tokens: int
    milliseconds: int
    cost: float | None


async def list_active(
    session: Session, name: SessionName, policy_key: str, cleared_seq: int, *, with_text: bool
) -> list[ListedSummary]:
    """Return the contiguous active summaries after `cleared_seq`, oldest first.

    An erased event leaves a gap until its summary is made again.
    """
    statement = _listed(_active(name, policy_key), with_text=with_text).order_by(_R.last_seq)
    return _without_gap(await _read(session, statement), cleared_seq)


async def list_last(
    session: Session, name: SessionName, policy_key: str, cleared_seq: int
) -> list[ListedSummary]:
    """Return the last summary of `list_active` without its text, or an empty list."""
    before = func.lag(_R.last_seq, 1, cleared_seq).over(order_by=_R.last_seq)
    ranges = select(_R.first_seq, _R.last_seq, before.label("before")).where(
        _active(name, policy_key)
    )
    each = ranges.subquery()
    gap = select(func.min(each.c.last_seq)).where(each.c.first_seq != each.c.before + 1)
    after = gap.scalar_subquery()
    is_before = or_(after.is_(None), _R.last_seq < after)
    statement = _listed(and_(_active(name, policy_key), is_before), with_text=False)
    return await _read(session, statement.order_by(_R.last_seq.desc()).limit(1))


async def list_newest(
    session: Session, name: SessionName, policy_key: str, before: int, limit: int
) -> list[ListedSummary]:
    """Return the newest active summaries that end before an event, newest first."""
    which = and_(_active(name, policy_key), _R.last_seq < before)
    statement = _listed(which, with_text=True).order_by(_R.last_seq.desc()).limit(limit)
    return await _read(session, statement)


async def gap_end(
    session: Session, name: SessionName, policy_key: str, boundary: int
) -> int | None:
    """Return the last event of a gap between summaries, after `boundary`; None: no gap."""
    statement = (
        select(_R.first_seq)
        .where(_active(name, policy_key), _R.last_seq > boundary)
        .order_by(_R.last_seq)
        .limit(1)
    )
    first = (await session.execute(statement)).scalar_one_or_none()
    return None if first is None else first - 1


async def list_as_of(
    session: Session, name: SessionName, policy_key: str, cleared_seq: int, as_of: int
) -> list[ListedSummary]:
    """Return the summaries as of an event, oldest first; of overlapping ones only the newest.

    Summaries of events that were erased later are left out.
    """
    made = (
        select(_R.summary_id, _R.first_seq, _R.last_seq)
        .where(
            of(name),
            _R.policy_key == policy_key,
            _R.state.in_((StoredSummaryState.ACTIVE, StoredSummaryState.SUPERSEDED)),
            _R.boundary_seq <= as_of,
            _R.first_seq > cleared_seq,
        )
        .order_by(_R.summary_id.desc())
    )
    chosen: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for summary_id, first, last in await session.execute(made):
        place = bisect_right(starts, last)
        if place == 0 or ends[place - 1] < first:
            chosen.append(summary_id)
            starts.insert(place, first)
            ends.insert(place, last)
    statement = _listed(and_(of(name), _R.summary_id.in_(chosen)), with_text=True)
    return _without_gap(await _read(session, statement.order_by(_R.last_seq)), cleared_seq)


async def list_of_sessions(
    session: Session, engine_id: int, session_ids: Sequence[str], limit: int
) -> list[Row[Any]]:
    """Return session, range, text and id of each session's last `limit` summaries, oldest first.

    They are active and of the policy of the session's last one. Long texts are cut.
    """
    last_first = (_R.last_seq.desc(), _R.summary_id.desc())
    place = func.row_number().over(partition_by=_R.session_id, order_by=last_first)
    text, of_sessions = func.left(_R.text, _MAX_CHARS), _R.session_id == any_of(session_ids)
    each = (
        select(_R.session_id, _R.first_seq, _R.last_seq, text.label("text"), _R.summary_id)
        .add_columns(_R.policy_key, place.label("place"))
        .where(_R.engine_id == engine_id, of_sessions, IS_ACTIVE, _R.text != "")
        .subquery()
    )
    statement = select(each).where(each.c.place <= limit).order_by(each.c.place.desc())
    rows = (await session.execute(statement)).all()
    policies = {row.session_id: row.policy_key for row in rows}
    return [row for row in rows if row.policy_key == policies[row.session_id]]


async def count_active(session: Session, name: SessionName, policy_key: str) -> int:
    """Return the number of active summaries of a policy."""
    statement = select(func.count()).select_from(_R).where(_active(name, policy_key))
    return (await session.execute(statement)).scalar_one()


async def list_policies(session: Session, name: SessionName) -> frozenset[str]:
    """Return the keys of the policies that have active summaries of a session."""
    statement = select(_R.policy_key).distinct().where(of(name), IS_ACTIVE)
    return frozenset((await session.execute(statement)).scalars())


async def list_waiting(session: Session, engine_id: int, start: str) -> frozenset[str]:
    """Return the keys of unfinished summarise operations that begin with `start`, without it."""
    row = OperationRow
    statement = select(func.substr(row.key, len(start) + 1)).where(
        row.engine_id == engine_id,
        row.kind == SUMMARIZE,
        # The same conditions as the partial indexes.
        or_(
            and_(row.state == _PENDING, row.kind != literal_column(f"'{INGEST}'")),
            row.state == _RUNNING,
        ),
        row.key.startswith(start, autoescape=True),
    )
    return frozenset((await session.execute(statement)).scalars())


async def list_texts(
    session: Session, name: SessionName, ids: Sequence[str]
) -> list[tuple[str, str | None]]:
    """Return the ids and texts of summaries, in the order of their ranges."""
    statement = (
        select(_R.summary_id, _R.text)
        .where(of(name), _R.summary_id.in_(ids))
        .order_by(_R.first_seq, _R.last_seq)
    )
    return [(summary_id, text) for summary_id, text in await session.execute(statement)]


async def count_states(session: Session, name: SessionName) -> dict[str, int]:
    """Return the number of a session's summaries by state."""
    statement = select(_R.state, func.count()).where(of(name)).group_by(_R.state)
    counted = (await session.execute(statement)).all()
    return {row[0]: row[1] for row in counted}


async def list_spent(session: Session, name: SessionName) -> list[SummarySpending]:
    """Return the usage of a session's summaries by model, failed attempts included."""
    each = func.jsonb_each(_R.usage).table_valued("key", "value", name="spent").lateral()
    usage = cast(each.c.value, JSONB)

    def total(field_name: str) -> ColumnElement[int]:
        return cast(func.sum(cast(usage[field_name].astext, BigInteger)), BigInteger)

    costs = cast(usage["cost"].astext, Double)
    all_known = func.bool_and(usage.has_key("cost"))
    statement = (
        select(
            each.c.key,
            *map(total, ("calls", "inputTokens", "outputTokens", "milliseconds")),
            case((all_known, func.sum(costs)), else_=None),
        )
        .select_from(_R)
        .join(each, literal(value=True))
        .where(of(name))
        .group_by(each.c.key)
        .order_by(each.c.key)
    )
    return [SummarySpending(*row) for row in await session.execute(statement)]


def _active(name: SessionName, policy_key: str) -> ColumnElement[bool]:
    return and_(of(name), _R.policy_key == policy_key, IS_ACTIVE)


def _listed(
    which: ColumnElement[bool], *, with_text: bool
) -> Select[str, int, int, int, str | None]:
    text = _R.text if with_text else null()
    return select(
        _R.summary_id, _R.first_seq, _R.last_seq, _R.last_exchange, text.label("text")
    ).where(which)


async def _read(
    session: Session, statement: Select[str, int, int, int, str | None]
) -> list[ListedSummary]:
    return [ListedSummary(*row) for row in (await session.execute(statement)).all()]


def _without_gap(rows: Sequence[ListedSummary], cleared_seq: int) -> list[ListedSummary]:
    contiguous: list[ListedSummary] = []
    reached = cleared_seq
    for row in rows:
        if row.first_seq != reached + 1:
            break
        contiguous.append(row)
        reached = row.last_seq
    return contiguous
