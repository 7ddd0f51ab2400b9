"""Unfinished work: its lookup, its metrics, its next time, and its count of attempts.

All functions take part in the caller's transaction.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Text, cast, func, literal_column, or_, select, update

from app.adapters.db.session import Session
from app.platform.operations.logic.states import OperationState
from app.platform.operations.store.owned import Owned
from app.platform.operations.store.tables import OperationRow

UNREACHED = "unreachedSince"
"""The detail of an operation that waits for a node: since when, without any progress."""
# Literals, not parameters: a generic plan must see them to use the partial indexes.
PENDING: ColumnElement[str] = literal_column(f"'{OperationState.PENDING}'")
RUNNING: ColumnElement[str] = literal_column(f"'{OperationState.RUNNING}'")
_FAILED: ColumnElement[str] = literal_column(f"'{OperationState.FAILED}'")


@dataclass(frozen=True)
class Queue:
    """The queue: the number of due operations, and the due time of the oldest."""

    due: int
    oldest_due_time: datetime | None


async def queue_at(session: Session, now: datetime) -> Queue:
    """Return the due operations of all engines that no worker has claimed."""
    statement = select(func.count(), func.min(OperationRow.due_time)).where(
        OperationRow.state == PENDING, OperationRow.due_time <= now
    )
    due, oldest = (await session.execute(statement)).one()
    return Queue(due, oldest)


async def running_by_kind(session: Session) -> dict[str, int]:
    """Return the number of running operations of all engines, by kind."""
    statement = (
        select(OperationRow.kind, func.count())
        .where(OperationRow.state == RUNNING)
        .group_by(OperationRow.kind)
    )
    return dict((await session.execute(statement)).all())


async def keys_unfinished(
    session: Session, engine_id: int, kind: str, keys: Collection[str]
) -> frozenset[str]:
    """Return the keys that have a pending or running operation of a kind."""
    statement = select(OperationRow.key).where(
        OperationRow.engine_id == engine_id,
        OperationRow.kind == kind,
        OperationRow.key.in_(keys),
        OperationRow.state.in_([OperationState.PENDING, OperationState.RUNNING]),
    )
    return frozenset(key for key in (await session.execute(statement)).scalars() if key)


async def last_errors(
    session: Session, engine_id: int, kind: str, keys: Collection[str]
) -> dict[str, str]:
    """Return, by key, the message of the last failure of operations that failed or are retried."""
    row = OperationRow
    message = func.coalesce(row.error["message"].astext, row.details["lastError"].astext)
    statement = (
        select(row.key, message)
        .where(
            row.engine_id == engine_id,
            row.kind == kind,
            row.key.in_(keys),
            or_(row.state == _FAILED, row.state == PENDING, row.state == RUNNING),
            message.is_not(None),
        )
        .order_by(row.operation_id)
    )
    return dict((await session.execute(statement)).all())


async def next_due(session: Session, now: datetime) -> datetime | None:
    """Return when the next operation becomes due, or the next lease ends; None: neither is known.

    For a worker that has just found nothing: it is not told of these.
    """
    waiting = select(func.min(OperationRow.due_time)).where(
        OperationRow.state == PENDING, OperationRow.due_time > now
    )
    leased = select(func.min(OperationRow.lease_until)).where(OperationRow.state == RUNNING)
    both = func.least(waiting.scalar_subquery(), leased.scalar_subquery())
    due: datetime | None = (await session.execute(select(both))).scalar_one()
    return due


async def count_failed(session: Session, since: datetime) -> int:
    """Return the number of operations of all engines that have failed since a time."""
    statement = select(func.count()).where(
        OperationRow.state == _FAILED, OperationRow.update_time >= since
    )
    return (await session.execute(statement)).scalar_one()


async def lock_details(session: Session, owned: Owned) -> dict[str, Any] | None:
    """Lock a running operation and return its metadata; None if its lease was lost."""
    statement = select(OperationRow.details).where(owned.is_mine()).with_for_update()
    details: dict[str, Any] | None = (await session.execute(statement)).scalar_one_or_none()
    return details


async def restart_attempts(session: Session, owned: Owned) -> bool:
    """Restart the count of attempts of work that advances; return False if the lease was lost."""
    statement = (
        update(OperationRow)
        .where(owned.is_mine())
        .values(attempts=0, details=OperationRow.details.op("-")(cast(UNREACHED, Text)))
        .returning(OperationRow.operation_id)
        .execution_options(synchronize_session=False)
    )
    return (await session.execute(statement)).first() is not None
