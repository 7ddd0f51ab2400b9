"""Leases: claim, renew and return operations, schedule them, and bound the queue.

Leases use the clock of the database, the only one that workers on several machines share.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    DateTime,
    Interval,
    Select,
    Text,
    and_,
    any_,
    bindparam,
    cast,
    exists,
    func,
    literal_column,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import aliased
from sqlalchemy.sql.dml import ReturningUpdate

from app.adapters.db.errors import meets_taken_key
from app.adapters.db.hot_sql import filled, text_of
from app.adapters.db.session import Database, Session, note
from app.kernel.auth import Scopes
from app.kernel.errors import Aborted
from app.kernel.limits import exhausted
from app.kernel.wire.scalars import format_timestamp
from app.platform.operations.logic.states import INGEST, SUMMARIZE, OperationState
from app.platform.operations.store import counting, repository
from app.platform.operations.store.queue import PENDING, RUNNING, UNREACHED
from app.platform.operations.store.repository import Ended
from app.platform.operations.store.tables import OperationRow, Owned
from app.platform.operations.store.waking import tell, wake

_INGEST: ColumnElement[str] = literal_column(f"'{INGEST}'")
_SUMMARIZE: ColumnElement[str] = literal_column(f"'{SUMMARIZE}'")


@dataclass(frozen=True)
class Claim:
    """An operation that this worker may run until its lease ends."""

    owned: Owned
    engine_name: str
    kind: str
    request: dict[str, Any]
    attempts: int
    details: dict[str, Any]
    """The metadata so far, including notes of earlier attempts."""
    is_cancelled: bool
    """True if the client asked to cancel during an earlier attempt."""
    scopes: Scopes | None
    """The scopes concerned; None: possibly any."""
    caller: str | None
    """The id of the key that asked for it; None: the service itself."""
    request_id: str | None
    """The id of the request that asked for it."""
    traceparent: str | None
    """The span of that request."""


_CLAIMED = (
    *("operation_id", "engine_name", "kind", "request", "attempts", "details"),
    *("cancel_requested", "scopes", "caller", "request_id", "traceparent"),
)
"""Columns of a claim."""
EVER = datetime.max.replace(tzinfo=UTC)
"""The time by which each operation is due."""


@dataclass(frozen=True)
class WantedOperations:
    """Operations of an engine, of which a worker wants one that is due by a time."""

    engine_id: int
    operation_ids: Sequence[str]
    due_by: datetime


def _take_statement() -> ReturningUpdate[Any]:
    at = bindparam("at", type_=DateTime(timezone=True))
    engine_id = bindparam("of_engine", type_=BigInteger)
    other = aliased(OperationRow)
    key_is_free = ~exists().where(
        other.engine_id == OperationRow.engine_id,
        other.key == OperationRow.key,
        other.state == RUNNING,
        other.operation_id != OperationRow.operation_id,
    )
    # The time of the statement, not of the clock: with locks skipped, nothing is waited for.
    is_abandoned = and_(
        OperationRow.state == RUNNING, OperationRow.lease_until < func.statement_timestamp()
    )
    oldest = (
        select(OperationRow.operation_id, OperationRow.state)
        .where(
            OperationRow.engine_id == engine_id,
            OperationRow.operation_id == any_(bindparam("ids", type_=ARRAY(Text))),
            OperationRow.due_time <= bindparam("due_by", type_=DateTime(timezone=True)),
            or_(OperationRow.state == PENDING, is_abandoned),
            key_is_free,
        )
        .order_by(OperationRow.due_time, OperationRow.operation_id)
        .limit(1)
        .with_for_update(skip_locked=True)
        # Not a subquery: a plan may run one per row and so lock several.
        .cte("oldest")
    )
    return (
        update(OperationRow)
        .where(
            OperationRow.engine_id == engine_id,
            OperationRow.operation_id == oldest.c.operation_id,
        )
        .values(
            state=OperationState.RUNNING,
            owner=bindparam("new_owner"),
            lease_until=func.statement_timestamp() + bindparam("lease", type_=Interval()),
            attempts=OperationRow.attempts + 1,
            update_time=at,
            start_time=func.coalesce(OperationRow.start_time, at),
        )
        .returning(*(getattr(OperationRow, name) for name in _CLAIMED), oldest.c.state)
        .execution_options(synchronize_session=False)
    )


_TAKE, _SAME = text_of(_take_statement())


async def take(
    db: Database, wanted: WantedOperations, owner: str, now: datetime, lease: timedelta
) -> Claim | None:
    """Claim the one of some operations that has been due longest and whose key is free.

    An operation with an expired lease is taken over. If two workers claim operations of one key at
    the same moment, the unique index on running keys makes the second fail; it gets None. A hot
    statement, in a transaction of its own.
    """
    values = {
        "of_engine": wanted.engine_id,
        "ids": list(wanted.operation_ids),
        "due_by": wanted.due_by,
        "new_owner": owner,
        "at": now,
        "lease": lease,
    }
    try:
        rows = await db.run(*filled(_TAKE, _SAME | values), is_change=True)
    except Aborted as error:
        if meets_taken_key(error):
            return None
        raise
    if not rows:
        return None
    *columns, before = rows[0]
    if before == OperationState.RUNNING:
        counting.count_taken_over()
    claimed = dict(zip(_CLAIMED, columns, strict=True))
    owned = Owned(wanted.engine_id, claimed.pop("operation_id"), owner)
    is_cancelled = claimed.pop("cancel_requested")
    return Claim(owned, request=claimed.pop("request") or {}, is_cancelled=is_cancelled, **claimed)


async def check_queue(session: Session, engine_id: int, limit: int | None) -> None:
    """Check that one more operation of an engine may be queued; limit None: no bound.

    Operations that wait for events or for a summariser do not count: streams and sessions have
    bounds of their own. Concurrent requests do not see each other, so the bound may be exceeded by
    their number.

    Raises:
        ResourceExhausted: the queue is full.
    """
    if limit is None:
        return
    # Bypasses the session, which counts only what its caller may see: each user's key would get
    # its own queue. The caller learns only whether the engine's queue is full.
    connection = await session.connection()
    if (await connection.execute(_count_waiting(engine_id, limit))).scalar_one() >= limit:
        raise exhausted(
            f"reasoningEngines/{engine_id} has reached its limit of queuedOperations: {limit}.",
            "queuedOperations",
            limit=limit,
        )


def _count_waiting(engine_id: Any, limit: Any) -> Select[int]:  # noqa: ANN401 - values, or their places in a hot statement
    waiting = (
        select(OperationRow.operation_id)
        .where(
            OperationRow.engine_id == engine_id,
            OperationRow.state == PENDING,
            OperationRow.kind != _INGEST,
            OperationRow.kind != _SUMMARIZE,
        )
        .limit(limit)
        .subquery()
    )
    return select(func.count()).select_from(waiting)


WAITING, _ = text_of(_count_waiting(bindparam("engine"), bindparam("most")))
"""The same as a part of a hot statement; `most` is the limit."""


async def unfinished(session: Session, engine_id: int, kind: str, key: str) -> OperationRow | None:
    """Return the pending or running operation of a kind and a key, if any."""
    is_waiting = and_(OperationRow.state == PENDING, OperationRow.kind != _INGEST)
    statement = select(OperationRow).where(
        OperationRow.engine_id == engine_id,
        OperationRow.kind == kind,
        OperationRow.key == key,
        or_(is_waiting, OperationRow.state == RUNNING),
    )
    return (await session.execute(statement.limit(1))).scalar_one_or_none()


async def renew(session: Session, owned: Owned, lease: timedelta) -> bool | None:
    """Extend the lease; return True if the client has asked to cancel, None if it was lost."""
    # Locked by a statement before, so that the lease is not shortened by waiting.
    locked = select(OperationRow.cancel_requested).where(owned.is_mine()).with_for_update()
    is_asked: bool | None = (await session.execute(locked)).scalar_one_or_none()
    if is_asked is not None:
        until = func.statement_timestamp() + lease
        await session.execute(
            update(OperationRow)
            .where(owned.is_mine())
            .values(lease_until=until)
            .execution_options(synchronize_session=False)
        )
    return is_asked


async def is_cancelled(session: Session, owned: Owned) -> bool:
    """Return True if the client has asked to cancel."""
    statement = select(OperationRow.cancel_requested).where(owned.is_mine())
    return bool((await session.execute(statement)).scalar_one_or_none())


async def retry(
    session: Session, owned: Owned, ended: Ended, due: datetime, error: dict[str, Any]
) -> None:
    """Requeue an operation for later, with its last error; its key is free meanwhile."""
    values = {"due_time": due, "details": _with_last_error(error)}
    await _give_back(session, owned, ended, values)


async def release(session: Session, owned: Owned, ended: Ended) -> None:
    """Release an operation unchanged; another worker may claim it at once."""
    await _give_back(session, owned, ended, {"attempts": OperationRow.attempts - 1})


async def postpone(session: Session, owned: Owned, ended: Ended, due: datetime) -> None:
    """Requeue an operation for later without counting this attempt; its metadata reports it."""
    until = func.jsonb_build_object("postponedUntil", format_timestamp(due))
    values = {
        "due_time": due,
        "attempts": OperationRow.attempts - 1,
        "details": OperationRow.details.op("||")(until),
    }
    await _give_back(session, owned, ended, values)


async def wait_for_node(
    session: Session,
    owned: Owned,
    ended: Ended,
    due: datetime,
    error: dict[str, Any],
    since: datetime,
) -> None:
    """Requeue an operation that cannot reach a node since a time; the attempt does not count."""
    details = {"lastError": error["message"], UNREACHED: format_timestamp(since)}
    values = {
        "due_time": due,
        "attempts": OperationRow.attempts - 1,
        "details": OperationRow.details.op("||")(cast(details, JSONB)),
    }
    await _give_back(session, owned, ended, values)


async def go_on(
    session: Session,
    owned: Owned,
    ended: Ended,
    now: datetime,
    details: dict[str, Any],
    request: dict[str, Any] | None = None,
) -> bool:
    """Requeue a partly done operation, due at once; return False if the lease was lost.

    `details` are added to its metadata; a `request` for the rest replaces its own. The count of
    attempts restarts.
    """
    # Progress ends a wait for a node.
    await repository.note(session, owned, {**details, UNREACHED: None})
    values = {"due_time": now, "update_time": now, "attempts": 0}
    if request is not None:
        values["request"] = request
    is_mine = await _give_back(session, owned, ended, values)
    await wake(session, owned.engine_id, now, now)
    return is_mine


async def _give_back(session: Session, owned: Owned, ended: Ended, values: dict[str, Any]) -> bool:
    """Requeue an operation, or end it if the client cancelled; return False if it is lost."""
    statement = (
        update(OperationRow)
        .where(owned.is_mine())
        .values(**_released_values(), **values)
        .returning(OperationRow)
    )
    row = (await session.execute(statement)).scalar_one_or_none()
    if row is not None:
        # Its key is free for others at once.
        tell(session, row.engine_id, min(ended[0], row.due_time))
        if row.cancel_requested:
            await repository.cancel(session, row, *ended)
    return row is not None


async def lock(session: Session, engine_id: int, operation_id: str) -> OperationRow | None:
    """Lock an operation that is still kept: no worker claims or ends it before the commit."""
    statement = (
        select(OperationRow)
        .where(OperationRow.engine_id == engine_id, OperationRow.operation_id == operation_id)
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    return (await session.execute(statement)).scalar_one_or_none()


async def reschedule(
    session: Session, row: OperationRow, due: datetime, now: datetime, details: dict[str, Any]
) -> OperationRow:
    """Change the due time of a locked pending operation, and add to its metadata."""
    statement = (
        update(OperationRow)
        .where(
            OperationRow.engine_id == row.engine_id,
            OperationRow.operation_id == row.operation_id,
        )
        .values(
            due_time=due if row.state == OperationState.PENDING else row.due_time,
            update_time=now,
            details=OperationRow.details.op("||")(cast(details, JSONB)),
        )
        .returning(OperationRow)
        .execution_options(populate_existing=True)
    )
    moved = (await session.execute(statement)).scalar_one()
    note(session, operation=moved.name)
    await wake(session, moved.engine_id, moved.due_time, now)
    return moved


async def run_now(
    session: Session, engine_id: int, operation_ids: Collection[str], now: datetime
) -> None:
    """Make the given pending operations of an engine due at once."""
    await session.execute(
        update(OperationRow)
        .where(
            OperationRow.engine_id == engine_id,
            OperationRow.operation_id.in_(operation_ids),
            OperationRow.state == PENDING,
        )
        .values(due_time=now)
        .execution_options(synchronize_session=False)
    )
    await wake(session, engine_id, now, now)


async def release_all(session: Session) -> None:
    """Release every running operation of processes that are certainly gone.

    Only the holder of an embedded database's lock may call this.
    """
    statement = (
        update(OperationRow)
        .where(OperationRow.state == OperationState.RUNNING)
        .values(**_released_values())
        .execution_options(synchronize_session=False)
    )
    await session.execute(statement)


def _released_values() -> dict[str, Any]:
    return {"state": OperationState.PENDING, "owner": None, "lease_until": None}


def _with_last_error(error: dict[str, Any]) -> ColumnElement[Any]:
    return OperationRow.details.op("||")(func.jsonb_build_object("lastError", error["message"]))
