"""What is written stays as it is, until it is past its time."""

from dataclasses import replace
from datetime import timedelta

import httpx
import pytest
from sqlalchemy import text
from sqlalchemy.exc import ProgrammingError

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.platform.upkeep.service import UpkeepService
from app.settings.settings import Settings
from tests.support.audit import all_events, events, stored
from tests.support.cases import in_one_test
from tests.support.operations import create_memory


async def _execute(database: Database, retention: str, statement: str) -> None:
    async with database.transaction() as session:
        setting = text("select set_config('memory_bank.audit_retention', :value, true)")
        await session.execute(setting, {"value": retention})
        await session.execute(text(statement))


@in_one_test(
    "statement",
    [
        "update audit_events set result = 'NOT_FOUND'",
        "update service_audit_events set result = 'NOT_FOUND'",
        "delete from service_audit_events",
        "truncate service_audit_events",
        "delete from audit_events",
        "delete from audit_events where engine_id = 1",
        "truncate audit_events",
        (
            "insert into audit_events select * from audit_events"
            " on conflict (engine_id, create_time, event_id) do update set result = 'NOT_FOUND'"
        ),
    ],
)
@in_one_test("retention", ["", "off"])
async def test_no_statement_changes_or_removes_an_event(
    client: httpx.AsyncClient, database: Database, statement: str, retention: str
) -> None:
    await _check_refused(client, database, statement, retention)


@pytest.mark.plain_postgres("a cluster asks no shard what it knows to change nothing, nor a MERGE")
@in_one_test(
    "statement",
    [
        "update audit_events set result = 'NOT_FOUND' where false",
        (
            "merge into audit_events a using (select 1) on true"
            " when matched then update set result = 'NOT_FOUND'"
        ),
    ],
)
@in_one_test("retention", ["", "off"])
async def test_nor_does_one_that_finds_none_or_merges(
    client: httpx.AsyncClient, database: Database, statement: str, retention: str
) -> None:
    await _check_refused(client, database, statement, retention)


async def _check_refused(
    client: httpx.AsyncClient, database: Database, statement: str, retention: str
) -> None:
    await create_memory(client, "I like tea.")
    before = await events(client)
    with pytest.raises(ProgrammingError, match="audit_events takes new rows only"):
        await _execute(database, retention, statement)
    assert await events(client) == before


@pytest.mark.parametrize(
    "statement", ["update audit_events set result = 'x'", "truncate audit_events"]
)
async def test_the_removal_of_old_events_allows_nothing_else(
    client: httpx.AsyncClient, database: Database, statement: str
) -> None:
    await create_memory(client, "I like tea.")
    with pytest.raises(ProgrammingError, match="audit_events takes new rows only"):
        await _execute(database, "on", statement)
    assert len(await events(client)) == 1


async def test_events_are_removed_when_they_are_past_their_time(
    client: httpx.AsyncClient, resources: Resources, database: Database, clock: FixedClock
) -> None:
    sweep = UpkeepService(resources).sweep
    await create_memory(client, "I like tea.")
    clock.advance(timedelta(days=1))
    await create_memory(client, "I like coffee.")
    await client.post("http://test/v1/keys", json={"displayName": "k", "roles": ["viewer"]})
    clock.advance(timedelta(days=399) - timedelta(microseconds=1))
    await sweep()
    assert len(await stored(database)) == 3
    clock.advance(timedelta(microseconds=1))
    await sweep()
    assert [row.method for row in await stored(database)] == ["createMemory", "createKey"]
    clock.advance(timedelta(days=1))
    await sweep()
    assert await all_events(client) == []


async def test_they_go_in_batches_each_of_its_own(
    client: httpx.AsyncClient,
    resources: Resources,
    settings: Settings,
    database: Database,
    clock: FixedClock,
) -> None:
    small = settings.model_copy(update={"sweep_batch_rows": 2})
    resources = replace(resources, settings=small, clock=clock, db=database)
    for number in range(5):
        await create_memory(client, f"Fact {number}.")
    clock.advance(timedelta(days=401))
    await create_memory(client, "I like tea.")
    await UpkeepService(resources).sweep()
    assert len(await stored(database)) == 1


async def test_they_are_kept_for_ever_where_that_is_wanted(
    client: httpx.AsyncClient,
    resources: Resources,
    settings: Settings,
    database: Database,
    clock: FixedClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MEMORY_BANK_AUDIT_RETENTION_SECONDS", "none")
    wanted = Settings().audit_retention_seconds
    assert wanted is None
    kept = settings.model_copy(update={"audit_retention_seconds": wanted})
    resources = replace(resources, settings=kept, clock=clock, db=database)
    await create_memory(client, "I like tea.")
    clock.advance(timedelta(days=40_000))
    await UpkeepService(resources).sweep()
    assert len(await stored(database)) == 1
