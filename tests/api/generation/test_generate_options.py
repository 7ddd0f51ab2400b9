"""Revisions, lives and metadata of generated memories: wire specification, sections 8.1 and 8.3."""

from datetime import timedelta
from typing import Any

import httpx
import pytest

from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from tests.support.bank import Json, after, configure, history, listed, ok
from tests.support.generation import actions, changes, given, run, said
from tests.support.operations import create_memory, path_of

TEA = "I like green tea."
OLD = {"src": {"stringValue": "old"}, "kept": {"boolValue": True}}
NEW = {"src": {"string_value": "new"}, "more": {"double_value": 2.0}}
NEW_STORED = {"src": {"stringValue": "new"}, "more": {"doubleValue": 2.0}}


async def _only(client: httpx.AsyncClient) -> Json:
    (memory,) = ok(await client.get("/memories"))["memories"]
    found: Json = memory
    return found


async def test_labels_and_extracted_memories_are_on_every_revision(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    labels = {"data_source": "321", "someKey": ""}
    for text in ("I live in Paris.", "I live in Berlin.", "Please forget where I live."):
        await run(client, runner, said(text), revisionLabels=labels)
    deleted, updated, created = await history(
        client, "/memories/-", filter='labels.data_source="321"'
    )
    assert [one["labels"] for one in (deleted, updated, created)] == [labels] * 3
    assert [one["action"] for one in (deleted, updated, created)] == [
        *("DELETED", "UPDATED", "CREATED")
    ]
    assert created["extractedMemories"] == [
        {"fact": "I live in Paris.", "context": "I live in Paris."}
    ]
    assert updated["extractedMemories"] == [
        {"fact": "I live in Berlin.", "context": "I live in Berlin."}
    ]
    assert len(deleted["extractedMemories"]) == 1
    assert {one["author"] for one in (deleted, updated, created)} == {"builtin-rules/3"}


async def test_direct_facts_are_the_extracted_memories(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    operation = await run(client, runner, given(TEA))
    (revision,) = await history(client, path_of((await _only(client))["name"]))
    assert revision["extractedMemories"] == [{"fact": TEA}]
    assert revision["operation"] == operation["name"]


async def test_the_life_of_revisions(
    client: httpx.AsyncClient, clock: FixedClock, runner: Runner
) -> None:
    await run(client, runner, given(TEA), revisionTtl="60s")
    moment = "2026-06-01T00:00:00Z"
    await run(client, runner, given(TEA), revisionExpireTime=moment)
    await run(client, runner, given(TEA))
    found = await history(client, "/memories/-")
    assert [one["expireTime"] for one in found] == [
        after(clock, days=365),
        moment,
        after(clock, seconds=60),
    ]


async def test_disabled_revisions(client: httpx.AsyncClient, runner: Runner) -> None:
    await run(client, runner, given(TEA))
    operation = await run(client, runner, given(TEA), disableMemoryRevisions=True)
    assert operation["metadata"]["revisionsDisabled"] is True
    memory = await _only(client)
    assert memory["etag"] == "2"
    assert len(await history(client, path_of(memory["name"]))) == 1


async def test_without_a_former_revision_none_is_named(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    (created,) = await changes(client, runner, given(TEA), disableMemoryRevisions=True)
    assert await changes(client, runner, given(TEA)) == [
        {"memory": created["memory"], "action": "UPDATED"}
    ]


_GRANULAR = {"createTtl": "1s", "generateCreatedTtl": "100s", "generateUpdatedTtl": "200s"}


@pytest.mark.parametrize(
    ("bank", "created", "updated"),
    [
        ({}, None, None),
        ({"defaultTtl": "300s"}, 300, 300),
        ({"granularTtlConfig": _GRANULAR}, 100, 200),
        ({"granularTtlConfig": {"createTtl": "1s"}}, None, None),
        # A missing granular value leaves the expiration alone.
        ({"granularTtlConfig": {"generateCreatedTtl": "100s"}}, 100, 90),
        ({"granularTtlConfig": {"generateUpdatedTtl": "200s"}}, None, 200),
    ],
)
async def test_expiry_by_cause(
    client: httpx.AsyncClient,
    clock: FixedClock,
    runner: Runner,
    bank: dict[str, Any],
    created: float | None,
    updated: float | None,
) -> None:
    await configure(client, ttlConfig=bank)
    for expected in (created, updated):
        await run(client, runner, given(TEA))
        moment = None if expected is None else after(clock, seconds=expected)
        assert (await _only(client)).get("expireTime") == moment
        clock.advance(timedelta(seconds=10))


async def test_a_generation_has_no_ttl_of_its_own(client: httpx.AsyncClient) -> None:
    body = {"scope": {"user_id": "42"}, **given(TEA), "ttl": "60s"}
    assert (await client.post("/memories:generate", json=body)).status_code == 400


@pytest.mark.parametrize(
    ("strategy", "metadata"),
    [
        (None, NEW_STORED),
        ("METADATA_MERGE_STRATEGY_UNSPECIFIED", NEW_STORED),
        ("OVERWRITE", NEW_STORED),
        ("MERGE", {**OLD, **NEW_STORED}),
    ],
)
async def test_metadata_of_created_and_updated_memories(
    client: httpx.AsyncClient, runner: Runner, strategy: str | None, metadata: Json
) -> None:
    fields = {"metadata": NEW} if strategy is None else {
        "metadata": NEW, "metadataMergeStrategy": strategy
    }  # fmt: skip
    await create_memory(client, TEA, metadata=OLD)
    assert await actions(client, runner, given(TEA, "I live in Oslo."), **fields) == [
        "UPDATED",
        "CREATED",
    ]
    memories = ok(await client.get("/memories"))["memories"]
    assert {memory["fact"]: memory["metadata"] for memory in memories} == {
        TEA: metadata,
        "I live in Oslo.": NEW_STORED,
    }


async def test_without_metadata_those_of_an_updated_memory_stay(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await create_memory(client, TEA, metadata=OLD)
    for strategy in ("OVERWRITE", "MERGE"):
        await run(client, runner, given(TEA), metadataMergeStrategy=strategy)
        assert (await _only(client))["metadata"] == OLD


async def test_require_exact_match_consolidates_only_with_the_same_metadata(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    exact = {"metadataMergeStrategy": "REQUIRE_EXACT_MATCH"}
    old = await create_memory(client, TEA, metadata=OLD)
    bare = await create_memory(client, TEA)
    # More, fewer or other keys are no match.
    for metadata in (NEW, {"kept": {"boolValue": True}}, {**OLD, "x": {"boolValue": True}}):
        assert await actions(client, runner, given(TEA), **exact, metadata=metadata) == ["CREATED"]
    backwards = dict(reversed(OLD.items()))
    (updated,) = await changes(client, runner, given(TEA), **exact, metadata=backwards)
    assert (updated["action"], updated["memory"]["name"]) == ("UPDATED", old["name"])
    (updated,) = await changes(client, runner, given(TEA), **exact)
    assert (updated["action"], updated["memory"]["name"]) == ("UPDATED", bare["name"])
    assert len(await listed(client)) == 5


async def test_a_topic_given_with_a_fact_replaces_that_of_the_memory(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    preferences = [{"managedMemoryTopic": "USER_PREFERENCES"}]
    personal = [{"managedMemoryTopic": "USER_PERSONAL_INFO"}]
    await run(client, runner, given(TEA, topics=preferences))
    await run(client, runner, given(TEA))
    assert (await _only(client))["topics"] == preferences
    await run(client, runner, given(TEA, topics=personal))
    assert (await _only(client))["topics"] == personal
