"""Operations that a worker may claim, found without locks; `leases.take` locks one and takes it.

Each function sends one statement as a transaction of its own. It counts as a change, since no
standby may answer it.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple

from app.adapters.db.session import Database
from app.platform.operations.logic.places import PassedOver

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
# Keys are not checked here, since each shard would plan a join; `find_of_engine` checks them.
_ENGINES = f"""
select o.engine_id, min(o.due_time) as oldest
from operations as o
where {_IS_DUE}
group by o.engine_id
order by oldest
limit {_MOST_ENGINES}
""".encode()  # noqa: S608 - of constants


class FreeOperation(NamedTuple):
    """An operation that may be claimed."""

    engine_id: int
    operation_id: str
    due_time: datetime


async def find(
    db: Database, now: datetime, but: Collection[str], passed: PassedOver
) -> list[FreeOperation]:
    """Return the operation of any engine that has been due longest among those with a free key.

    If others took the operations in `but`, or some engines and callers are passed over, return the
    next few.
    """
    statement, values = (_OTHERS, [now, list(but)]) if but else (_FIRST, [now])
    if passed:
        statement = _OF_OTHERS
        values = [now, list(but), list(passed.callers), list(passed.engines)]
    return [FreeOperation(*row) for row in await db.run(statement, values, is_change=True)]


async def find_of_engine(
    db: Database, engine_id: int, now: datetime, callers: Collection[str]
) -> list[FreeOperation]:
    """Return the few longest-due operations of an engine that have free keys.

    Operations of the given callers are passed over.
    """
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
