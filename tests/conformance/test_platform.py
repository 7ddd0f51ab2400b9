"""The successor of the client, `agentplatform`, makes the same calls a little differently.

Source: wire specification, section 3.2.
"""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

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
    platform_client,
    refused,
    says,
)

CONFIG: dict[str, Any] = {
    "unstructured_memory_configs": [
        {
            "scope_keys": ["user_id"],
            "memory_topics": [
                {"managed_memory_topic": {"managed_topic_enum": "USER_PREFERENCES"}},
                {"custom_memory_topic": {"label": "jargon", "description": "d"}},
            ],
            "enable_third_person_memories": True,
        }
    ],
    "ttl_config": {"default_ttl": "86400s"},
    "structured_memory_configs": [
        {
            "scope_keys": ["user_id"],
            "schema_configs": [
                {"id": "profile", "memory_schema": {"type": "OBJECT", "title": "Profile"}}
            ],
        }
    ],
}


@pytest.fixture(scope="module")
async def aio_platform(server: LiveServer) -> AsyncIterator[Client]:
    """The asynchronous half of the client."""
    client = platform_client(**at(server.url))
    yield client.aio
    await client.aio.aclose()


def _create(platform: Client, engine: str, fact: str = "I like tea.", **config: Any) -> Any:
    made = platform.memory_banks.memories.create(name=engine, fact=fact, scope=USER, config=config)
    return made.response


def test_a_bank_is_created_and_read(platform: Client) -> None:
    made = platform.memory_banks.create(
        managed_semantic_memory_config=CONFIG, config={"display_name": "B", "description": "d"}
    )
    assert made.name.startswith(f"{PARENT}/reasoningEngines/")
    read = platform.memory_banks.get(name=made.name)
    assert (read.name, read.display_name, read.description) == (made.name, "B", "d")
    assert read.create_time == read.update_time
    found = read.managed_semantic_memory_config.model_dump(mode="json", exclude_none=True)
    assert found == CONFIG


def test_a_bare_bank_is_created(platform: Client) -> None:
    made = platform.memory_banks.create()
    read = platform.memory_banks.get(name=made.name)
    assert read.managed_semantic_memory_config.model_dump(exclude_none=True) == {}


def test_renaming_a_bank_leaves_its_configuration(platform: Client) -> None:
    made = platform.memory_banks.create(managed_semantic_memory_config=CONFIG)
    before = platform.memory_banks.get(name=made.name)
    platform.memory_banks.update(name=made.name, config={"display_name": "B2"})
    after = platform.memory_banks.get(name=made.name)
    assert after.display_name == "B2"
    assert after.managed_semantic_memory_config == before.managed_semantic_memory_config


def test_a_new_configuration_replaces_the_one_before(platform: Client) -> None:
    made = platform.memory_banks.create(
        managed_semantic_memory_config=CONFIG, config={"display_name": "B", "description": "d"}
    )
    platform.memory_banks.update(
        name=made.name, managed_semantic_memory_config={"ttl_config": {"default_ttl": "60s"}}
    )
    after = platform.memory_banks.get(name=made.name)
    assert (after.display_name, after.description) == ("B", "d")
    found = after.managed_semantic_memory_config.model_dump(exclude_none=True)
    assert found == {"ttl_config": {"default_ttl": "60s"}}


def test_banks_are_listed_over_pages(platform: Client, engine: str) -> None:
    names = [one.name for one in platform.memory_banks.list(config={"page_size": 7})]
    assert names[0] == engine
    assert len(set(names)) == len(names)


def test_a_bank_is_deleted_with_force(platform: Client, engine: str) -> None:
    _create(platform, engine)
    with refused(400, "FAILED_PRECONDITION"):
        platform.memory_banks.delete(name=engine)
    platform.memory_banks.delete(name=engine, force=True)
    with missing():
        platform.memory_banks.get(name=engine)


def test_the_same_engine_is_seen_by_both_clients(platform: Client, vertex: Client) -> None:
    made = vertex.agent_engines.create(
        config={
            "display_name": "shared",
            "context_spec": {"memory_bank_config": {"ttl_config": {"default_ttl": "60s"}}},
        }
    ).api_resource
    read = platform.memory_banks.get(name=made.name)
    assert read.display_name == "shared"
    assert read.managed_semantic_memory_config.ttl_config.default_ttl == "60s"


def test_a_memory_is_created_and_read(platform: Client, engine: str) -> None:
    made = _create(
        platform,
        engine,
        ttl="3600s",
        metadata={"a_b": {"string_value": "x"}},
        memory_id="mine",
        topics=[{"custom_memory_topic_label": "drinks"}],
    )
    assert made.name == f"{engine}/memories/mine"
    assert made.expire_time is not None
    assert made.metadata["a_b"].string_value == "x"
    assert platform.memory_banks.memories.get(name=made.name) == made


def test_memories_are_listed_updated_and_deleted(platform: Client, engine: str) -> None:
    memories = platform.memory_banks.memories
    made = _create(platform, engine)
    assert [one.name for one in memories.list(name=engine)] == [made.name]
    memories._update(name=made.name, fact="I like coffee.", scope=USER)
    assert memories.get(name=made.name).fact == "I like coffee."
    memories.delete(name=made.name)
    with missing():
        memories.get(name=made.name)


def test_revisions_are_read_and_rolled_back_to(platform: Client, engine: str) -> None:
    memories = platform.memory_banks.memories
    made = _create(platform, engine)
    memories._update(name=made.name, fact="I like coffee.", scope=USER)
    newest, oldest = memories.revisions.list(name=made.name)
    assert (newest.fact, oldest.fact) == ("I like coffee.", "I like tea.")
    assert memories.revisions.get(name=oldest.name) == oldest
    memories.rollback(name=made.name, target_revision_id=last_part(oldest.name))
    assert memories.get(name=made.name).fact == "I like tea."


def test_memories_are_generated(platform: Client, engine: str) -> None:
    generate = platform.memory_banks.memories.generate
    heard = generate(name=engine, direct_contents_source=says("I live in Rome."), scope=USER)
    assert actions(generated(heard)) == ["CREATED"]
    given = generate(
        name=engine,
        direct_memories_source=facts("I live in Rome."),
        scope=USER,
        config={"revision_labels": {"a": "b"}},
    )
    (updated,) = generated(given)
    assert updated.action.value == "UPDATED"
    newest = next(iter(platform.memory_banks.memories.revisions.list(name=updated.memory.name)))
    assert newest.labels == {"a": "b"}


def test_memories_are_retrieved(platform: Client, engine: str) -> None:
    made = _create(platform, engine)
    retrieve = platform.memory_banks.memories.retrieve
    (found,) = retrieve(
        name=engine, scope=USER, similarity_search_params={"search_query": "I like tea."}
    )
    assert found.memory == made
    assert found.distance < 0.01
    assert [one.memory for one in retrieve(name=engine, scope=USER)] == [made]


def test_memories_are_purged(platform: Client, engine: str) -> None:
    _create(platform, engine)
    purge = platform.memory_banks.memories.purge
    text = 'scope.user_id="123"'
    assert purge(name=engine, filter=text).response.purge_count == 1
    assert purge(name=engine, filter=text, force=True).response.purge_count == 1
    assert [*platform.memory_banks.memories.list(name=engine)] == []


def test_refusals_are_raised(platform: Client, engine: str) -> None:
    with invalid("scope"):
        platform.memory_banks.memories.create(name=engine, fact="f", scope={"u": "*"})
    _create(platform, engine, memory_id="mine")
    with refused(409, "ALREADY_EXISTS"):
        _create(platform, engine, memory_id="mine")


async def test_banks_live_in_asynchronous_code_too(aio_platform: Client) -> None:
    banks = aio_platform.memory_banks
    made = await banks.create(
        managed_semantic_memory_config={"ttl_config": {"default_ttl": "60s"}},
        config={"display_name": "B"},
    )
    await banks.update(name=made.name, config={"display_name": "B2"})
    read = await banks.get(name=made.name)
    assert read.display_name == "B2"
    assert read.managed_semantic_memory_config.ttl_config.default_ttl == "60s"
    pager = await banks.list(config={"page_size": 3})
    assert made.name in [one.name async for one in pager]
    await banks.delete(name=made.name, force=True)
    with missing():
        await banks.get(name=made.name)


async def test_memories_live_in_asynchronous_code_too(aio_platform: Client, engine: str) -> None:
    memories = aio_platform.memory_banks.memories
    made = (await memories.create(name=engine, fact="I like tea.", scope=USER)).response
    found = await memories.retrieve(
        name=engine, scope=USER, similarity_search_params={"search_query": "tea"}
    )
    assert [one.memory async for one in found] == [made]
    operation = await memories.generate(
        name=engine, direct_memories_source=facts("I like tea."), scope=USER
    )
    assert actions(generated(operation)) == ["UPDATED"]
    await memories.delete(name=made.name)
    revisions = [one async for one in await memories.revisions.list(name=made.name)]
    await memories.rollback(name=made.name, target_revision_id=last_part(revisions[-1].name))
    assert (await memories.get(name=made.name)).fact == "I like tea."
    purged = await memories.purge(name=engine, filter='scope.user_id="123"', force=True)
    assert purged.response.purge_count == 1


def test_the_quickstart_keeps_sessions_and_memories_in_two_instances(platform: Client) -> None:
    """Google's quickstart: memories of a bank from a session of a runtime beside it."""
    bank = platform.memory_banks.create().name
    runtime = platform.runtimes.create().api_resource.name
    assert bank != runtime
    session = platform.sessions.create(name=runtime, user_id="123").response.name
    for author, said in (("user", "I like tea."), ("model", "Noted."), ("user", "I live in Rome.")):
        platform.sessions.events.append(
            name=session,
            author=author,
            invocation_id="1",
            timestamp=datetime.now(UTC),
            config={"content": {"role": author, "parts": [{"text": said}]}},
        )
    memories = platform.memory_banks.memories
    heard = memories.generate(name=bank, vertex_session_source={"session": session})
    assert actions(generated(heard)) == ["CREATED", "CREATED"]
    found = [one.memory for one in memories.retrieve(name=bank, scope=USER)]
    assert {one.fact for one in found} == {"I like tea.", "I live in Rome."}
    assert {one.name.rpartition("/memories/")[0] for one in found} == {bank}
    assert [*memories.list(name=runtime)] == []
    (near,) = memories.retrieve(
        name=bank, scope=USER, similarity_search_params={"search_query": "drinks", "top_k": 1}
    )
    assert near.memory.fact == "I like tea."
    platform.runtimes.delete(name=runtime, force=True)
    platform.memory_banks.delete(name=bank, force=True)
