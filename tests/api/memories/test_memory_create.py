"""POST {E}/memories: wire specification, sections 2.1, 2.2, 5.1 and 5.2."""

import asyncio
from datetime import timedelta
from random import Random
from typing import Any

import httpx
import pytest

from app.kernel.clock import FixedClock
from tests.support.bank import (
    BAD,
    ENGINE,
    GONE,
    TAKEN,
    after,
    field_of,
    history,
    listed,
    ok,
    refusal,
    retrieved,
)
from tests.support.operations import USER, asked, create_memory, path_of

# As recorded from the official client: camelCase on top, snake_case below (section 2.1).
RECORDED = {
    "fact": "I prefer a window seat",
    "scope": {"user_id": "123"},
    "displayName": "dn",
    "description": "ds",
    "ttl": "3600s",
    "revisionTtl": "7200s",
    "topics": [
        {"managed_memory_topic": "USER_PREFERENCES"},
        {"custom_memory_topic_label": "jargon"},
    ],
    "metadata": {
        "src": {"string_value": "a"},
        "score": {"double_value": 1.5},
        "ok": {"bool_value": True},
        "when": {"timestamp_value": "2030-01-02T03:04:05+00:00"},
    },
}
SNAKE = {"display_name" if key == "displayName" else key: value for key, value in RECORDED.items()}
SNAKE["revision_ttl"] = SNAKE.pop("revisionTtl")
CAMEL = {
    **RECORDED,
    "topics": [
        {"managedMemoryTopic": "USER_PREFERENCES"},
        {"customMemoryTopicLabel": "jargon"},
    ],
    "metadata": {
        "src": {"stringValue": "a"},
        "score": {"doubleValue": 1.5},
        "ok": {"boolValue": True},
        "when": {"timestampValue": "2030-01-02T04:04:05+01:00"},
    },
}


@pytest.mark.parametrize("body", [RECORDED, SNAKE, CAMEL], ids=["recorded", "snake", "camel"])
async def test_create_stores_every_field_in_either_spelling(
    client: httpx.AsyncClient, body: dict[str, Any]
) -> None:
    operation = ok(await client.post("/memories", json=body))
    memory = operation["response"]
    assert operation == {
        "name": operation["name"],
        "metadata": {
            "@type": "type.googleapis.com/google.cloud.aiplatform.v1beta1"
            ".CreateMemoryOperationMetadata",
            "genericMetadata": {
                "createTime": "2026-01-15T12:00:00Z",
                "updateTime": "2026-01-15T12:00:00Z",
            },
            **asked("memories.create", operation),
            "source": {"directMemories": 1},
            "scope": {"user_id": "123"},
        },
        "done": True,
        "response": {
            "@type": "type.googleapis.com/google.cloud.aiplatform.v1beta1.Memory",
            "name": memory["name"],
            "fact": "I prefer a window seat",
            "scope": {"user_id": "123"},
            "displayName": "dn",
            "description": "ds",
            "topics": CAMEL["topics"],
            "metadata": {
                "src": {"stringValue": "a"},
                "score": {"doubleValue": 1.5},
                "ok": {"boolValue": True},
                "when": {"timestampValue": "2030-01-02T03:04:05Z"},
            },
            "memoryType": "NATURAL_LANGUAGE_COLLECTION",
            "createTime": "2026-01-15T12:00:00Z",
            "updateTime": "2026-01-15T12:00:00Z",
            "expireTime": "2026-01-15T13:00:00Z",
            "etag": "1",
        },
    }
    assert operation["name"].startswith(f"{ENGINE}/operations/")
    assert memory["name"].startswith(f"{ENGINE}/memories/")
    assert ok(await client.get(path_of(operation["name"]))) == operation
    assert memory == {**ok(await client.get(path_of(memory["name"]))), "@type": memory["@type"]}
    (revision,) = await history(client, path_of(memory["name"]))
    assert revision["expireTime"] == "2026-01-15T14:00:00Z"


async def test_a_bare_memory_has_no_field_that_was_not_given(client: httpx.AsyncClient) -> None:
    memory = await create_memory(client, "I like tea.")
    assert sorted(memory) == [
        *("createTime", "etag", "fact", "memoryType", "name", "scope", "updateTime")
    ]


async def test_a_structured_memory_needs_no_fact(client: httpx.AsyncClient) -> None:
    content = {"data": {"first_name": "Ana", "firstName": None}, "schema_id": "person"}
    body = {"scope": USER, "memoryType": "STRUCTURED_PROFILE", "structured_content": content}
    memory = ok(await client.post("/memories", json={**body, "context": "said so"}))["response"]
    assert memory["memoryType"] == "STRUCTURED_PROFILE"
    assert memory["structuredContent"] == {"data": content["data"], "schemaId": "person"}
    assert memory["context"] == "said so"
    assert "fact" not in memory


async def test_keys_of_free_maps_are_left_alone(client: httpx.AsyncClient) -> None:
    scope = {"user_id": "1", "userId": "2", "User": "3"}
    metadata = {"some_key": {"stringValue": "a"}, "someKey": {"stringValue": "b"}}
    memory = await create_memory(client, "I like tea.", scope, metadata=metadata)
    assert (memory["scope"], memory["metadata"]) == (scope, metadata)


async def test_duplicates_are_allowed_and_seen_at_once(client: httpx.AsyncClient) -> None:
    await create_memory(client, "I like tea.")
    await create_memory(client, "I like tea.")
    assert await listed(client) == ["I like tea.", "I like tea."]
    assert await retrieved(client) == ["I like tea.", "I like tea."]


async def test_expire_time_is_kept_as_it_is_given(client: httpx.AsyncClient) -> None:
    memory = await create_memory(client, "x", expire_time="2030-01-02T03:04:05.123456+02:00")
    assert memory["expireTime"] == "2030-01-02T01:04:05.123456Z"


async def test_fields_that_only_answers_have_are_ignored(client: httpx.AsyncClient) -> None:
    memory = await create_memory(
        client, "x", name="a/b", createTime="2020-01-01T00:00:00Z", updateTime="y", etag="9"
    )
    assert memory["createTime"] == "2026-01-15T12:00:00Z"
    assert memory["etag"] == "1"


_WRONG: list[tuple[dict[str, Any], str]] = [
    ({"ttl": "60s", "expireTime": "2030-01-01T00:00:00Z"}, "body"),
    ({"ttl": "0s"}, "ttl"),
    ({"ttl": "-5s"}, "ttl"),
    ({"ttl": 60}, "ttl"),
    ({"ttl": "999999999999s"}, "ttl"),
    ({"ttl": "315576000000s"}, "ttl"),
    ({"expireTime": "2026-01-15T12:00:00Z"}, "expireTime"),
    ({"expireTime": "2030-01-01"}, "expireTime"),
    ({"revisionTtl": "0s"}, "revisionTtl"),
    ({"revisionExpireTime": "2026-01-01T00:00:00Z"}, "revisionExpireTime"),
    ({"revisionTtl": "60s", "disableMemoryRevisions": True}, "body"),
    ({"revisionTtl": "60s", "revisionExpireTime": "2030-01-01T00:00:00Z"}, "body"),
    ({"memoryType": "OTHER"}, "memoryType"),
    ({"topics": [{}]}, "topics[0]"),
    (
        {"topics": [{"customMemoryTopicLabel": "a", "managedMemoryTopic": "USER_PREFERENCES"}]},
        "topics[0]",
    ),
    ({"topics": [{"managedMemoryTopic": "OTHER"}]}, "topics[0].managedMemoryTopic"),
    ({"metadata": {"k": {}}}, "metadata.k"),
    ({"metadata": {"k": {"stringValue": "a", "boolValue": True}}}, "metadata.k"),
    ({"metadata": {"k": "plain"}}, "metadata.k"),
    ({"structuredContent": {"data": {}}}, "structuredContent.schemaId"),
    ({"factt": "x"}, "factt"),
]


async def test_a_wrong_field_is_refused_by_its_name(client: httpx.AsyncClient) -> None:
    for fields, named in _WRONG:
        answer = await client.post("/memories", json={"fact": "x", "scope": USER, **fields})
        assert (fields, field_of(answer)) == (fields, named)


_SCOPES: list[Any] = [
    {},
    {str(n): "x" for n in range(6)},
    {"user_id": "*"},
    {"user_id": "a*b"},
    {"": "x"},
    {"user_id": 1},
    None,
]


async def test_scope_has_one_to_five_pairs_without_star(client: httpx.AsyncClient) -> None:
    for scope in _SCOPES:
        answer = await client.post("/memories", json={"fact": "x", "scope": scope})
        assert field_of(answer).startswith("scope"), scope
    assert field_of(await client.post("/memories", json={"fact": "x"})) == "scope"


_TOO_MUCH: list[tuple[dict[str, Any], str]] = [
    ({"fact": "x" * 10_001}, "fact"),
    ({"metadata": {str(n): {"boolValue": True} for n in range(51)}}, "metadata"),
    ({"metadata": {"k" * 129: {"boolValue": True}}}, "metadata"),
    ({"metadata": {"k": {"stringValue": "v" * 4097}}}, "metadata.k.stringValue"),
    ({"revisionLabels": {str(n): "v" for n in range(65)}}, "revisionLabels"),
    ({"revisionLabels": {"k" * 65: "v"}}, "revisionLabels"),
    ({"revisionLabels": {"k": "v" * 513}}, "revisionLabels"),
    ({"fact": ""}, "fact"),
    ({"fact": None}, "body"),
]


async def test_limits_hold(client: httpx.AsyncClient) -> None:
    for fields, named in _TOO_MUCH:
        answer = await client.post("/memories", json={"fact": "x", "scope": USER, **fields})
        assert field_of(answer) == named


async def test_what_reaches_the_limits_is_accepted(client: httpx.AsyncClient) -> None:
    metadata = {f"{n:0128}": {"stringValue": "v" * 4096} for n in range(50)}
    # Random, since an index may shorten what repeats itself; each has four bytes.
    letters = [chr(0x1F300 + n) for n in range(512)]
    shuffle = Random(1).sample
    labels = {"".join(shuffle(letters, 64)): "".join(shuffle(letters, 512)) for _ in range(64)}
    scope = {str(n): "x" for n in range(5)}
    memory = await create_memory(
        client, "é" * 10_000, scope, metadata=metadata, revisionLabels=labels
    )
    assert (memory["fact"], memory["metadata"]) == ("é" * 10_000, metadata)
    (revision,) = await history(client, path_of(memory["name"]))
    assert revision["labels"] == labels


async def test_a_chosen_id_becomes_the_end_of_the_name(client: httpx.AsyncClient) -> None:
    for query in ({"memoryId": "seat-1"}, {"memory_id": "b" * 63}):
        body = {"fact": "x", "scope": USER}
        memory = ok(await client.post("/memories", params=query, json=body))["response"]
        assert memory["name"] == f"{ENGINE}/memories/{next(iter(query.values()))}"


async def test_a_malformed_id_is_refused(client: httpx.AsyncClient) -> None:
    for chosen in ("", "1a", "-a", "a-", "A", "a_b", "a" * 64, "ä", "a/b"):
        body = {"fact": "x", "scope": USER}
        answer = await client.post("/memories", params={"memoryId": chosen}, json=body)
        assert field_of(answer) == "memoryId", chosen


async def _create_chosen(client: httpx.AsyncClient, **fields: object) -> httpx.Response:
    body = {"fact": "x", "scope": USER, **fields}
    return await client.post("/memories", params={"memoryId": "mine"}, json=body)


async def test_a_taken_id_is_409_while_the_memory_lives_or_can_be_recovered(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    ok(await _create_chosen(client))
    assert refusal(await _create_chosen(client)) == TAKEN
    assert await listed(client) == ["x"]
    ok(await client.delete("/memories/mine"))
    assert refusal(await _create_chosen(client)) == TAKEN
    # Past the window the tombstone is gone for every reader, swept or not.
    clock.advance(timedelta(hours=48))
    assert ok(await _create_chosen(client, fact="y"))["response"]["fact"] == "y"
    assert [one["fact"] for one in await history(client, "/memories/mine")] == ["y"]


async def test_an_expired_memory_does_not_hold_its_id(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    ok(await _create_chosen(client, ttl="60s"))
    clock.advance(timedelta(seconds=60))
    ok(await _create_chosen(client, fact="y"))
    assert await listed(client) == ["y"]
    assert len(await history(client, "/memories/mine")) == 1


async def test_an_erased_memory_does_not_hold_its_id(client: httpx.AsyncClient) -> None:
    ok(await _create_chosen(client))
    ok(await client.delete("/memories/mine", params={"permanent": True}))
    ok(await _create_chosen(client))


async def test_the_engine_must_exist(client: httpx.AsyncClient) -> None:
    for engine in ("reasoningEngines/2", "projects/other/locations/local/reasoningEngines/1"):
        url = f"http://test/v1beta1/{engine}/memories"
        assert refusal(await client.post(url, json={"fact": "x", "scope": USER})) == GONE


async def test_ttl_is_counted_from_now(client: httpx.AsyncClient, clock: FixedClock) -> None:
    memory = await create_memory(client, "x", ttl="1.5s")
    assert memory["expireTime"] == after(clock, seconds=1.5)


async def test_a_refused_creation_leaves_nothing(client: httpx.AsyncClient) -> None:
    answer = await client.post("/memories", json={"fact": "x", "scope": USER, "ttl": "x"})
    assert refusal(answer) == BAD
    assert await listed(client) == []


async def test_of_two_creations_of_one_id_one_wins(client: httpx.AsyncClient) -> None:
    answers = await asyncio.gather(*(_create_chosen(client, fact=str(n)) for n in range(4)))
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409]
    assert len(await history(client, "/memories/mine")) == 1


async def test_the_text_of_a_memory_is_in_no_error(client: httpx.AsyncClient) -> None:
    secret = "s3cret " * 2000
    for body in (
        {"fact": secret, "scope": USER},
        {"fact": "x", "scope": USER, "metadata": {"k": {"stringValue": secret}}},
        {"fact": "x", "scope": {"user_id": "s3cret*"}},
        {"fact": "x", "scope": USER, "displayName": secret},
        {"fact": ["s3cret"], "scope": USER},
    ):
        answer = await client.post("/memories", json=body)
        assert refusal(answer) == BAD
        assert "s3cret" not in answer.text
