"""The asynchronous client makes the same calls.

Source: wire specification, sections 1.1 and 3.1.
"""

import asyncio
from collections.abc import AsyncIterable
from typing import Any

import httpx
import pytest

from tests.support.live import LiveServer
from tests.support.official import (
    PARENT,
    USER,
    Client,
    actions,
    at,
    facts,
    generated,
    invalid,
    last_part,
    missing,
    refused,
    says,
    to_its_end,
    vertex_client,
)


async def _all(found: AsyncIterable[Any]) -> list[Any]:
    """Return the items of an asynchronous pager, over all its pages."""
    return [one async for one in found]


async def _create(aio: Client, engine: str, fact: str = "I like tea.", **config: Any) -> Any:
    made = await aio.agent_engines.memories.create(
        name=engine, fact=fact, scope=USER, config=config
    )
    return made.response


async def test_engines_are_created_read_and_deleted(aio: Client) -> None:
    operation = await aio.agent_engines._create(config={"display_name": "Bank"})
    assert operation.done is True
    name = operation.response.name
    found = await aio.agent_engines._get(name=name)
    assert found.display_name == "Bank"
    deletion = await aio.agent_engines.delete(name=name, force=True)
    assert deletion.name.startswith(f"{name}/operations/")
    with missing():
        await aio.agent_engines._get(name=name)


async def test_an_engine_with_memories_is_not_deleted_without_force(
    aio: Client, engine: str
) -> None:
    await _create(aio, engine)
    with refused(400, "FAILED_PRECONDITION"):
        await aio.agent_engines.delete(name=engine)


async def test_engines_are_updated_and_listed(aio: Client, engine: str) -> None:
    operation = await aio.agent_engines._update(
        name=engine, config={"display_name": f"Bank {engine}", "update_mask": "display_name"}
    )
    assert operation.response.display_name == f"Bank {engine}"
    found = await aio.agent_engines._list(config={"filter": f'display_name="Bank {engine}"'})
    assert [one.name for one in found.reasoning_engines] == [engine]


async def test_a_memory_is_created_and_read(aio: Client, engine: str) -> None:
    made = await _create(aio, engine, ttl="3600s", metadata={"a": {"bool_value": True}})
    assert made.fact == "I like tea."
    assert made.expire_time is not None
    assert await aio.agent_engines.memories.get(name=made.name) == made


async def test_a_memory_is_created_without_waiting(aio: Client, engine: str) -> None:
    operation = await aio.agent_engines.memories.create(
        name=engine, fact="f", scope=USER, config={"wait_for_completion": False}
    )
    assert operation.done is True
    assert operation.response.fact == "f"


async def test_memories_are_listed_over_pages(aio: Client, engine: str) -> None:
    for fact in "abc":
        await _create(aio, engine, fact)
    pager = await aio.agent_engines.memories.list(
        name=engine, config={"page_size": 1, "order_by": "create_time"}
    )
    assert [one.fact for one in await _all(pager)] == ["a", "b", "c"]


async def test_a_memory_is_updated(aio: Client, engine: str) -> None:
    made = await _create(aio, engine)
    operation = await aio.agent_engines.memories._update(name=made.name, fact="I like coffee.")
    assert operation.done is True
    assert (await aio.agent_engines.memories.get(name=made.name)).fact == "I like coffee."


async def test_a_memory_is_deleted_and_rolled_back(aio: Client, engine: str) -> None:
    memories = aio.agent_engines.memories
    made = await _create(aio, engine)
    assert (await memories.delete(name=made.name)).done is True
    with missing():
        await memories.get(name=made.name)
    revisions = await _all(await memories.revisions.list(name=made.name))
    assert len(revisions) == 2
    await memories.rollback(name=made.name, target_revision_id=last_part(revisions[-1].name))
    assert (await memories.get(name=made.name)).fact == "I like tea."


async def test_revisions_are_filtered_and_read(aio: Client, engine: str) -> None:
    memories = aio.agent_engines.memories
    operation = await memories.generate(
        name=engine,
        direct_memories_source=facts("I like tea."),
        scope=USER,
        config={"revision_labels": {"data_source": "321"}},
    )
    (made,) = generated(operation)
    await memories._update(name=made.memory.name, fact="I like coffee.")
    pager = await memories.revisions.list(
        name=made.memory.name, config={"filter": 'labels.data_source="321"', "page_size": 1}
    )
    (revision,) = await _all(pager)
    assert revision.labels == {"data_source": "321"}
    assert await memories.revisions.get(name=revision.name) == revision


async def test_a_conversation_becomes_memories(aio: Client, engine: str) -> None:
    operation = await aio.agent_engines.memories.generate(
        name=engine, direct_contents_source=says("I live in Zurich."), scope=USER
    )
    assert actions(generated(operation)) == ["CREATED"]


async def test_a_generation_is_not_waited_for(aio: Client, http: httpx.Client, engine: str) -> None:
    memories = aio.agent_engines.memories
    operation = await memories.generate(
        name=engine,
        direct_memories_source=facts("I live in Zurich."),
        scope=USER,
        config={"wait_for_completion": False},
    )
    await asyncio.to_thread(to_its_end, http, operation.name)
    found = await memories._get_generate_memories_operation(operation_name=operation.name)
    assert actions(generated(found)) == ["CREATED"]


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"similarity_search_params": {"search_query": "tea"}},
        {"config": {"filter": 'fact=~".*"'}},
    ],
    ids=["plain", "similarity", "filter"],
)
async def test_memories_are_retrieved(aio: Client, engine: str, how: dict[str, Any]) -> None:
    made = await _create(aio, engine)
    pager = await aio.agent_engines.memories.retrieve(name=engine, scope=USER, **how)
    assert [one.memory for one in await _all(pager)] == [made]


async def test_a_page_is_retrieved(aio: Client, engine: str) -> None:
    await _create(aio, engine, "a")
    await _create(aio, engine, "b")
    pager = await aio.agent_engines.memories.retrieve(
        name=engine, scope=USER, simple_retrieval_params={"page_size": 1}
    )
    assert [one.memory.fact for one in pager.page] == ["b"]


async def test_memories_are_purged(aio: Client, engine: str) -> None:
    await _create(aio, engine)
    purge = aio.agent_engines.memories.purge
    text = 'scope.user_id="123"'
    assert (await purge(name=engine, filter=text)).response.purge_count == 1
    assert (await purge(name=engine, filter=text, force=True)).response.purge_count == 1
    assert await _all(await aio.agent_engines.memories.list(name=engine)) == []


async def test_refusals_are_raised(aio: Client, engine: str) -> None:
    memories = aio.agent_engines.memories
    await _create(aio, engine, memory_id="mine")
    with refused(409, "ALREADY_EXISTS"):
        await _create(aio, engine, memory_id="mine")
    with invalid("scope"):
        await memories.create(name=engine, fact="f", scope={"user_id": "*"})
    with invalid("filter"):
        await memories.list(name=engine, config={"filter": "fact="})
    with missing():
        await memories.get(name=f"{PARENT}/reasoningEngines/404/memories/1")


async def test_a_wrong_key_is_unauthenticated(server: LiveServer, engine: str) -> None:
    client = vertex_client(**at(server.url, token="wrong"))
    try:
        with refused(401, "UNAUTHENTICATED"):
            await client.aio.agent_engines.memories.list(name=engine)
    finally:
        await client.aio.aclose()


async def test_many_calls_run_at_once(aio: Client, engine: str) -> None:
    made = await asyncio.gather(*(_create(aio, engine, f"Fact {n}.") for n in range(20)))
    assert len({one.name for one in made}) == 20
    pager = await aio.agent_engines.memories.list(name=engine, config={"page_size": 7})
    assert {one.name for one in await _all(pager)} == {one.name for one in made}
