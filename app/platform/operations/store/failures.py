"""Failed operations of an engine: counted in groups, and found for a retry of many."""

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Select, func, select

from app.adapters.db.filters import Clause
from app.adapters.db.session import Session
from app.adapters.db.transaction_settings import limited
from app.kernel.names import EngineName
from app.platform.operations.store.kept_requests import RETRIED_BY
from app.platform.operations.store.queue import FAILED
from app.platform.operations.store.repository import select_operations
from app.platform.operations.store.tables import OperationRow

MOST = 10_000
"""Failed operations that a request counts or retries."""
MOST_GROUPS = 100
AUTHOR = OperationRow.details["author"].astext
"""The model that wrote or should have written."""
REASON = OperationRow.error["details"][0]["reason"].astext


class FailureCount(NamedTuple):
    """The number of operations that failed for one reason, with one model, within one hour."""

    reason: str | None
    author: str | None
    hour: datetime
    operations: int


class CountedFailures(NamedTuple):
    """The groups of failed operations, the newest hour first, and the number counted in all."""

    groups: list[FailureCount]
    operations: int
    has_more: bool


def _select_failed(engine: EngineName, now: datetime, clause: Clause) -> Select[OperationRow]:
    failed = select_operations(engine, now).where(OperationRow.state == FAILED, clause.condition)
    return failed.limit(MOST + 1)


async def count_groups(
    session: Session, engine: EngineName, now: datetime, clause: Clause
) -> CountedFailures:
    """Count the newest failed operations that a filter selects."""
    hour = func.date_trunc("hour", OperationRow.update_time, "UTC")
    newest = (
        _select_failed(engine, now, clause)
        .order_by(OperationRow.operation_id.desc())
        .with_only_columns(REASON.label("reason"), AUTHOR.label("author"), hour.label("hour"))
        .subquery()
    )
    columns, count = newest.c, func.count()
    statement = (
        select(*columns, count, func.sum(count).over())
        .group_by(*columns)
        .order_by(columns.hour.desc(), count.desc(), columns.reason, columns.author)
        .limit(MOST_GROUPS)
    )
    async with limited(session, clause.seconds):
        rows = (await session.execute(statement)).all()
    found = int(rows[0][-1]) if rows else 0
    return CountedFailures(
        [FailureCount(*row[:-1]) for row in rows], min(found, MOST), found > MOST
    )


async def find_retryable(
    session: Session,
    engine: EngineName,
    now: datetime,
    since: datetime,
    clause: Clause,
    kinds: Collection[str],
) -> list[str]:
    """Return up to `MOST + 1` ids of operations to retry, oldest first, failed after `since`."""
    statement = (
        _select_failed(engine, now, clause)
        .where(
            OperationRow.kind.in_(kinds),
            OperationRow.request.is_not(None),
            OperationRow.update_time > since,
            ~OperationRow.details.bool_op("?")(RETRIED_BY),
        )
        .order_by(OperationRow.operation_id)
        .with_only_columns(OperationRow.operation_id)
    )
    async with limited(session, clause.seconds):
        return list((await session.execute(statement)).scalars())
