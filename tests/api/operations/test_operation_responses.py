"""What an operation answers later: read at that moment, never kept as text.

Source: wire specification, section 4.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import httpx
import pytest

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from app.platform.upkeep.service import UpkeepService
from tests.support.engines import API
from tests.support.errors import NOT_FOUND, refusal
from tests.support.operations import USER, create_memory, path_of
from tests.support.rows import rows_with

_TYPES = "type.googleapis.com/google.cloud.aiplatform.v1beta1."
_CANARY = "zebrafish-4711"


async def _last(client: httpx.AsyncClient) -> dict[str, Any]:
    """Return the newest operation as a client reads it."""
    (listed,) = (await client.get("/operations", params={"pageSize": 1})).json()["operations"]
    found: dict[str, Any] = (await client.get(path_of(listed["name"]))).json()
    return found


async def _again(client: httpx.AsyncClient, operation: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = (await client.get(path_of(operation["name"]))).json()["response"]
    return found


async def _written(client: httpx.AsyncClient) -> tuple[dict[str, Any], dict[str, Any]]:
    """Create a memory with every field; return it and its operation."""
    memory = await create_memory(
        client,
        f"I keep a {_CANARY}.",
        displayName=f"{_CANARY} name",
        description=f"{_CANARY} description",
        metadata={"k": {"stringValue": f"{_CANARY} value"}},
        topics=[{"customMemoryTopicLabel": f"{_CANARY} topic"}],
        structuredContent={"data": {"k": f"{_CANARY} data"}, "schemaId": "s"},
        context=f"{_CANARY} context",
        ttl="36000s",
    )
    return memory, await _last(client)


def _memory(fields: dict[str, Any]) -> dict[str, Any]:
    return {"@type": _TYPES + "Memory", **fields}


def _name_of(memory: dict[str, Any]) -> dict[str, Any]:
    """Return what stays of a memory: its name, and which version of it the operation left."""
    return _memory({key: memory[key] for key in ("name", "etag")})


async def test_the_response_of_a_creation_is_the_memory(client: httpx.AsyncClient) -> None:
    memory, created = await _written(client)
    assert created["response"] == _memory(memory)


async def test_the_response_stays_what_the_operation_left(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    memory, created = await _written(client)
    path = path_of(memory["name"])
    clock.advance(timedelta(minutes=1))
    updated = await client.patch(path, json={"fact": "I have none.", "displayName": "new"})
    clock.advance(timedelta(minutes=1))
    await client.patch(path, json={"fact": "I have two."})
    assert await _again(client, created) == _memory(memory)
    assert await _again(client, updated.json()) == updated.json()["response"]
    await client.delete(path)
    assert await _again(client, created) == _memory(memory)


async def test_the_response_of_a_rollback_is_the_memory_as_it_was(
    client: httpx.AsyncClient,
) -> None:
    memory, _ = await _written(client)
    path = path_of(memory["name"])
    (revision,) = (await client.get(f"{path}/revisions")).json()["memoryRevisions"]
    await client.patch(path, json={"fact": "I have none."})
    body = {"targetRevisionId": revision["name"]}
    rolled_back = (await client.post(f"{path}:rollback", json=body)).json()
    assert rolled_back["response"]["fact"] == memory["fact"]
    await client.patch(path, json={"fact": "I have two."})
    assert await _again(client, rolled_back) == rolled_back["response"]


async def test_without_its_revision_only_the_name_of_a_changed_memory_stays(
    client: httpx.AsyncClient,
) -> None:
    memory = await create_memory(client, "I like tea.", disableMemoryRevisions=True)
    created = await _last(client)
    assert created["response"] == _memory(memory)
    assert created["metadata"]["revisionsDisabled"] is True
    await client.patch(path_of(memory["name"]), json={"fact": "I like coffee."})
    assert await _again(client, created) == _name_of(memory)


async def test_of_an_expired_memory_only_the_name_stays(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    memory, created = await _written(client)
    clock.advance(timedelta(hours=11))
    assert await _again(client, created) == _name_of(memory)


async def test_a_memory_made_anew_under_the_same_id_is_not_what_the_operation_left(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    body = {"fact": "I like tea.", "scope": USER}
    first = (await client.post("/memories", params={"memoryId": "m"}, json=body)).json()
    await client.delete("/memories/m", params={"permanent": "true"})
    clock.advance(timedelta(seconds=1))
    await client.post("/memories", params={"memoryId": "m"}, json={**body, "fact": "Another."})
    assert await _again(client, first) == _name_of(first["response"])


async def _erase_one(client: httpx.AsyncClient, memory: dict[str, Any]) -> None:
    path = path_of(memory["name"])
    answer = await client.delete(path, params={"permanent": "true"})
    operation = answer.json()
    assert operation["response"] == {"@type": "type.googleapis.com/google.protobuf.Empty"}
    assert operation["metadata"]["erased"] == {
        "memories": 1,
        "vectors": 1,
        "revisions": 2,
        "labels": 0,
    }


async def _purge(client: httpx.AsyncClient, _memory: dict[str, Any]) -> None:
    body = {"filter": f"fact:{_CANARY}", "force": True, "permanent": True}
    answer = await client.post("/memories:purge", json=body)
    assert answer.json()["response"]["purgeCount"] == 1


@pytest.mark.parametrize("erase", [_erase_one, _purge])
async def test_of_an_erased_memory_no_text_is_left_anywhere(
    client: httpx.AsyncClient,
    runner: Runner,
    database: Database,
    erase: Callable[[httpx.AsyncClient, dict[str, Any]], Any],
) -> None:
    memory, created = await _written(client)
    path = path_of(memory["name"])
    updated = await client.patch(path, json={"description": f"{_CANARY} again"})
    source = {"events": [{"content": {"parts": [{"text": f"Forget my {_CANARY}, maybe?"}]}}]}
    scope = {"scope": {"user_id": "other"}}
    await client.post("/memories:generate", json={**scope, "directContentsSource": source})
    await runner.run_pending()
    await erase(client, memory)
    assert await rows_with(database, _CANARY) == {}
    for operation in (created, updated.json()):
        assert await _again(client, operation) == _name_of(operation["response"])
    assert refusal(await client.get(path)) == NOT_FOUND
    assert refusal(await client.get(f"{path}/revisions")) == NOT_FOUND


async def test_the_operations_hold_no_text_while_their_memories_live(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    await _written(client)
    source = {"directMemories": [{"fact": f"My name is {_CANARY}."}]}
    body = {"scope": USER, "directMemoriesSource": source}
    await client.post("/memories:generate", json=body)
    assert "operations" in await rows_with(database, _CANARY)
    await runner.run_pending()
    assert set(await rows_with(database, _CANARY)) == {"memories", "memory_revisions"}


@pytest.fixture
def retention(resources: Resources) -> UpkeepService:
    return UpkeepService(resources)


async def test_a_done_operation_is_kept_for_seven_days(
    client: httpx.AsyncClient, clock: FixedClock, retention: UpkeepService
) -> None:
    memory = await create_memory(client, "I like tea.")
    operation = await _last(client)
    clock.advance(timedelta(days=7, seconds=-1))
    await retention.sweep()
    assert await _again(client, operation) == _memory(memory)
    clock.advance(timedelta(seconds=1))
    await retention.sweep()
    assert refusal(await client.get(path_of(operation["name"]))) == NOT_FOUND
    assert (await client.get("/operations")).json() == {"operations": []}
    assert (await client.get(path_of(memory["name"]))).json() == memory


async def test_the_seven_days_count_from_the_end_of_the_work(
    client: httpx.AsyncClient, clock: FixedClock, retention: UpkeepService, runner: Runner
) -> None:
    source = {"directMemories": [{"fact": "I like tea."}]}
    body = {"scope": USER, "directMemoriesSource": source}
    operation = (await client.post("/memories:generate", json=body)).json()
    clock.advance(timedelta(days=30))
    await retention.sweep()
    assert (await client.get(f"{API}/{operation['name']}")).json() == operation
    await runner.run_pending()
    clock.advance(timedelta(days=6))
    await retention.sweep()
    assert (await client.get(f"{API}/{operation['name']}")).json()["done"] is True
    clock.advance(timedelta(days=1))
    await retention.sweep()
    assert refusal(await client.get(f"{API}/{operation['name']}")) == NOT_FOUND
