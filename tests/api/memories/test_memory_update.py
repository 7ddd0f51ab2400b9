"""PATCH of a memory: wire specification, section 5.5."""

from datetime import timedelta

import httpx
import pytest

from app.kernel.clock import FixedClock
from tests.support.bank import GONE, Json, field_of, history, ok, refusal
from tests.support.operations import USER, create_memory, path_of

TOPICS = [{"managedMemoryTopic": "USER_PREFERENCES"}]
METADATA = {"src": {"stringValue": "a"}}
FULL: Json = {
    "displayName": "dn",
    "description": "ds",
    "topics": TOPICS,
    "metadata": METADATA,
    "context": "cx",
    "structuredContent": {"data": {"a": 1}, "schemaId": "s"},
    "expireTime": "2030-01-01T00:00:00Z",
}
LATER = {"etag": "2", "updateTime": "2026-01-15T12:01:00Z"}


async def _full(client: httpx.AsyncClient, clock: FixedClock) -> tuple[str, Json]:
    """Create a memory with all fields, a minute ago; return its path and itself."""
    memory = await create_memory(client, "I like tea.", **FULL)
    clock.advance(timedelta(minutes=1))
    return path_of(memory["name"]), memory


async def _patch(client: httpx.AsyncClient, path: str, body: Json, mask: str | None = None) -> Json:
    """Update a memory; return it as the operation has it, which must be how it then is."""
    params = {} if mask is None else {"updateMask": mask}
    operation = ok(await client.patch(path, json=body, params=params))
    memory: Json = operation["response"]
    assert operation["done"]
    assert operation["metadata"]["@type"].endswith(".UpdateMemoryOperationMetadata")
    assert memory.pop("@type").endswith(".v1beta1.Memory")
    assert memory == ok(await client.get(path))
    return memory


async def test_without_a_mask_only_the_fields_sent_change(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    path, memory = await _full(client, clock)
    found = await _patch(client, path, {"fact": "I like coffee.", "scope": USER})
    assert found == {**memory, "fact": "I like coffee.", **LATER}


@pytest.mark.parametrize(
    "mask", ["display_name,description", "displayName, description", " description ,display_name"]
)
async def test_with_a_mask_only_the_fields_named_change(
    client: httpx.AsyncClient, clock: FixedClock, mask: str
) -> None:
    path, memory = await _full(client, clock)
    body = {"displayName": "new", "description": "also", "fact": "not named"}
    found = await _patch(client, path, body, mask)
    assert found == {**memory, "displayName": "new", "description": "also", **LATER}


@pytest.mark.parametrize(
    ("mask", "body"),
    [
        ("fact", {"fact": "y"}),
        ("topics", {"topics": [{"customMemoryTopicLabel": "c"}]}),
        ("metadata", {"metadata": {"n": {"doubleValue": 2.0}}}),
        ("structuredContent", {"structuredContent": {"data": {"b": None}, "schemaId": "t"}}),
        ("context", {"context": "y"}),
        ("expire_time", {"expireTime": "2031-01-01T00:00:00Z"}),
    ],
)
async def test_every_field_can_be_changed(
    client: httpx.AsyncClient, clock: FixedClock, mask: str, body: Json
) -> None:
    path, memory = await _full(client, clock)
    assert await _patch(client, path, body, mask) == {**memory, **body, **LATER}


@pytest.mark.parametrize(
    ("mask", "field"),
    [
        ("display_name", "displayName"),
        ("description", "description"),
        ("topics", "topics"),
        ("metadata", "metadata"),
        ("structured_content", "structuredContent"),
        ("context", "context"),
        ("expire_time", "expireTime"),
        ("ttl", "expireTime"),
    ],
)
async def test_a_field_that_the_mask_names_without_a_value_is_cleared(
    client: httpx.AsyncClient, clock: FixedClock, mask: str, field: str
) -> None:
    path, memory = await _full(client, clock)
    found = await _patch(client, path, {}, mask)
    assert found == {name: value for name, value in memory.items() if name != field} | LATER


async def test_a_star_replaces_everything(client: httpx.AsyncClient, clock: FixedClock) -> None:
    path, memory = await _full(client, clock)
    found = await _patch(client, path, {"fact": "y"}, "*")
    kept = {name: memory[name] for name in ("name", "scope", "memoryType", "createTime")}
    assert found == {**kept, "fact": "y", **LATER}


async def test_the_last_content_cannot_be_cleared(client: httpx.AsyncClient) -> None:
    path = path_of((await create_memory(client, "x"))["name"])
    for mask in ("fact", "*"):
        answer = await client.patch(path, json={}, params={"updateMask": mask})
        assert field_of(answer) == "fact"
    assert ok(await client.get(path))["etag"] == "1"


async def test_a_wrong_mask_is_refused(client: httpx.AsyncClient) -> None:
    path = path_of((await create_memory(client, "x"))["name"])
    for mask in ("name", "create_time", "no_such", "fact,,topics", "fact,etag"):
        answer = await client.patch(path, json={"fact": "y"}, params={"updateMask": mask})
        assert field_of(answer) == "updateMask", mask


async def test_scope_and_type_cannot_change_but_may_be_repeated(
    client: httpx.AsyncClient,
) -> None:
    scope = {"user_id": "1", "app": "x"}
    path = path_of((await create_memory(client, "x", scope))["name"])
    repeated = {
        "scope": dict(reversed(scope.items())),
        "memory_type": "NATURAL_LANGUAGE_COLLECTION",
    }
    found = await _patch(client, path, {"fact": "y", **repeated})
    assert (found["fact"], found["scope"]) == ("y", scope)
    for body, named in (
        ({"scope": {"user_id": "1"}}, "scope"),
        ({"scope": {"user_id": "2", "app": "x"}}, "scope"),
        ({"memoryType": "STRUCTURED_PROFILE"}, "memoryType"),
    ):
        for mask in (None, "fact", "scope,memory_type,fact"):
            params = {} if mask is None else {"updateMask": mask}
            answer = await client.patch(path, json={"fact": "z", **body}, params=params)
            assert field_of(answer) == named
    assert ok(await client.get(path)) == found


async def test_a_memory_id_in_the_query_is_ignored(client: httpx.AsyncClient) -> None:
    path = path_of((await create_memory(client, "x"))["name"])
    ok(await client.patch(path, json={"fact": "y"}, params={"memoryId": "other"}))
    assert refusal(await client.get("/memories/other")) == GONE


async def test_revision_fields_count_whether_or_not_the_mask_names_them(
    client: httpx.AsyncClient,
) -> None:
    path = path_of((await create_memory(client, "x"))["name"])
    labels = {"revision_labels": {"a": "1"}, "revisionTtl": "60s"}
    await _patch(client, path, {"fact": "y", **labels}, "fact")
    await _patch(client, path, {"fact": "z", **labels})
    newest, middle, _ = await history(client, path)
    for revision in (newest, middle):
        assert revision["labels"] == {"a": "1"}
        assert revision["expireTime"] == "2026-01-15T12:01:00Z"


_WRONG: list[tuple[Json, str]] = [
    ({"fact": "x" * 10_001}, "fact"),
    ({"ttl": "60s", "expireTime": "2030-01-01T00:00:00Z"}, "body"),
    ({"expireTime": "2026-01-15T12:00:00Z"}, "expireTime"),
    ({"metadata": {"k": {}}}, "metadata.k"),
    ({"revisionLabels": {"k": "v" * 513}}, "revisionLabels"),
    ({"unknown": 1}, "unknown"),
]


async def test_wrong_fields_are_refused_as_at_creation(client: httpx.AsyncClient) -> None:
    path = path_of((await create_memory(client, "x"))["name"])
    for body, named in _WRONG:
        assert field_of(await client.patch(path, json=body)) == named
    assert len(await history(client, path)) == 1


async def test_output_only_fields_may_be_sent_back(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    path, memory = await _full(client, clock)
    found = await _patch(client, path, {**memory, "fact": "y"})
    assert found == {**memory, "fact": "y", **LATER}


async def test_what_is_gone_cannot_be_updated(client: httpx.AsyncClient) -> None:
    path = path_of((await create_memory(client, "x"))["name"])
    ok(await client.delete(path))
    for gone in (path, "/memories/never"):
        assert refusal(await client.patch(gone, json={"fact": "y"})) == GONE
