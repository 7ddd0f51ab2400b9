"""Hints for workers of a distributed database: which engines have work, and when.

A search for due operations would query every shard. So each engine with unfinished operations has
a row in a table that is not distributed. A hint is written after the commit of its transaction:
inside it, all writers of an engine would wait for one row. If a hint is lost, a search over all
engines finds the work. Each function sends one statement as a transaction of its own. It
counts as a change, since no standby may answer it.
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import NamedTuple

from app.adapters.db.session import Database

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
    """Return when the next engine, except those in `but`, has work.

    The time is past if a read has left some work to other workers.
    """
    due: datetime | None
    ((due,),) = await db.run(_NEXT, [list(but)], is_change=True)
    return due
