"""A transaction that fails at its very end, or is cut in the middle, leaves nothing behind."""

import asyncio
from datetime import timedelta

import httpx
import pytest
from sqlalchemy import text

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from app.process.metadata import metadata
from tests.support.faults import CUT, RAISE, trigger
from tests.support.operations import USER, create_memory, path_of

BODY = {"fact": "I like tea.", "scope": USER}
_SLEEP = "perform pg_sleep(20);"
_SOON_SECONDS = 60
_APART = {"audit_events", "service_audit_events", "rate_buckets"}
"""Tables that tell of a request whatever becomes of its change."""


async def counts(database: Database) -> dict[str, int]:
    async with database.snapshot() as session:
        return {
            table.name: (
                await session.execute(text(f"select count(*) from {table.name}"))
            ).scalar_one()
            for table in metadata.sorted_tables
            if table.name not in _APART
        }


async def cut_sleeper(database: Database) -> None:
    """Drop the connection of the statement that the trigger holds up."""
    statement = text(
        "select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'PgSleep'"
    )
    async with asyncio.timeout(_SOON_SECONDS):
        while True:
            async with database.snapshot() as session:
                if (await session.execute(statement)).first():
                    return
            await asyncio.sleep(0.01)


def reason_of(answer: httpx.Response) -> str:
    return str(answer.json()["error"]["details"][0]["reason"])


@pytest.mark.parametrize(
    ("action", "status", "reason"),
    [
        (RAISE.format(state="P0001"), 500, "INTERNAL"),
        (RAISE.format(state="40001"), 409, "CONCURRENT_CHANGE"),
        (RAISE.format(state="53300"), 503, "DATABASE_UNAVAILABLE"),
        (CUT, 503, "DATABASE_UNAVAILABLE"),
    ],
)
async def test_a_failed_commit_is_told_and_leaves_nothing(
    client: httpx.AsyncClient, database: Database, action: str, status: int, reason: str
) -> None:
    before = await counts(database)
    async with trigger(database, action):
        answer = await client.post("/memories?requestId=one", json=BODY)
    assert (answer.status_code, reason_of(answer)) == (status, reason)
    assert ("Retry-After" in answer.headers) == (status == 503)
    assert "tea" not in answer.text
    assert await counts(database) == before
    again = await client.post("/memories?requestId=one", json=BODY)
    assert again.status_code == 200
    listed = (await client.get("/memories")).json()["memories"]
    assert [memory["fact"] for memory in listed] == ["I like tea."]


@pytest.mark.parametrize("change", ["patch", "delete", "rollback", "purge"])
async def test_no_change_of_a_memory_outlives_its_commit(
    client: httpx.AsyncClient, database: Database, change: str
) -> None:
    memory = await create_memory(client, "I like tea.")
    path = path_of(memory["name"])
    first = (await client.get(f"{path}/revisions")).json()["memoryRevisions"][0]
    before = await counts(database)
    async with trigger(database, RAISE.format(state="P0001")):
        match change:
            case "patch":
                answer = await client.patch(path, json={"fact": "I like coffee."})
            case "delete":
                answer = await client.delete(path)
            case "rollback":
                target = {"targetRevisionId": first["name"].rpartition("/")[2]}
                answer = await client.post(f"{path}:rollback", json=target)
            case _:
                body = {"filter": 'fact="I like tea."', "force": True}
                answer = await client.post("/memories:purge", json=body)
    assert answer.status_code == 500
    assert await counts(database) == before
    assert (await client.get(path)).json() == memory


async def test_a_connection_cut_in_the_middle_is_503_and_the_next_request_works(
    client: httpx.AsyncClient, database: Database
) -> None:
    before = await counts(database)
    async with trigger(database, _SLEEP, at_commit=False):
        asked = asyncio.create_task(client.post("/memories", json=BODY))
        await cut_sleeper(database)
        answer = await asked
    assert (answer.status_code, reason_of(answer)) == (503, "DATABASE_UNAVAILABLE")
    assert answer.headers["Retry-After"] == "1"
    assert await counts(database) == before
    await create_memory(client, "I like tea.")


async def test_a_generation_cut_in_the_middle_is_done_once_by_its_next_attempt(
    client: httpx.AsyncClient, database: Database, runner: Runner, clock: FixedClock
) -> None:
    facts = {"directMemories": [{"fact": "I like tea."}, {"fact": "I live in Paris."}]}
    body = {"scope": USER, "directMemoriesSource": facts}
    operation = (await client.post("/memories:generate", json=body)).json()["name"]
    async with trigger(database, _SLEEP, at_commit=False, table="memory_vectors"):
        work = asyncio.create_task(runner.run_pending())
        await cut_sleeper(database)
        await work
    found = (await client.get(path_of(operation))).json()
    assert not found["done"]
    assert found["metadata"]["lastError"] == "The database cannot be reached at the moment."
    assert (await counts(database))["memories"] == 0
    clock.advance(timedelta(minutes=1))
    await runner.run_pending()
    found = (await client.get(path_of(operation))).json()
    assert [one["action"] for one in found["response"]["generatedMemories"]] == ["CREATED"] * 2
    revisions = (await client.get("/memories/-/revisions")).json()["memoryRevisions"]
    assert sorted(one["fact"] for one in revisions) == ["I like tea.", "I live in Paris."]
    assert {one["operation"] for one in revisions} == {operation}
    assert (await counts(database))["memories"] == 2


async def test_a_generation_whose_commit_fails_leaves_nothing_and_is_tried_again(
    client: httpx.AsyncClient, database: Database, runner: Runner, clock: FixedClock
) -> None:
    """The end of the operation is in the transaction of its effects, so they fail together."""
    body = {"scope": USER, "directMemoriesSource": {"directMemories": [{"fact": "I like tea."}]}}
    operation = (await client.post("/memories:generate", json=body)).json()["name"]
    async with trigger(database, CUT):
        await runner.run_pending()
    assert not (await client.get(path_of(operation))).json()["done"]
    assert (await counts(database))["memories"] == 0
    clock.advance(timedelta(minutes=1))
    await runner.run_pending()
    assert (await client.get(path_of(operation))).json()["done"]
    found = await counts(database)
    assert (found["memories"], found["memory_revisions"], found["memory_vectors"]) == (1, 1, 1)
