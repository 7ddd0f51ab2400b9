"""Hints for workers of a distributed database: which engines have work, and when.

A look for due operations would ask every shard. So each engine with unfinished operations has a
row in a table that is not distributed. A hint comes after the commit that it tells of: inside the
transaction, all writers of an engine would wait for one row. A lost hint is found by a look over
all engines. Each function sends one statement as a transaction of its own, and as a change, so that
no standby answers it.
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import NamedTuple

from app.adapters.db.session import Database

CHANNEL = "memory_bank_operations"
"""The channel that announces a new operation."""
MOST_ENGINES = 8
"""Engines read at once."""
# A new row starts at the microseconds of the clock, so that a worker that has read an earlier row
# of the engine, removed since, does not take it for that one. Rows are locked in one order, so that
# two hints cannot deadlock.
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
    """Note when engines have work; wake the workers for those in `woken`."""
    values = [list(engines), list(engines.values()), list(woken)]
    await db.run(_LEAVE, values, is_change=True)


async def read(db: Database, now: datetime, but: Collection[int]) -> list[Hint]:
    """Return engines with due work, the oldest first, except those in `but`."""
    rows = await db.run(_READ, [now, list(but)], is_change=True)
    return [Hint(*row) for row in rows]


async def settle(db: Database, hint: Hint, due: datetime | None) -> None:
    """Note when an engine has work next, None: never, unless there was a hint meanwhile."""
    if due is None:
        await db.run(_REMOVE, [*hint], is_change=True)
    else:
        await db.run(_MOVE, [*hint, due], is_change=True)


async def next_due(db: Database, but: Collection[int]) -> datetime | None:
    """Return when the next engine, except those in `but`, has work.

    That is a past time if a look has left some to others.
    """
    due: datetime | None
    ((due,),) = await db.run(_NEXT, [list(but)], is_change=True)
    return due
