"""Sweeps over many engines, on a database that is distributed and on one that is not.

A single Postgres plays the distributed one, whose transactions change one engine each.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from datetime import timedelta

import psycopg
import pytest
from sqlalchemy import text

from app.adapters.batches import SweepBatches
from app.adapters.db.session import Database, Session
from app.adapters.db.spread import Key, RowSearch
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import Aborted, DeadlineExceeded, Reason, Unavailable
from app.platform.sessions.store import erasure
from app.platform.sessions.store.tables import SessionEventRow, SessionRow
from app.platform.upkeep.service import UpkeepService
from tests.support.bank import count
from tests.support.sweeping import batch, sweep

ENGINES = (3, 1, 2)
"""In the order in which their sessions expired."""
_SESSION = text(
    "insert into sessions (engine_id, session_id, user_id, version, create_time, update_time,"
    " shown_update_time, expire_time) select :engine, :id, '42', 1, at, at, at, at"
    " from (select cast(:at as timestamptz)) as moment (at)"
)
_EVENT = text(
    "insert into session_events (engine_id, session_id, seq, event_id, author, invocation_id,"
    ' "timestamp", exchange, size_bytes, create_time)'
    " select :engine, :id, n, n::text, 'user', 'i', now(), 1, 1, now()"
    " from generate_series(1, 5) as n"
)
_RENEW = text("update sessions set expire_time = 'infinity' where engine_id = 3")
_OWN_ID = text("select pg_current_xact_id()::text")


async def fill(database: Database) -> None:
    """Store two expired sessions of each engine, one of them with five events."""
    async with database.transaction() as session:
        for day, engine in enumerate(ENGINES, start=1):
            for name in ("with", "without"):
                values = {"engine": engine, "id": name, "at": f"2026-01-0{day}T00:00:00Z"}
                await session.execute(_SESSION, values)
            await session.execute(_EVENT, {"engine": engine, "id": "with"})


async def change_by(session: Session, engine_id: int, _: Sequence[Key]) -> tuple[int, str]:
    """Change nothing; return the engine, and the transaction that would change it."""
    return engine_id, (await session.execute(_OWN_ID)).scalar_one()


async def test_engines_come_in_the_order_of_what_is_oldest(
    resources: Resources, database: Database
) -> None:
    await fill(database)
    found, changed = await batch(resources, erasure.find_expired, change_by)
    assert (found, [engine_id for engine_id, _ in changed]) == (18, list(ENGINES))


async def test_only_where_it_is_distributed_each_engine_has_a_transaction(
    resources: Resources, database: Database
) -> None:
    await fill(database)
    _, changed = await batch(resources, erasure.find_expired, change_by)
    assert len(dict(changed)) == 3
    assert len({own for _, own in changed}) == (3 if database.is_distributed else 1)


async def test_the_limit_counts_over_all_engines(resources: Resources, database: Database) -> None:
    await fill(database)
    found, counts = await batch(resources, erasure.find_expired, erasure.remove_expired, 8)
    # All of the first engine, with its sessions; two events of the second.
    assert (found, counts) == (8, [7, 2])


async def test_what_no_longer_meets_the_condition_is_left(
    resources: Resources, database: Database
) -> None:
    await fill(database)

    async def find_and_renew(session: Session, search: RowSearch) -> Sequence[Key]:
        keys = await erasure.find_expired(session, search)
        async with database.engine.begin() as other:
            await other.execute(_RENEW)
        return keys

    _, counts = await batch(resources, find_and_renew, erasure.remove_expired)
    assert counts == [0, 7, 7]
    assert await count(database, SessionRow, SessionEventRow) == (2, 5)


async def test_what_others_hold_is_passed_over(resources: Resources, database: Database) -> None:
    await fill(database)
    few = Resources(
        resources.settings.model_copy(update={"sweep_batch_rows": 2}),
        resources.clock,
        database,
        resources.database_url,
        resources.embedder,
    )
    async with database.engine.begin() as other:
        await other.execute(text("select from sessions where engine_id = 3 for update"))
        assert await sweep(few, "sessions") == 14
    assert await sweep(few, "sessions") == 7
    assert await count(database, SessionRow, SessionEventRow) == (0, 0)


def _of_taken_key() -> Aborted:
    error = Aborted("A conflict.", Reason.CONCURRENT_CHANGE)
    error.__cause__ = psycopg.errors.UniqueViolation()
    return error


@pytest.mark.parametrize(
    ("error", "ends"),
    [
        (ValueError("a value"), False),
        (_of_taken_key(), False),
        (Aborted("A conflict.", Reason.CONCURRENT_CHANGE), True),
        (Unavailable("No room.", Reason.DATABASE_UNAVAILABLE), True),
    ],
    ids=lambda value: getattr(value, "http", type(value).__name__),
)
async def test_only_a_failure_of_the_database_ends_a_batch(
    resources: Resources, database: Database, error: Exception, *, ends: bool
) -> None:
    await fill(database)

    async def remove(session: Session, engine_id: int, keys: Sequence[Key]) -> int:
        removed = await erasure.remove_expired(session, engine_id, keys)
        if engine_id == ENGINES[1]:
            raise error
        return removed

    with pytest.raises(type(error)) if ends else nullcontext():
        await batch(resources, erasure.find_expired, remove)
    # Where it is distributed, each engine has a transaction of its own.
    left = 2 if not ends else 4 if database.is_distributed else 6
    assert await count(database, SessionRow) == (left,)
    batches = SweepBatches(resources, "trials")
    assert [batches.leaves_out((engine,)) for engine in ENGINES] == [False, not ends, False]


async def test_rows_that_take_too_long_end_the_work_after_some(
    resources: Resources, database: Database
) -> None:
    await fill(database)
    tried: list[Sequence[Key]] = []

    async def remove(_: Session, __: int, keys: Sequence[Key]) -> int:
        tried.append(keys)
        raise DeadlineExceeded("Too slow.", Reason.DATABASE_UNAVAILABLE)

    with pytest.raises(DeadlineExceeded):
        await batch(resources, erasure.find_expired, remove)
    assert len([keys for keys in tried if len(keys) == 1]) == 3


async def test_an_engine_with_too_many_failing_rows_is_left_out_as_a_whole(
    resources: Resources, database: Database, clock: FixedClock
) -> None:
    await fill(database)
    many = text(
        "insert into session_events (engine_id, session_id, seq, event_id, author, invocation_id,"
        ' "timestamp", exchange, size_bytes, create_time)'
        " select 3, 'with', n, n::text, 'user', 'i', now(), 1, 1, now()"
        " from generate_series(6, 1100) as n"
    )
    async with database.transaction() as session:
        await session.execute(many)

    async def remove(session: Session, engine_id: int, keys: Sequence[Key]) -> int:
        if engine_id == 3:
            raise ValueError(engine_id)
        return await erasure.remove_expired(session, engine_id, keys)

    batches = SweepBatches(resources, "trials")
    assert await batches.spread(erasure.find_expired, remove) == 14
    search = batches.search(10)
    assert (search.but, search.but_below) == ([], ["3"])
    clock.advance(timedelta(hours=1))
    assert batches.search(10) == RowSearch(10, [], [])


async def test_the_sweeps_of_all_features_run(resources: Resources, database: Database) -> None:
    await fill(database)
    await UpkeepService(resources).sweep()
    assert await count(database, SessionRow, SessionEventRow) == (0, 0)
