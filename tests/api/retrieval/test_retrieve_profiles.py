"""Profiles: wire specification, sections 2.3, 5, 6, 11 and 12.2."""

from datetime import timedelta
from typing import Any

import httpx

from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from tests.support.bank import BAD, ENGINE_URL, GONE, Json, after, configure, field_of, ok, refusal
from tests.support.cases import in_one_test
from tests.support.operations import USER, create_memory, generate, path_of

_SCHEMA: Json = {
    "type": "OBJECT",
    "properties": {
        "first_name": {"type": "STRING"},
        "age": {"type": "INTEGER"},
        "allergies": {"type": "ARRAY", "items": {"type": "STRING"}},
        "address": {"type": "STRING"},
    },
}
_PROFILES: Json = {
    "structuredMemoryConfigs": [
        {"scopeKeys": ["user_id"], "schemaConfigs": [{"id": "person", "schema": _SCHEMA}]}
    ]
}
_ONLY_PROFILES: Json = {
    **_PROFILES,
    "customizationConfigs": [{"disableNaturalLanguageMemories": True}],
}


async def profiles(client: httpx.AsyncClient, scope: Json | None = None) -> Json:
    """Return the profiles of a scope as the answer has them."""
    answer = ok(await client.post("/memories:retrieveProfiles", json={"scope": scope or USER}))
    assert answer.keys() <= {"profiles"}
    found: Json = answer.get("profiles", {})
    for schema_id, one in found.items():
        assert one.keys() == {"schemaId", "profile"}
        assert one["schemaId"] == schema_id
    return {schema_id: one["profile"] for schema_id, one in found.items()}


async def by_hand(
    client: httpx.AsyncClient, data: Json, schema_id: str = "person", **fields: Any
) -> str:
    """Create a structured memory; return its path."""
    content = {"schemaId": schema_id, "data": data}
    body = {"memoryType": "STRUCTURED_PROFILE", "structuredContent": content, "scope": USER}
    answer = ok(await client.post("/memories", json={**body, **fields}))
    return path_of(answer["response"]["name"])


async def test_without_profiles_the_answer_is_empty(client: httpx.AsyncClient) -> None:
    await create_memory(client, "I like tea.")
    answer = await client.post("/memories:retrieveProfiles", json={"scope": USER})
    assert ok(answer) == {}


async def test_fields_are_put_together_by_their_schema(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    await by_hand(client, {"first_name": "Ann", "aB_c": {"d_e": None}})
    clock.advance(timedelta(minutes=1))
    await by_hand(client, {"age": 3})
    await by_hand(client, {"first_name": "Rex"}, "pet")
    await by_hand(client, {"first_name": "Bob"}, scope={"user_id": "7"})
    await by_hand(client, {"first_name": "Bob"}, scope={**USER, "app": "x"})
    assert await profiles(client) == {
        "person": {"first_name": "Ann", "aB_c": {"d_e": None}, "age": 3},
        "pet": {"first_name": "Rex"},
    }
    assert await profiles(client, {"user_id": "none"}) == {}


async def test_of_two_values_the_one_updated_last_counts(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    first = await by_hand(client, {"first_name": "Ann", "age": 3})
    clock.advance(timedelta(minutes=1))
    await by_hand(client, {"first_name": "Bea"})
    assert await profiles(client) == {"person": {"first_name": "Bea", "age": 3}}
    clock.advance(timedelta(minutes=1))
    content = {"schemaId": "person", "data": {"first_name": "Cat", "age": None}}
    ok(await client.patch(first, json={"structuredContent": content}))
    assert await profiles(client) == {"person": {"first_name": "Cat"}}


async def test_only_live_structured_memories_count(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    await by_hand(client, {"a": 1}, memoryType="NATURAL_LANGUAGE_COLLECTION")
    await by_hand(client, {"b": 1}, ttl="60s")
    gone = await by_hand(client, {"c": 1})
    await create_memory(client, "x", memoryType="STRUCTURED_PROFILE")
    ok(await client.delete(gone))
    assert await profiles(client) == {"person": {"b": 1}}
    clock.advance(timedelta(minutes=2))
    assert await profiles(client) == {}


async def test_both_spellings_and_versions_are_served(client: httpx.AsyncClient) -> None:
    await by_hand(client, {"first_name": "Ann"})
    for prefix in (ENGINE_URL, ENGINE_URL.replace("v1beta1", "v1")):
        for url in (prefix, prefix.replace("reasoningEngines", "memoryBanks")):
            answer = await client.post(f"{url}/memories:retrieveProfiles", json={"scope": USER})
            assert ok(answer)["profiles"]["person"]["profile"] == {"first_name": "Ann"}


@in_one_test(
    ("body", "field"),
    [
        ({}, "scope"),
        ({"scope": {}}, "scope"),
        ({"scope": {"a": "*"}}, "scope"),
        ({"scope": USER, "schemaId": "a"}, "schemaId"),
    ],
)
async def test_a_bad_request_is_refused(client: httpx.AsyncClient, body: Json, field: str) -> None:
    answer = await client.post("/memories:retrieveProfiles", json=body)
    assert (refusal(answer), field_of(answer)) == (BAD, field)


async def test_an_unknown_engine_is_not_found(client: httpx.AsyncClient) -> None:
    url = f"{ENGINE_URL}99/memories:retrieveProfiles"
    assert refusal(await client.post(url, json={"scope": USER})) == GONE


async def test_generation_fills_fields_each_in_a_memory_of_its_own(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await configure(client, **_ONLY_PROFILES)
    made = await generate(client, runner, "My name is Ann and I am 34 years old.")
    assert [one["action"] for one in made] == ["CREATED", "CREATED"]
    assert await profiles(client) == {"person": {"first_name": "Ann", "age": 34}}
    page = ok(await client.get("/memories"))["memories"]
    assert [one["structuredContent"] for one in page] == [
        {"schemaId": "person", "data": {"age": 34}},
        {"schemaId": "person", "data": {"first_name": "Ann"}},
    ]
    assert all(one["memoryType"] == "STRUCTURED_PROFILE" and "fact" not in one for one in page)


async def test_a_new_value_is_a_revision_of_the_same_memory(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await configure(client, **_ONLY_PROFILES)
    (made,) = await generate(client, runner, "I am 34 years old.")
    assert await generate(client, runner, "As I said, I am 34 years old.") == []
    (changed,) = await generate(client, runner, "I am 35 years old.")
    assert (changed["memory"], changed["action"]) == (made["memory"], "UPDATED")
    path = path_of(made["memory"]["name"])
    newest, oldest = ok(await client.get(f"{path}/revisions"))["memoryRevisions"]
    assert changed["previousRevision"] == oldest["name"]
    assert (newest["structuredData"], oldest["structuredData"]) == ({"age": 35}, {"age": 34})
    assert newest["extractedMemories"] == [
        {"context": "I am 35 years old.", "structuredData": {"age": 35}}
    ]
    assert newest["author"] == "builtin-rules/3"
    target = {"targetRevisionId": oldest["name"].rpartition("/")[2]}
    ok(await client.post(f"{path}:rollback", json=target))
    assert await profiles(client) == {"person": {"age": 34}}


async def test_a_field_is_deleted_when_its_user_asks(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await configure(client, **_ONLY_PROFILES)
    (made,) = await generate(client, runner, "My address is 12 Main Street.")
    assert await generate(client, runner, "Forget everything and delete all memories.") == []
    (gone,) = await generate(client, runner, "Please forget my address.")
    assert (gone["memory"], gone["action"]) == (made["memory"], "DELETED")
    assert await profiles(client) == {}
    path = path_of(made["memory"]["name"])
    newest, oldest = ok(await client.get(f"{path}/revisions"))["memoryRevisions"]
    assert "structuredData" not in newest
    ok(await client.post(f"{path}:rollback", json={"targetRevisionId": oldest["name"]}))
    assert await profiles(client) == {"person": {"address": "12 Main Street"}}


async def test_a_question_deletes_where_it_asks(client: httpx.AsyncClient, runner: Runner) -> None:
    await configure(client, **_PROFILES)
    made = await generate(client, runner, "I'm allergic to nuts.")
    assert len(made) == 2
    for said in ("Forget my allergies? No way.", "Forget that I'm allergic to nuts? No way!"):
        assert await generate(client, runner, said) == []
    assert await profiles(client) == {"person": {"allergies": ["nuts"]}}
    gone = await generate(client, runner, "Can you forget that I'm allergic to nuts?")
    assert [one["action"] for one in gone] == ["DELETED", "DELETED"]
    assert await profiles(client) == {}


async def test_what_others_say_is_nobodys_memory(client: httpx.AsyncClient, runner: Runner) -> None:
    await configure(client, **_PROFILES)
    assert await generate(client, runner, "Tom said I am 34 years old.") == []
    assert await profiles(client) == {}


async def test_fields_live_as_long_as_generated_memories(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock
) -> None:
    lives = {"generateCreatedTtl": "3600s", "generateUpdatedTtl": "7200s"}
    await configure(client, **_ONLY_PROFILES, ttlConfig={"granularTtlConfig": lives})
    (made,) = await generate(client, runner, "I am 34 years old.")
    path = path_of(made["memory"]["name"])
    assert ok(await client.get(path))["expireTime"] == after(clock, hours=1)
    await generate(client, runner, "I am 35 years old.")
    assert ok(await client.get(path))["expireTime"] == after(clock, hours=2)


async def test_facts_are_kept_beside_profiles_unless_disabled(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await configure(client, **_PROFILES)
    await generate(client, runner, "I'm allergic to peanuts and milk.")
    await generate(client, runner, "I'm allergic to eggs, too.")
    facts = [one["fact"] for one in ok(await client.get("/memories"))["memories"] if "fact" in one]
    assert len(facts) == 2
    assert await profiles(client) == {"person": {"allergies": ["peanuts", "milk", "eggs"]}}


async def test_a_scope_without_the_keys_has_no_profile(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await configure(client, **_ONLY_PROFILES)
    assert await generate(client, runner, "I am 34 years old.", scope={"team": "a"}) == []


@in_one_test(
    ("schema", "says"),
    [
        ({"type": "STRING"}, "must be OBJECT"),
        ({"type": "ARRAY"}, "must not be ARRAY"),
        ({"type": "thing"}, "a type that JSON Schema does not know"),
        ({"properties": {"a": {"pattern": "("}}}, "RE2 syntax"),
        ({"properties": {"a": {"$ref": "http://127.0.0.1:1/x"}}}, "a part of the same schema"),
        ({"$defs": {"A": {"$ref": "#/$defs/A"}}, "$ref": "#/$defs/A"}, "refer to itself"),
        ({"anyOf": [{}], "properties": {"a": {"$ref": "#/anyOf/00000000099"}}}, "that is there"),
    ],
)
@in_one_test("key", ["schema", "jsonSchema"])
async def test_a_bad_schema_is_refused_when_it_is_configured(
    client: httpx.AsyncClient, key: str, schema: Json, says: str
) -> None:
    config = {"structuredMemoryConfigs": [{"schemaConfigs": [{"id": "a", key: schema}]}]}
    answer = await client.patch(
        ENGINE_URL,
        params={"updateMask": "context_spec"},
        json={"contextSpec": {"memoryBankConfig": config}},
    )
    where = "contextSpec.memoryBankConfig.structuredMemoryConfigs[0].schemaConfigs[0]"
    assert field_of(answer) == where
    assert says in answer.json()["error"]["message"]
