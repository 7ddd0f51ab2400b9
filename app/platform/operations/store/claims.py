"""Taking, keeping and giving back the right to run an operation; when, and how many may wait.

Leases use the clock of the database: workers on several machines share no other.
All functions take part in the caller's transaction.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    DateTime,
    Interval,
    and_,
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
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import aliased
from sqlalchemy.sql.dml import ReturningUpdate

from app.adapters.db.session import Session, note
from app.kernel.auth import Scopes
from app.kernel.limits import exhausted
from app.kernel.wire.scalars import format_timestamp
from app.platform.operations.logic.states import State
from app.platform.operations.store import repository
from app.platform.operations.store.repository import Owned
from app.platform.operations.store.tables import OperationRow

Ended = tuple[datetime, timedelta]
"""When an operation ends, should it end now, and for how long it is kept then."""

INGEST: Final = "ingestion.ingest"
"""The kind of the operation that waits for events of a stream, of which streams have one each."""
SUMMARIZE: Final = "sessions.summarize"
"""The kind of that which makes summaries of a session, of which each policy has at most one."""

# Written into the statement, not bound: a generic plan must know them to use the partial indexes.
_PENDING: ColumnElement[str] = literal_column(f"'{State.PENDING}'")
_RUNNING: ColumnElement[str] = literal_column(f"'{State.RUNNING}'")
_INGEST: ColumnElement[str] = literal_column(f"'{INGEST}'")


@dataclass(frozen=True)
class Claim:
    """An operation that this worker may run until its lease ends."""

    owned: Owned
    engine_name: str
    kind: str
    request: dict[str, Any]
    attempts: int
    details: dict[str, Any]
    """The metadata so far, with what earlier attempts have noted."""
    is_cancelled: bool
    """Whether the client has asked to cancel it during an earlier attempt."""
    scopes: Scopes | None
    """The scopes that it concerns; None: it may be any."""
    caller: str | None
    """Who asked for it: the id of the key; None: the service itself."""


def _claiming() -> ReturningUpdate[OperationRow]:
    """Return the statement that claims; it takes `new_owner`, `at` and `lease`."""
    at = bindparam("at", type_=DateTime(timezone=True))
    other = aliased(OperationRow)
    key_is_free = ~exists().where(
        other.engine_id == OperationRow.engine_id,
        other.key == OperationRow.key,
        other.state == _RUNNING,
        other.operation_id != OperationRow.operation_id,
    )
    is_abandoned = and_(
        OperationRow.state == _RUNNING, OperationRow.lease_until < func.clock_timestamp()
    )
    oldest = (
        select(OperationRow.engine_id, OperationRow.operation_id)
        .where(
            # What runs was due when it was claimed, so that this bounds the walk over the index.
            OperationRow.due_time <= at,
            or_(OperationRow.state == _PENDING, is_abandoned),
            key_is_free,
        )
        .order_by(OperationRow.due_time, OperationRow.operation_id)
        .limit(1)
        .with_for_update(skip_locked=True)
        # Not a subquery, which a plan may run once per row and so lock more than one.
        .cte("oldest")
    )
    return (
        update(OperationRow)
        .where(
            OperationRow.engine_id == oldest.c.engine_id,
            OperationRow.operation_id == oldest.c.operation_id,
        )
        .values(
            state=State.RUNNING,
            owner=bindparam("new_owner"),
            lease_until=func.clock_timestamp() + bindparam("lease", type_=Interval()),
            attempts=OperationRow.attempts + 1,
            update_time=at,
        )
        .returning(OperationRow)
    )


# Made once: workers run it all day, and to make it costs more than to run it.
_CLAIMING = _claiming()


async def claim(session: Session, owner: str, now: datetime, lease: timedelta) -> Claim | None:
    """Take the operation that has been due for longest and whose key is free.

    An operation whose lease has run out is taken over. Two workers that take two operations of
    one key at the same moment are told apart by the unique index on running keys: the second
    fails there, and finds nothing this time. Its transaction can then do nothing but end.
    """
    values = {"new_owner": owner, "at": now, "lease": lease}
    try:
        row = (await session.execute(_CLAIMING, values)).scalar_one_or_none()
    except IntegrityError:
        return None
    return _claim_of(row) if row is not None else None


async def take(session: Session, wanted: Owned, now: datetime, lease: timedelta) -> Claim | None:
    """Take one operation for its `owner`, due or not: for who knows better than a worker.

    None where another worker has it, or one of its key. The transaction can then do nothing but
    end.
    """
    statement = (
        update(OperationRow)
        .where(
            OperationRow.engine_id == wanted.engine_id,
            OperationRow.operation_id == wanted.operation_id,
            or_(
                OperationRow.state == _PENDING,
                and_(
                    OperationRow.state == _RUNNING,
                    OperationRow.lease_until < func.clock_timestamp(),
                ),
            ),
        )
        .values(
            state=State.RUNNING,
            owner=wanted.owner,
            lease_until=_lease_end(lease),
            attempts=OperationRow.attempts + 1,
            update_time=now,
        )
        .returning(OperationRow)
    )
    try:
        row = (await session.execute(statement)).scalar_one_or_none()
    except IntegrityError:
        return None
    return _claim_of(row) if row is not None else None


def _claim_of(row: OperationRow) -> Claim:
    assert row.owner is not None
    return Claim(
        owned=Owned(row.engine_id, row.operation_id, row.owner),
        engine_name=row.engine_name,
        kind=row.kind,
        request=row.request or {},
        attempts=row.attempts,
        details=row.details,
        is_cancelled=row.cancel_requested,
        scopes=row.scopes,
        caller=row.caller,
    )


@dataclass(frozen=True)
class Queue:
    """What waits for a worker: how many operations, and since when the oldest has been due."""

    due: int
    oldest_due_time: datetime | None


async def queue_at(session: Session, now: datetime) -> Queue:
    """Return what of all engines is due and that no worker has taken."""
    statement = select(func.count(), func.min(OperationRow.due_time)).where(
        OperationRow.state == _PENDING, OperationRow.due_time <= now
    )
    due, oldest = (await session.execute(statement)).one()
    return Queue(due, oldest)


async def check_queue(session: Session, engine_id: int, limit: int | None) -> None:
    """Make sure that one more operation of an engine may wait for a worker; None: any number may.

    All of the engine count, whoever asked for them and whatever they concern, but for those that
    wait for events or for a summariser: streams and sessions have bounds of their own. A deleted
    engine, the only one whose removal waits, is asked for nothing more. Requests under way at the
    same moment do not see each other, so that there can be as many more.

    Raises:
        ResourceExhausted: as many wait as may.
    """
    if limit is None:
        return
    waiting = (
        select(OperationRow.operation_id)
        .where(
            OperationRow.engine_id == engine_id,
            OperationRow.state == _PENDING,
            OperationRow.kind != _INGEST,
            OperationRow.kind != SUMMARIZE,
        )
        .limit(limit)
        .subquery()
    )
    # Past the session, which would count only what its caller may see: a key for each user would
    # have a queue for each. Nothing is told but whether the engine's is full.
    connection = await session.connection()
    statement = select(func.count()).select_from(waiting)
    if (await connection.execute(statement)).scalar_one() >= limit:
        raise exhausted(
            f"reasoningEngines/{engine_id} has as many queuedOperations as it may: {limit}.",
            "queuedOperations",
            limit=limit,
        )


async def unfinished(session: Session, engine_id: int, kind: str, key: str) -> OperationRow | None:
    """Return the operation of a kind and a key that waits or runs, if there is one."""
    is_waiting = and_(OperationRow.state == _PENDING, OperationRow.kind != _INGEST)
    statement = select(OperationRow).where(
        OperationRow.engine_id == engine_id,
        OperationRow.kind == kind,
        OperationRow.key == key,
        or_(is_waiting, OperationRow.state == _RUNNING),
    )
    return (await session.execute(statement.limit(1))).scalar_one_or_none()


async def renew(session: Session, owned: Owned, lease: timedelta) -> bool | None:
    """Lengthen the lease.

    Returns:
        Whether the client has asked to cancel, or None when the lease was lost.
    """
    statement = (
        update(OperationRow)
        .where(owned.is_mine())
        .values(lease_until=_lease_end(lease))
        .returning(OperationRow.cancel_requested)
    )
    return (await session.execute(statement)).scalar_one_or_none()


async def is_cancelled(session: Session, owned: Owned) -> bool:
    """Say whether the client has asked to cancel."""
    statement = select(OperationRow.cancel_requested).where(owned.is_mine())
    return bool((await session.execute(statement)).scalar_one_or_none())


async def retry(
    session: Session, owned: Owned, ended: Ended, due: datetime, error: dict[str, Any]
) -> None:
    """Put an operation back, due later, with its last error; its key is free meanwhile."""
    values = {"due_time": due, "details": _with_last_error(error)}
    await _give_back(session, owned, ended, values)


async def release(session: Session, owned: Owned, ended: Ended) -> None:
    """Give an operation back unharmed: another worker may take it at once."""
    await _give_back(session, owned, ended, {"attempts": OperationRow.attempts - 1})


async def postpone(session: Session, owned: Owned, ended: Ended, due: datetime) -> None:
    """Put an operation back, due later, as if this attempt had not been; its metadata say so."""
    until = func.jsonb_build_object("postponedUntil", format_timestamp(due))
    values = {
        "due_time": due,
        "attempts": OperationRow.attempts - 1,
        "details": OperationRow.details.op("||")(until),
    }
    await _give_back(session, owned, ended, values)


async def go_on(
    session: Session, owned: Owned, ended: Ended, now: datetime, details: dict[str, Any]
) -> bool:
    """Put an operation back that has done a part of its work, due at once; false: lease lost.

    `details` are added to its metadata. The attempts at the next part count anew.
    """
    await repository.note(session, owned, details)
    values = {"due_time": now, "update_time": now, "attempts": 0}
    is_mine = await _give_back(session, owned, ended, values)
    await repository.wake(session)
    return is_mine


async def _give_back(session: Session, owned: Owned, ended: Ended, values: dict[str, Any]) -> bool:
    """Give an operation back; where the client has asked to cancel it, that is its end.

    Returns false if the lease was lost.
    The row is locked from the first statement on, so that no request comes in between.
    """
    statement = (
        update(OperationRow)
        .where(owned.is_mine())
        .values(**_given_back(), **values)
        .returning(OperationRow)
    )
    row = (await session.execute(statement)).scalar_one_or_none()
    if row is not None and row.cancel_requested:
        await repository.cancel(session, row, *ended)
    return row is not None


async def lock(session: Session, engine_id: int, operation_id: str) -> OperationRow | None:
    """Lock an operation, if it is still kept: no worker claims or ends it before the commit."""
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
    """Let a locked operation that waits be due at another time, and add to its metadata."""
    statement = (
        update(OperationRow)
        .where(
            OperationRow.engine_id == row.engine_id,
            OperationRow.operation_id == row.operation_id,
        )
        .values(
            due_time=due if row.state == State.PENDING else row.due_time,
            update_time=now,
            details=OperationRow.details.op("||")(cast(details, JSONB)),
        )
        .returning(OperationRow)
        .execution_options(populate_existing=True)
    )
    moved = (await session.execute(statement)).scalar_one()
    note(session, operation=moved.name)
    await repository.wake_if_due(session, moved, now)
    return moved


async def hurry(
    session: Session, engine_id: int, operation_ids: Collection[str], now: datetime
) -> None:
    """Let those of an engine's operations that wait be due at once."""
    await session.execute(
        update(OperationRow)
        .where(
            OperationRow.engine_id == engine_id,
            OperationRow.operation_id.in_(operation_ids),
            OperationRow.state == _PENDING,
        )
        .values(due_time=now)
        .execution_options(synchronize_session=False)
    )
    await repository.wake(session)


async def release_all(session: Session) -> None:
    """Give back every running operation.

    Only for a process that knows itself to be the only worker: the one that holds the lock of an
    embedded database. What was running died with the process before it.
    """
    await session.execute(
        update(OperationRow).where(OperationRow.state == State.RUNNING).values(**_given_back())
    )


def _given_back() -> dict[str, Any]:
    return {"state": State.PENDING, "owner": None, "lease_until": None}


def _lease_end(lease: timedelta) -> ColumnElement[datetime]:
    return func.clock_timestamp() + lease


def _with_last_error(error: dict[str, Any]) -> ColumnElement[Any]:
    return OperationRow.details.op("||")(func.jsonb_build_object("lastError", error["message"]))
