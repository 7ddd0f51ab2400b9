"""Sweeps over many engines, on a database that is distributed and on one that is not.

A single Postgres plays the distributed one, whose transactions change one engine each.
"""

from collections.abc import Sequence
from functools import partial

import pytest
from sqlalchemy import text

from app.adapters.batches import in_spread_batches
from app.adapters.db.session import Database, Session
from app.adapters.db.spread import Key, change_found
from app.adapters.resources import Resources
from app.platform.sessions.store import erasure
from app.platform.sessions.store.tables import SessionEventRow, SessionRow
from app.platform.upkeep.service import UpkeepService
from tests.support.bank import count

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


find = partial(erasure.find_expired, limit=100)


async def test_engines_come_in_the_order_of_what_is_oldest(database: Database) -> None:
    await fill(database)
    found, changed = await change_found(database, find, change_by)
    assert (found, [engine_id for engine_id, _ in changed]) == (18, list(ENGINES))


async def test_only_where_it_is_distributed_each_engine_has_a_transaction(
    database: Database,
) -> None:
    await fill(database)
    _, changed = await change_found(database, find, change_by)
    assert len(dict(changed)) == 3
    assert len({own for _, own in changed}) == (3 if database.is_distributed else 1)


async def test_the_limit_counts_over_all_engines(database: Database) -> None:
    await fill(database)
    found, counts = await change_found(
        database, partial(erasure.find_expired, limit=8), erasure.remove_expired
    )
    # All of the first engine, with its sessions; two events of the second.
    assert (found, counts) == (8, [7, 2])


async def test_what_no_longer_meets_the_condition_is_left(database: Database) -> None:
    await fill(database)

    async def find_and_renew(session: Session) -> Sequence[Key]:
        keys = await find(session)
        async with database.engine.begin() as other:
            await other.execute(_RENEW)
        return keys

    _, counts = await change_found(database, find_and_renew, erasure.remove_expired)
    assert counts == [0, 7, 7]
    assert await count(database, SessionRow, SessionEventRow) == (2, 5)


async def test_what_others_hold_is_skipped_and_the_sweep_ends(
    resources: Resources, database: Database
) -> None:
    await fill(database)
    few = Resources(
        resources.settings.model_copy(update={"sweep_batch_rows": 2}),
        resources.clock,
        database,
        resources.database_url,
        resources.embedder,
    )
    sweep = partial(in_spread_batches, few, erasure.find_expired, erasure.remove_expired)
    async with database.engine.begin() as other:
        await other.execute(text("select from sessions where engine_id = 3 for update"))
        assert await sweep() == 0
    assert await sweep() == 21
    assert await count(database, SessionRow, SessionEventRow) == (0, 0)


async def test_a_failure_keeps_what_other_engines_have_done_where_it_is_distributed(
    database: Database,
) -> None:
    await fill(database)

    async def remove(session: Session, engine_id: int, keys: Sequence[Key]) -> int:
        if engine_id == ENGINES[-1]:
            raise ValueError(engine_id)
        return await erasure.remove_expired(session, engine_id, keys)

    with pytest.raises(ValueError, match="2"):
        await change_found(database, find, remove)
    assert await count(database, SessionRow) == ((2,) if database.is_distributed else (6,))


async def test_the_sweeps_of_all_features_run(resources: Resources, database: Database) -> None:
    await fill(database)
    await UpkeepService.of(resources).sweep()
    assert await count(database, SessionRow, SessionEventRow) == (0, 0)
