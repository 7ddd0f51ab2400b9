"""Tables that were filled at once are vacuumed and analysed, so that the next lists are fast."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any

import httpx
import psycopg
import pytest
from sqlalchemy import make_url
from structlog.testing import capture_logs

from app.adapters.db.engine import open_engine
from app.adapters.db.session import Database
from app.adapters.db.statistics import TableStatistics
from app.settings.settings import Settings
from tests.support.bank import ok

_SOON_SECONDS = 30
_QUIET_SECONDS = 0.2
_TABLES = ("memories", "memory_revisions", "memory_vectors")
_COUNTS = b"""
select relname, least(vacuum_count, analyze_count) from pg_stat_user_tables where relname = any(%s)
"""

pytestmark = pytest.mark.plain_postgres("the nodes of a cluster analyse their shards themselves")


def _counts(url: str) -> dict[str, int]:
    with psycopg.connect(url) as connection:
        return dict(connection.execute(_COUNTS, [list(_TABLES)]).fetchall())


async def _until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(_SOON_SECONDS):
        while not is_so():  # noqa: ASYNC110 - in Postgres
            await asyncio.sleep(0.05)


async def _until_analysed(url: str, wanted: Mapping[str, int]) -> None:
    await _until(lambda: _counts(url) == wanted)


async def _import(client: httpx.AsyncClient, count: int) -> None:
    made = [{"fact": f"I like tea {n}.", "scope": {"user_id": str(n % 9)}} for n in range(count)]
    body = "\n".join(map(json.dumps, made))
    assert ok(await client.post("/memories:import", content=body))["imported"] == count


@pytest.fixture
async def statistics(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[TableStatistics]:
    found = TableStatistics(database.engine, quiet_seconds=_QUIET_SECONDS)
    monkeypatch.setattr(database.server, "statistics", found)
    yield found
    await found.close()


@pytest.fixture
def guest(database_url: str) -> Iterator[str]:
    """The address of the database for a role that owns no table."""
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute(b"create role guest login")
        try:
            yield make_url(database_url).set(username="guest").render_as_string(hide_password=False)
        finally:
            owner.execute(b"drop role guest")


@pytest.mark.usefixtures("statistics")
async def test_an_import_of_thousands_is_analysed_once_it_has_ended(
    client: httpx.AsyncClient, database_url: str
) -> None:
    before = _counts(database_url)
    await _import(client, 999)
    assert _counts(database_url) == before
    await _import(client, 1_001)
    once = {table: count + 1 for table, count in before.items()}
    await _until_analysed(database_url, once)
    await _import(client, 1_002)
    await _until_analysed(database_url, {table: count + 2 for table, count in before.items()})


async def test_an_import_that_goes_on_waits_for_the_interval(
    database: Database, database_url: str
) -> None:
    found = TableStatistics(
        database.engine, interval_seconds=600, quiet_seconds=1, patience_seconds=0
    )
    before = _counts(database_url)
    once = {**before, "memories": before["memories"] + 1}
    ends = asyncio.get_running_loop().time() + 3.5
    while asyncio.get_running_loop().time() < ends:
        found.note("memories", 1_000)
        await asyncio.sleep(0.05)
    assert _counts(database_url) == once
    await _until_analysed(database_url, {**before, "memories": before["memories"] + 2})
    await found.close()


async def test_what_follows_updates_comes_once_in_an_interval_and_misses_none(
    database: Database, database_url: str
) -> None:
    followed: list[float] = []

    async def keep(_tables: Sequence[str]) -> None:
        followed.append(asyncio.get_running_loop().time())

    found = TableStatistics(database.engine, interval_seconds=2, quiet_seconds=_QUIET_SECONDS)
    found.after = keep
    before = _counts(database_url)
    for times in (1, 2):
        found.note("memories", 1_000)
        await _until_analysed(database_url, {**before, "memories": before["memories"] + times})
    await _until(lambda: len(followed) == 2)
    await found.close()
    assert followed[1] - followed[0] >= 1.9


async def test_a_small_part_of_a_large_table_is_left_to_autovacuum(
    database: Database, database_url: str
) -> None:
    updates: list[Sequence[str]] = []

    async def keep(tables: Sequence[str]) -> None:
        updates.append(tables)

    found = TableStatistics(database.engine, quiet_seconds=_QUIET_SECONDS)
    found.after = keep
    before = _counts(database_url)
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "update pg_class set reltuples = 100000 where oid = 'memories'::regclass"
        )
    found.note("memories", 4_000)
    found.note("memory_vectors", 4_000)
    await _until(lambda: bool(updates))
    await found.close()
    assert updates == [["memories", "memory_vectors"]]
    wanted = {**before, "memory_vectors": before["memory_vectors"] + 1}
    await _until_analysed(database_url, wanted)


async def test_a_role_that_may_not_is_logged_once(
    guest: str, database_url: str, settings: Settings
) -> None:
    engine = open_engine(guest, settings)
    found = TableStatistics(engine, interval_seconds=0, quiet_seconds=_QUIET_SECONDS)
    updates = 0

    async def count(_tables: Sequence[str]) -> None:
        nonlocal updates
        updates += 1

    found.after = count
    before = _counts(database_url)
    with capture_logs() as lines:
        for wanted in (1, 2):
            found.note("memories", 1_000)
            await _until(lambda wanted=wanted: updates == wanted)  # type: ignore[misc]  # bound now
    await found.close()
    await engine.dispose()
    told: list[dict[str, Any]] = [dict(line) for line in lines]
    assert [(line["event"], line["table"]) for line in told] == [("statistics.refused", "memories")]
    assert _counts(database_url) == before
