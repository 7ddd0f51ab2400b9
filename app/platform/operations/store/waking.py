"""The waking of workers: by a notification at commit, or on a distributed database by hints.

A search for due operations would query every shard. So each engine with unfinished operations has a
row in a table that is not distributed. A hint is written after the commit of its transaction:
inside it, all writers of an engine would wait for one row. If a hint is lost, a search over all
engines finds the work. Each function on hints sends one statement as a transaction of its own.
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import NamedTuple

import structlog
from sqlalchemy import func, select

from app.adapters.db.session import Database, Session, after_commit, is_distributed
from app.kernel.errors import describe
from app.platform.operations.logic.states import SOON

log = structlog.get_logger()

_PENDING = "hints"
CHANNEL = "memory_bank_operations"
"""The channel that announces a new operation."""
MOST_ENGINES = 8
"""Engines read at once."""
# `touched` of a new row starts at the microseconds of the clock: a worker must not mistake it for
# an earlier row of the engine that has been removed. Rows are locked in one order, which prevents
# deadlocks of two hints.
_LEAVE = f"""
with left_here as (
    insert into due_engines as known (engine_id, due_time, touched)
    select engine_id, due_time, (extract(epoch from clock_timestamp()) * 1000000)::bigint
    from unnest($1::bigint[], $2::timestamptz[]) as given (engine_id, due_time)
    order by engine_id
    on conflict (engine_id) do update set
        due_time = least(known.due_time, excluded.due_time), touched = known.touched + 1
    returning engine_id
)
select pg_notify('{CHANNEL}', engine_id::text) from left_here where engine_id = any($3::bigint[])
""".encode()  # noqa: S608 - of constants
_READ = f"""
select engine_id, touched from due_engines
where due_time <= $1::timestamptz and engine_id <> all($2::bigint[])
order by due_time
limit {MOST_ENGINES}
""".encode()  # noqa: S608 - of constants
_MOVE = b"""
update due_engines set due_time = $3::timestamptz
where engine_id = $1::bigint and touched = $2::bigint
returning engine_id
"""
_REMOVE = b"""
delete from due_engines where engine_id = $1::bigint and touched = $2::bigint returning engine_id
"""
_NEXT = b"select min(due_time) from due_engines where engine_id <> all($1::bigint[])"


async def wake(session: Session, engine_id: int, due: datetime, now: datetime) -> None:
    """Announce an engine's work at commit; wake the workers if it is due before their next poll."""
    is_soon = due <= now + SOON
    if is_distributed(session):
        _noted(session).add(engine_id, due, is_soon=is_soon)
    elif is_soon:
        await session.execute(select(func.pg_notify(CHANNEL, "")))


def tell(session: Session, engine_id: int, due: datetime) -> None:
    """Announce an engine's work to the workers of a distributed database, without waking them."""
    if is_distributed(session):
        _noted(session).add(engine_id, due, is_soon=False)


class _Hints:
    """The hints of one transaction."""

    def __init__(self) -> None:
        self._due: dict[int, datetime] = {}
        self._woken: set[int] = set()

    def add(self, engine_id: int, due: datetime, *, is_soon: bool) -> None:
        self._due[engine_id] = min(due, self._due.get(engine_id, due))
        if is_soon:
            self._woken.add(engine_id)

    async def leave(self, db: Database) -> None:
        try:
            # Hints belong to the service: the conditions of the caller do not apply to them.
            await leave(db.of_service(), self._due, self._woken)
        except Exception as error:  # noqa: BLE001 - the change is committed
            log.warning("operations.hint_lost", error=describe(error))


def _noted(session: Session) -> _Hints:
    noted = session.info.get(_PENDING)
    if noted is None:
        noted = session.info[_PENDING] = _Hints()
        after_commit(session, noted.leave)
    result: _Hints = noted
    return result


class Hint(NamedTuple):
    """An engine with work; `touched` changes with every hint."""

    engine_id: int
    touched: int


async def leave(db: Database, engines: Mapping[int, datetime], woken: Collection[int] = ()) -> None:
    """Record when engines have work; wake the workers for the engines in `woken`."""
    values = [list(engines), list(engines.values()), list(woken)]
    await db.run(_LEAVE, values, is_change=True)


async def read(db: Database, now: datetime, but: Collection[int]) -> list[Hint]:
    """Return engines with due work, the oldest first, except those in `but`."""
    rows = await db.run(_READ, [now, list(but)], is_change=True)
    return [Hint(*row) for row in rows]


async def settle(db: Database, hint: Hint, due: datetime | None) -> None:
    """Record when an engine next has work (None: never), unless it has a newer hint."""
    if due is None:
        await db.run(_REMOVE, [*hint], is_change=True)
    else:
        await db.run(_MOVE, [*hint, due], is_change=True)


async def next_due(db: Database, but: Collection[int]) -> datetime | None:
    """Return when the next engine, except those in `but`, has work; past if others have it."""
    due: datetime | None
    ((due,),) = await db.run(_NEXT, [list(but)], is_change=True)
    return due
