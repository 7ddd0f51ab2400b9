"""Creating at once, and getting by one statement.

`test_path_equivalence` has every field.
"""

import asyncio
from typing import Any

import httpx
import pytest

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.kernel.names import EngineName
from app.memory.memories.schemas.memories import Memory
from app.memory.memories.store.tables import MemoryRow
from tests.support.bank import after, configure, ok

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


async def create(client: httpx.AsyncClient, body: dict[str, Any], **params: str) -> dict[str, Any]:
    return ok(await client.post("memories", params=params, json=body))


async def get(client: httpx.AsyncClient, path: str) -> dict[str, Any]:
    return ok(await client.get(path))


@pytest.fixture
async def known(client: httpx.AsyncClient) -> None:
    """The process knows the engine, and the model that serves it."""
    for _ in range(2):
        await create(client, SMALL)


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
