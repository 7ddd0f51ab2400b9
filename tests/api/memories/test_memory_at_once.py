"""Creating by one statement, and getting by one: what they do is what the longer ways do."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from app.core.clock import FixedClock
from app.core.names import EngineName
from app.db.session import Database
from app.memories.schemas import Memory
from app.memories.tables import MemoryRow
from tests.support.bank import after, configure, ok
from tests.support.statements import statements_on

FULL: dict[str, Any] = {
    "fact": "Zoë moved to Paris on 3 May 2024: 'très bien', 100 %s.",
    "scope": {"user_id": "42", "app": "x"},
    "displayName": "A name",
    "description": "What it is about",
    "topics": [{"managedMemoryTopic": "USER_PREFERENCES"}, {"customMemoryTopicLabel": "jargon"}],
    "metadata": {
        "src": {"stringValue": "a"},
        "large": {"doubleValue": 1e300},
        "whole": {"doubleValue": 5},
        "ok": {"boolValue": True},
        "when": {"timestampValue": "2030-01-02T04:04:05+01:00"},
    },
    "context": "Said at lunch",
    "ttl": "3600s",
}
SMALL: dict[str, Any] = {"fact": "I like tea.", "scope": {"user_id": "42"}}
_TABLES = ("memories", "memory_vectors", "memory_revisions", "operations", "audit_events")
# What differs between two that are made one after another.
_OWN = {"memory_id", "revision_id", "operation_id", "event_id", "resource", "operation"}
_OWN |= {"response", "request_id"}


async def create(client: httpx.AsyncClient, body: dict[str, Any], **params: str) -> dict[str, Any]:
    return ok(await client.post("memories", params=params, json=body))


async def get(client: httpx.AsyncClient, path: str) -> dict[str, Any]:
    return ok(await client.get(path))


@pytest.fixture
async def known(client: httpx.AsyncClient) -> None:
    """The process knows the engine, and the model that serves it."""
    for _ in range(2):
        await create(client, SMALL)


@pytest.fixture
def statements(database: Database) -> Iterator[list[str]]:
    """What goes by way of the session."""
    with statements_on(database, "") as found:
        yield found


async def newest(database: Database) -> dict[str, dict[str, Any]]:
    """Return of each table the row that was inserted last, without what is its own."""
    found = {}
    async with database.transaction() as session:
        for table in _TABLES:
            order = "order by xmin::text::bigint desc, ctid desc limit 1"
            statement = text(f"select to_jsonb(t) from {table} t {order}")
            row = (await session.execute(statement)).scalar_one()
            found[table] = {name: value for name, value in row.items() if name not in _OWN}
    return found


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("body", [FULL, SMALL], ids=["full", "small"])
async def test_one_statement_writes_what_several_write(
    client: httpx.AsyncClient, database: Database, statements: list[str], body: dict[str, Any]
) -> None:
    await create(client, body, requestId="repeated")
    assert any("INSERT INTO operations" in one for one in statements)
    step_by_step = await newest(database)
    statements.clear()
    await create(client, body)
    assert not any("INSERT" in one.upper() for one in statements)
    at_once = await newest(database)
    assert at_once == step_by_step


@pytest.mark.usefixtures("known")
async def test_its_answer_is_that_of_the_operation(client: httpx.AsyncClient) -> None:
    done = await create(client, FULL)
    name = done["name"].rpartition("/")[2]
    assert await get(client, f"operations/{name}") == done
    memory = {key: value for key, value in done["response"].items() if key != "@type"}
    assert await get(client, f"memories/{memory['name'].rpartition('/')[2]}") == memory


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("body", [FULL, SMALL], ids=["full", "small"])
async def test_a_memory_is_told_as_its_message_has_it(
    client: httpx.AsyncClient, database: Database, body: dict[str, Any]
) -> None:
    created = await create(client, body, memoryId="told")
    async with database.transaction() as session:
        row = await session.get_one(MemoryRow, (1, "told"))
    engine = EngineName.parse(created["response"]["name"].partition("/memories")[0])
    assert await get(client, "memories/told") == Memory.from_row(engine, row).wire()


@pytest.mark.usefixtures("known")
async def test_a_changed_configuration_counts_at_once(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    await configure(client, ttlConfig={"defaultTtl": "86400s"})
    done = await create(client, SMALL)
    assert done["response"]["expireTime"] == after(clock, days=1)


@pytest.mark.usefixtures("known")
async def test_a_deleted_engine_takes_no_more(client: httpx.AsyncClient) -> None:
    assert (await client.delete(str(client.base_url).rstrip("/") + "?force=true")).is_success
    refused = await client.post("memories", json=SMALL)
    assert refused.status_code == 404


@pytest.mark.usefixtures("known")
async def test_the_id_of_an_expired_memory_is_free(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    await create(client, {**SMALL, "ttl": "60s"}, memoryId="again")
    taken = await client.post("memories", params={"memoryId": "again"}, json=SMALL)
    assert taken.status_code == 409
    clock.advance(timedelta(minutes=2))
    await create(client, SMALL, memoryId="again")


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("params", [{}, {"requestId": "by several"}])
async def test_a_source_may_be_long(client: httpx.AsyncClient, params: dict[str, str]) -> None:
    letters = "".join(chr(0x4E00 + n * 7919 % 20_000) for n in range(4_096))
    metadata = {"source": {"stringValue": letters}, "position": {"doubleValue": 1e300}}
    done = await create(client, {**SMALL, "metadata": metadata}, **params)
    assert done["response"]["metadata"] == metadata


@pytest.mark.usefixtures("known")
async def test_many_at_once_all_come_through(client: httpx.AsyncClient) -> None:
    done = await asyncio.gather(*(create(client, SMALL) for _ in range(40)))
    names = {one["response"]["name"].rpartition("/")[2] for one in done}
    assert len(names) == 40
    got = await asyncio.gather(*(get(client, f"memories/{name}") for name in names))
    assert {one["fact"] for one in got} == {SMALL["fact"]}
