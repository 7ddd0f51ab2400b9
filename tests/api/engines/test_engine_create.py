"""Creating and reading engines. Source: wire specification, sections 2.5, 4.2 and 12.1."""

import re
from typing import Any

import httpx
import pytest

from app.kernel.errors import Reason
from app.kernel.wire.base import camel_name
from tests.support.cases import in_one_test
from tests.support.engines import (
    API,
    COLLECTION,
    FIRST,
    LOCATION,
    NOW,
    create_engine,
    get_engine,
)
from tests.support.errors import BAD_FIELD, NOT_FOUND, refusal, violations
from tests.support.operations import asked

_ENGINE_NAME = re.compile(rf"{LOCATION}/reasoningEngines/[1-9][0-9]{{17}}")


async def test_an_engine_is_created_by_no_body_at_all(client: httpx.AsyncClient) -> None:
    answer = await client.post(COLLECTION)
    operation = answer.json()
    name = operation["response"]["name"]
    assert _ENGINE_NAME.fullmatch(name)
    assert operation == {
        "name": operation["name"],
        "metadata": {
            "@type": "type.googleapis.com/google.cloud.aiplatform.v1beta1"
            ".CreateReasoningEngineOperationMetadata",
            "genericMetadata": {"createTime": NOW, "updateTime": NOW},
            **asked("engines.create", operation),
        },
        "done": True,
        "response": {
            "@type": "type.googleapis.com/google.cloud.aiplatform.v1beta1.ReasoningEngine",
            "name": name,
            "createTime": NOW,
            "updateTime": NOW,
            "etag": "1",
        },
    }


async def test_the_operation_of_a_creation_lies_under_the_engine(
    client: httpx.AsyncClient,
) -> None:
    operation = (await client.post(COLLECTION, json={})).json()
    assert operation["name"].startswith(operation["response"]["name"] + "/operations/")
    assert (await client.get(f"{API}/{operation['name']}")).json() == operation


async def test_every_field_of_an_engine_comes_back(client: httpx.AsyncClient) -> None:
    fields: dict[str, Any] = {
        "displayName": "Reise 🧳",
        "description": "Plans travel.",
        "labels": {"team": "a", "empty": ""},
        "contextSpec": {"memoryBankConfig": {"disableMemoryRevisions": True}},
    }
    engine = await create_engine(client, **fields)
    expected = {"name": engine["name"], **fields, "createTime": NOW, "updateTime": NOW, "etag": "1"}
    assert engine == expected
    assert await get_engine(client, engine["name"]) == expected


async def test_fields_that_only_answers_have_are_ignored(client: httpx.AsyncClient) -> None:
    engine = await create_engine(
        client, name="x", createTime="never", update_time=5, etag="9", displayName="d"
    )
    assert engine == {
        "name": engine["name"],
        "displayName": "d",
        "createTime": NOW,
        "updateTime": NOW,
        "etag": "1",
    }


@in_one_test(
    ("fields", "path"),
    [
        ({"displayName": "a" * 129}, "displayName"),
        ({"display_name": 5}, "displayName"),
        ({"description": "a" * 4097}, "description"),
        ({"labels": {f"k{number}": "v" for number in range(65)}}, "labels"),
        ({"labels": {"": "v"}}, "labels"),
        ({"labels": {"k": "v" * 65}}, "labels"),
        ({"labels": {"k": 1}}, "labels.k"),
        ({"encryptionSpec": {"kmsKeyName": "projects/p/keys/k"}}, "encryptionSpec"),
        ({"encryption_spec": {}}, "encryptionSpec"),
        ({"spec": {"packageSpec": {}}}, "spec"),
        ({"contextSpec": {"memory_bank": {}}}, "contextSpec.memory_bank"),
    ],
)
async def test_a_wrong_field_of_an_engine_is_named(
    client: httpx.AsyncClient, fields: dict[str, object], path: str
) -> None:
    answer = await client.post(COLLECTION, json=fields)
    assert refusal(answer) == BAD_FIELD
    assert list(violations(answer)) == [path]


async def test_an_engine_lives_in_the_location_that_its_path_names(
    client: httpx.AsyncClient,
) -> None:
    engine = await create_engine(client, "projects/123/locations/us-central1")
    assert engine["name"].startswith("projects/123/locations/us-central1/reasoningEngines/")
    assert (await get_engine(client, engine["name"])) == engine
    identity = engine["name"].rpartition("/")[2]
    for elsewhere in ("projects/124/locations/us-central1", "projects/123/locations/eu", LOCATION):
        answer = await client.get(f"{API}/{elsewhere}/reasoningEngines/{identity}")
        assert refusal(answer) == NOT_FOUND


async def test_a_path_without_a_location_means_the_default_one(client: httpx.AsyncClient) -> None:
    for prefix in ("", "projects/-/locations/-/"):
        answer = await client.post(f"{API}/{prefix}reasoningEngines")
        assert _ENGINE_NAME.fullmatch(answer.json()["response"]["name"])


@pytest.mark.parametrize("location", ["projects/p/locations/-", "projects/-/locations/l"])
async def test_no_engine_is_created_in_any_location(
    client: httpx.AsyncClient, location: str
) -> None:
    answer = await client.post(f"{API}/{location}/reasoningEngines", json={})
    assert refusal(answer) == BAD_FIELD
    assert list(violations(answer)) == ["parent"]


@pytest.mark.parametrize("project", ["p" * 257, "a%0Ab", "%7F"])
async def test_a_project_that_cannot_be_stored_is_refused(
    client: httpx.AsyncClient, project: str
) -> None:
    answer = await client.post(f"{API}/projects/{project}/locations/l/reasoningEngines", json={})
    assert refusal(answer) == BAD_FIELD
    assert list(violations(answer)) == ["parent"]


@in_one_test("identity", ["2", "0", "01", "+1", "x", "9223372036854775808", "9" * 500])
async def test_an_engine_that_cannot_be_is_not_found(
    client: httpx.AsyncClient, identity: str
) -> None:
    assert refusal(await client.get(f"{COLLECTION}/{identity}")) == NOT_FOUND


async def test_an_engine_is_found_by_its_id_alone(client: httpx.AsyncClient) -> None:
    engine = await create_engine(client, "projects/p/locations/l", displayName="d")
    identity = engine["name"].rpartition("/")[2]
    for path in (f"reasoningEngines/{identity}", f"memoryBanks/{identity}"):
        assert (await client.get(f"http://test/v1/{path}")).json() == engine


async def test_the_same_creation_twice_makes_one_engine(client: httpx.AsyncClient) -> None:
    first = await client.post(COLLECTION, params={"requestId": "r"}, json={"displayName": "a"})
    again = await client.post(
        COLLECTION, headers={"Idempotency-Key": "r"}, json={"displayName": "a"}
    )
    assert again.json() == first.json()
    other = await client.post(COLLECTION, params={"requestId": "r"}, json={"displayName": "b"})
    assert refusal(other) == (409, "ALREADY_EXISTS", Reason.REQUEST_ID_REUSED)


async def test_the_first_engine_is_there_from_the_start(client: httpx.AsyncClient) -> None:
    assert (await client.get(FIRST)).json() == {
        "name": f"{LOCATION}/reasoningEngines/1",
        "createTime": NOW,
        "updateTime": NOW,
        "etag": "1",
    }


@pytest.mark.parametrize("name", ["spec", "trafficConfig", "traffic_config"])
async def test_what_belongs_to_agents_is_known_and_not_served(
    client: httpx.AsyncClient, name: str
) -> None:
    for value in ({}, {"agentFramework": "google-adk"}, "x"):
        for method, url in (("POST", COLLECTION), ("PATCH", FIRST)):
            answer = await client.request(method, url, json={"displayName": "a", name: value})
            assert refusal(answer) == BAD_FIELD
            found = violations(answer)
            assert [camel_name(one) for one in found] == [camel_name(name)]
            assert "that this service does not serve" in found[next(iter(found))]
    # A client that has none may say so.
    none: dict[str, Any] = {name: None}
    made = await create_engine(client, **none)
    assert made.keys() == (await create_engine(client)).keys()
