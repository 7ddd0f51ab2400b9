"""Unfinished work: its lookup, its metrics, its next time, its attempts, and periodic work.

Functions without a `Session` send one statement as a transaction of their own. That counts as a
change, since no standby may answer it.
"""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Text, cast, func, literal_column, or_, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from app.adapters.db.clock import database_now
from app.adapters.db.session import Database, Session
from app.platform.operations.logic.places import PassedOver
from app.platform.operations.logic.states import OperationState
from app.platform.operations.store.tables import OperationRow, Owned, TickRow

UNREACHED = "unreachedSince"
"""The detail of an operation that waits for a node: since when, without any progress."""
# Literals, not parameters: a generic plan must see them to use the partial indexes.
PENDING: ColumnElement[str] = literal_column(f"'{OperationState.PENDING}'")
RUNNING: ColumnElement[str] = literal_column(f"'{OperationState.RUNNING}'")
FAILED: ColumnElement[str] = literal_column(f"'{OperationState.FAILED}'")
_MOST = 8
"""Operations found at once; that many workers can each take one without another search."""
_MOST_ENGINES = 1_000
"""Engines found by one search over all of them."""
# A running operation was due when it was claimed, so the due time bounds the index scan.
_IS_DUE = """
    o.due_time <= $1::timestamptz
    and (o.state = 'PENDING' or (o.state = 'RUNNING' and o.lease_until < statement_timestamp()))
"""
_IS_FREE = f"""
    {_IS_DUE}
    and not exists (
        select 1 from operations as other
        where other.engine_id = o.engine_id and other.key = o.key
            and other.state = 'RUNNING' and other.operation_id <> o.operation_id
    )
"""  # noqa: S608 - of constants
_FIND = f"""
select o.engine_id, o.operation_id, o.due_time
from operations as o
where {_IS_FREE} and {{which}}
order by o.due_time, o.operation_id
limit {{limit}}
"""  # noqa: S608 - of constants
_NOT_TAKEN = "o.operation_id <> all($2::text[])"
_OF_OTHER_CALLERS = "(o.caller is null or o.caller <> all($3::text[]))"
_FIRST = _FIND.format(which="true", limit=1).encode()
_OTHERS = _FIND.format(which=_NOT_TAKEN, limit=_MOST).encode()
# The scan reads past all waiting operations of a passed engine; its queue quota bounds them.
_OF_OTHERS = _FIND.format(
    which=f"{_NOT_TAKEN} and {_OF_OTHER_CALLERS} and o.engine_id <> all($4::bigint[])",
    limit=_MOST,
).encode()
_OF_ENGINE = _FIND.format(
    which=f"o.engine_id = $2::bigint and {_OF_OTHER_CALLERS}", limit=_MOST
).encode()
_NEXT_OF_ENGINE = b"""
select least(
    min(due_time) filter (where state = 'PENDING' and due_time > $1::timestamptz),
    min(lease_until) filter (where state = 'RUNNING')
)
from operations
where engine_id = $2::bigint and (state = 'PENDING' or state = 'RUNNING')
"""
_NEXT = b"""
select least(
    (
        select min(due_time) from operations
        where state = 'PENDING' and due_time > $1::timestamptz
    ),
    (select min(lease_until) from operations where state = 'RUNNING')
)
"""
# Keys are not checked here, since each shard would plan a join; `find_of_engine` checks them.
_ENGINES = f"""
select o.engine_id, min(o.due_time) as oldest
from operations as o
where {_IS_DUE}
group by o.engine_id
order by oldest
limit {_MOST_ENGINES}
""".encode()  # noqa: S608 - of constants


async def queue_at(session: Session, now: datetime) -> tuple[int, float]:
    """Return the number of unclaimed due operations, and how many seconds the oldest waits."""
    statement = select(func.count(), func.min(OperationRow.due_time)).where(
        OperationRow.state == PENDING, OperationRow.due_time <= now
    )
    due, oldest = (await session.execute(statement)).one()
    return due, (now - oldest).total_seconds() if due else 0.0


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
            or_(row.state == FAILED, row.state == PENDING, row.state == RUNNING),
            message.is_not(None),
        )
        .order_by(row.operation_id)
    )
    return dict((await session.execute(statement)).all())


async def next_due(db: Database, now: datetime) -> datetime | None:
    """Return when the next operation or the end of a lease is due; None: neither is known."""
    due: datetime | None
    ((due,),) = await db.run(_NEXT, [now], is_change=True)
    return due


async def count_failed(session: Session, since: datetime) -> int:
    """Return the number of operations of all engines that have failed since a time."""
    statement = select(func.count()).where(
        OperationRow.state == FAILED, OperationRow.update_time >= since
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


class FreeOperation(NamedTuple):
    """An operation that may be claimed."""

    engine_id: int
    operation_id: str
    due_time: datetime


async def find(
    db: Database, now: datetime, but: Collection[str], passed: PassedOver
) -> list[FreeOperation]:
    """Return the longest-due operation with a free key, or the next few if it is to be skipped."""
    statement, values = (_OTHERS, [now, list(but)]) if but else (_FIRST, [now])
    if passed:
        statement = _OF_OTHERS
        values = [now, list(but), list(passed.callers), list(passed.engines)]
    return [FreeOperation(*row) for row in await db.run(statement, values, is_change=True)]


async def find_of_engine(
    db: Database, engine_id: int, now: datetime, callers: Collection[str]
) -> list[FreeOperation]:
    """Return the few longest-due operations of an engine with free keys, unless of `callers`."""
    rows = await db.run(_OF_ENGINE, [now, engine_id, list(callers)], is_change=True)
    return [FreeOperation(*row) for row in rows]


async def next_of_engine(db: Database, engine_id: int, now: datetime) -> datetime | None:
    """Return when an engine's next operation becomes due, or its next lease ends."""
    due: datetime | None
    ((due,),) = await db.run(_NEXT_OF_ENGINE, [now, engine_id], is_change=True)
    return due


async def find_engines(db: Database, now: datetime) -> Sequence[tuple[int, datetime]]:
    """Return the engines with operations that are due, each with its oldest due time."""
    rows = await db.run(_ENGINES, [now], is_change=True)
    return [(engine_id, due) for engine_id, due in rows]


async def take_tick(session: Session, name: str, interval: timedelta) -> bool:
    """Take the present slot of a periodic task; return False if another process has it.

    Slots follow the clock of the database, read once per statement, so the compared value is
    stored.
    """
    seconds = interval.total_seconds()
    await session.execute(
        upsert(TickRow)
        .values(name=name, last_slot=datetime.fromtimestamp(0, UTC))
        .on_conflict_do_nothing()
    )
    slot = func.to_timestamp(
        func.floor(func.extract("epoch", func.statement_timestamp()) / seconds) * seconds
    )
    statement = (
        update(TickRow)
        .where(TickRow.name == name, TickRow.last_slot < slot)
        .values(last_slot=slot)
        .returning(TickRow.name)
    )
    return (await session.execute(statement)).first() is not None


async def note_done(session: Session, names: Collection[str]) -> None:
    """Record that parts of periodic work have just succeeded."""
    if not names:
        return
    now = await database_now(session)
    # Always in the same order: two processes must not deadlock.
    done = upsert(TickRow).values([{"name": name, "last_slot": now} for name in sorted(names)])
    await session.execute(
        done.on_conflict_do_update(
            index_elements=[TickRow.name], set_={"last_slot": done.excluded.last_slot}
        )
    )


async def list_done(session: Session, names: Collection[str]) -> dict[str, datetime]:
    """Return the time of the last success of parts of periodic work, by name."""
    statement = select(TickRow.name, TickRow.last_slot).where(TickRow.name.in_(names))
    return dict((await session.execute(statement)).all())
