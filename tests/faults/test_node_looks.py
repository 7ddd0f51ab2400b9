"""Looks at the nodes of a distributed database: which count as away, and what is broken off."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from sqlalchemy import text

from app.adapters.db.engine import open_engine
from app.adapters.db.nodes import working_for
from app.adapters.db.session import Database
from app.kernel.errors import Unavailable
from app.settings.settings import Settings

pytestmark = pytest.mark.plain_postgres("functions stand in for the cluster's")

_NODES = """
    create schema nodes;
    create sequence nodes.asked;
    create table nodes.pg_dist_node as
    select 'worker' || n as nodename, 5431 + n as nodeport, 'primary' as noderole,
        n as groupid, true as isactive
    from generate_series(1, 2) as n;
    create table nodes.pg_dist_placement as
    select n as shardid, n as groupid from generate_series(1, 2) as n;
    create function nodes.get_shard_id_for_distribution_column(text, bigint) returns int
    language sql volatile as $$ select case when $2 % 2 = 1 then 1 else 2 end $$;
    create function nodes.master_run_on_worker(text[], integer[], text[], boolean)
    returns table (success boolean) language plpgsql as $$
    begin
        if $1[1] = 'worker2' then perform {done}; end if;
        return query select true;
    end $$
"""
_HERE, _THERE = 1, 2
"""Engines of the two nodes."""


@asynccontextmanager
async def _nodes(url: str, settings: Settings, done: str) -> AsyncIterator[Database]:
    """Open a database whose second node does something before it answers."""
    plain = Database(open_engine(url, settings))
    async with plain.transaction() as session:
        await session.execute(text("drop schema if exists nodes cascade"))
        for statement in _NODES.format(done=done).split(";\n    c"):
            await session.execute(text(statement if "create s" in statement else f"c{statement}"))
        name = (await session.execute(text("select current_database()"))).scalar_one()
        await session.execute(text(f'alter database "{name}" set search_path = public, nodes'))
    database = Database(open_engine(url, settings))
    database.is_distributed = True
    try:
        yield database
    finally:
        await database.close()
        async with plain.transaction() as session:
            await session.execute(text(f'alter database "{name}" reset search_path'))
            await session.execute(text("drop schema nodes cascade"))
        await plain.close()


@pytest.mark.parametrize(
    ("seconds", "away"), [(0.5, []), (2, ["worker2:5433"])], ids=["late once", "silent"]
)
async def test_a_node_is_away_that_is_late_twice(
    database_url: str, settings: Settings, seconds: float, away: list[str]
) -> None:
    async with _nodes(database_url, settings, f"pg_sleep({seconds})") as database:
        assert sorted(await database.nodes.look(age_seconds=0)) == away


async def test_no_node_is_blamed_while_the_coordinator_is_late(
    database_url: str, settings: Settings
) -> None:
    async with _nodes(database_url, settings, "pg_sleep(2)") as database:
        nodes = database.nodes
        async with nodes._connected() as coordinator:
            listed = await nodes._list(coordinator)
            # The connection sends one statement at a time.
            late = asyncio.create_task(coordinator.execute("select pg_sleep(1.5)"))
            await asyncio.sleep(0.1)
            with pytest.raises(TimeoutError):
                await nodes._ask_nodes(listed, coordinator)
            await asyncio.gather(late, return_exceptions=True)
        assert await nodes.look(age_seconds=0) == {"worker2:5433"}


async def test_transactions_of_other_engines_are_not_broken_off(
    database_url: str, settings: Settings
) -> None:
    """Only those of the node that is away, and long ones of no engine."""

    async def work(engine: int | None) -> None:
        with working_for(engine):
            async with database.transaction() as session:
                await session.execute(text("select pg_sleep(3.5)"))

    async with _nodes(database_url, settings, "pg_sleep(5)") as database:
        ended = await asyncio.gather(work(_HERE), work(_THERE), work(None), return_exceptions=True)
    assert [type(each) for each in ended] == [type(None), Unavailable, Unavailable]


async def test_all_who_ask_for_unknown_engines_share_few_connections(
    database_url: str, settings: Settings
) -> None:
    async with _nodes(database_url, settings, "pg_sleep(5)") as database:
        assert await database.nodes.look(age_seconds=0)
        asked = [asyncio.create_task(database.nodes.is_away(100 + n)) for n in range(60)]
        most = 0
        while not all(task.done() for task in asked):
            await asyncio.sleep(0.001)
            most = max(most, len(database.nodes._asking))
        assert sum([task.result() for task in asked]) == 30
        # One more waits for the node.
        assert most <= 3


async def test_what_is_read_of_all_engines_counts_for_none(
    database_url: str, settings: Settings
) -> None:
    """Although a request for an engine begins it."""

    async def engines() -> list[int | None]:
        async with database.transaction() as session:
            await session.execute(text("select 1"))
            return [engine for engine, _ in database.nodes._uses.values()]

    async with _nodes(database_url, settings, "1") as database:
        await database.nodes.enter(_HERE)
        assert await engines() == [_HERE]
        assert await database.server.all_shards.run(engines) == [None]


async def test_a_connection_that_was_invalidated_or_detached_is_forgotten(
    database_url: str, settings: Settings
) -> None:
    async with _nodes(database_url, settings, "1") as database:
        async with database.engine.connect() as connection:
            await connection.execute(text("select 1"))
            await connection.invalidate()
        opened = await database.engine.raw_connection()
        own = opened.driver_connection
        opened.detach()
        assert own is not None
        await own.close()
        assert not database.nodes._uses


async def test_a_removed_node_is_not_asked_any_more(database_url: str, settings: Settings) -> None:
    async with _nodes(database_url, settings, "pg_sleep(5)") as database:
        assert await database.nodes.look(age_seconds=0)
        async with database.transaction() as session:
            await session.execute(text("delete from pg_dist_node where nodename = 'worker2'"))
        assert not await database.nodes.look(age_seconds=0)
        assert [*database.nodes._probes] == ["worker1:5432"]


async def test_a_question_that_the_coordinator_does_not_answer_ends(
    database_url: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.adapters.db.nodes.COORDINATOR_SECONDS", 0.5)
    async with _nodes(database_url, settings, "pg_sleep(5)") as database:
        assert await database.nodes.look(age_seconds=0)
        async with database.engine.begin() as other:
            await other.execute(text("lock table pg_dist_placement"))
            async with asyncio.timeout(10):
                assert not await database.nodes.is_away(100)
