"""Names of fields and of query parameters: both spellings, and nothing unknown."""

from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from app.kernel.errors import Reason
from tests.support.asgi import Sent, call
from tests.support.cases import in_one_test
from tests.support.engines import FIRST
from tests.support.errors import BAD_FIELD, refusal, violations
from tests.support.operations import USER, create_memory

_MEMORY: dict[str, Any] = {"fact": "I like tea.", "scope": USER}
_SEARCH = "similaritySearchParams"


@in_one_test(
    ("path", "body", "field"),
    [
        ("/memories", {**_MEMORY, "facts": "x"}, "facts"),
        ("/memories", {**_MEMORY, "display_nam": "x"}, "display_nam"),
        ("/memories", {**_MEMORY, "Fact": "x"}, "Fact"),
        ("/memories", {**_MEMORY, "": 1}, "body"),
        ("/memories", {**_MEMORY, "metadata": {"k": {"stringvalue": "v"}}}, "metadata.k"),
        ("/memories", {**_MEMORY, "topics": [{"topic": "t"}]}, "topics[0]"),
        ("/memories:retrieve", {"scope": USER, _SEARCH: {"query": "q"}}, f"{_SEARCH}.query"),
        (
            "/memories:retrieve",
            {"scope": USER, "similarity_search_params": {"search_query": "q", "k": 1}},
            f"{_SEARCH}.k",
        ),
        (
            "/memories:purge",
            {"filter_groups": [{"filters": [{"key": "k", "value": {}, "neg": 1}]}]},
            "filterGroups[0].filters[0].neg",
        ),
        (
            "/memories:generate",
            {"scope": USER, "direct_contents_source": {"events": [{"contents": {}}]}},
            "directContentsSource.events[0].contents",
        ),
        ("/memories/m:rollback", {"targetRevisionId": "1", "revision": "1"}, "revision"),
    ],
)
async def test_an_unknown_field_is_named_where_it_stands(
    client: httpx.AsyncClient, path: str, body: dict[str, Any], field: str
) -> None:
    answer = await client.post(path, json=body)
    assert refusal(answer) == BAD_FIELD
    found = [name for name in violations(answer) if name.startswith(field)]
    assert found, violations(answer)


@in_one_test(
    ("body", "field"),
    [
        ({"fact": "x", "scope": 5}, "scope"),
        ({"fact": "x", "scope": {"user_id": 5}}, "scope.user_id"),
        ({**_MEMORY, "display_name": 5}, "displayName"),
        ({**_MEMORY, "displayName": 5}, "displayName"),
        ({**_MEMORY, "structured_content": {"schema_id": 5, "data": {}}}, "structuredContent"),
        ({**_MEMORY, "metadata": {"a_b": {"double_value": "x"}}}, "metadata.a_b.doubleValue"),
        ({**_MEMORY, "topics": [{"managed_memory_topic": "X"}]}, "topics[0].managedMemoryTopic"),
        ({**_MEMORY, "revision_labels": {"a_b": 1}}, "revisionLabels.a_b"),
    ],
)
async def test_a_wrong_field_is_named_in_the_spelling_of_the_wire(
    client: httpx.AsyncClient, body: dict[str, Any], field: str
) -> None:
    answer = await client.post("/memories", json=body)
    assert refusal(answer) == BAD_FIELD
    (found,) = violations(answer)
    assert found.startswith(field)


@in_one_test(
    "body",
    [
        {**_MEMORY, "displayName": "a", "display_name": "b"},
        {**_MEMORY, "displayName": "a", "display_name": "a"},
        {**_MEMORY, "metadata": {"k": {"stringValue": "a", "string_value": "a"}}},
    ],
)
async def test_a_field_in_both_spellings_is_refused(
    client: httpx.AsyncClient, body: dict[str, Any]
) -> None:
    assert refusal(await client.post("/memories", json=body)) == BAD_FIELD


async def test_the_keys_of_free_maps_keep_their_spelling(client: httpx.AsyncClient) -> None:
    memory = await create_memory(
        client,
        "x",
        scope={"userId": "1", "user_id": "2"},
        metadata={"aB": {"boolValue": True}, "a_b": {"bool_value": False}},
        structuredContent={"data": {"aB": {"c_d": 1, "cD": 2}}, "schemaId": "s"},
    )
    assert memory["scope"] == {"userId": "1", "user_id": "2"}
    assert memory["metadata"] == {"aB": {"boolValue": True}, "a_b": {"boolValue": False}}
    assert memory["structuredContent"]["data"] == {"aB": {"c_d": 1, "cD": 2}}


async def test_an_answer_does_not_grow_with_what_is_wrong(client: httpx.AsyncClient) -> None:
    many = {f"unknown{number}": 1 for number in range(5_000)}
    for body in ({**_MEMORY, **many}, {**_MEMORY, "x" * 1_000_000: 1}):
        answer = await client.post("/memories", json=body)
        assert refusal(answer) == BAD_FIELD
        assert 1 <= len(violations(answer)) <= 20
        assert len(answer.content) < 5_000
    answer = await client.get(FIRST, params=dict.fromkeys(list(many)[:500], "1"))
    assert refusal(answer) == BAD_FIELD
    assert 1 <= len(violations(answer)) <= 20


@in_one_test(
    ("method", "path", "query", "name"),
    [
        ("GET", "/memories", "filters=x", "filters"),
        ("GET", "/memories", "page_sizes=1", "pageSizes"),
        ("GET", "/memories", "PageSize=1", "PageSize"),
        ("GET", "/memories/m", "readMask=fact", "readMask"),
        ("POST", "/memories:retrieve", "filter=x", "filter"),
        ("GET", "/memories", "x=1&y=2", "x"),
        ("GET", "/memories", "%C3%A9=1", "\\xe9"),
        ("GET", "/memories", "=1", ""),
        ("GET", "/operations", "filters=x", "filters"),
    ],
)
async def test_an_unknown_parameter_is_named(
    client: httpx.AsyncClient, method: str, path: str, query: str, name: str
) -> None:
    answer = await client.request(method, f"{FIRST}{path}?{query}", json={"scope": USER})
    assert refusal(answer) == BAD_FIELD
    assert next(iter(violations(answer))) == name
    assert "which accepts: " in answer.json()["error"]["message"]


async def test_parameters_may_be_spelt_in_snake_case(client: httpx.AsyncClient) -> None:
    for number in range(3):
        params = {"memory_id": f"m{number}", "request_id": f"r{number}"}
        assert (await client.post("/memories", params=params, json=_MEMORY)).status_code == 200
    page = (
        await client.get("/memories", params={"page_size": 2, "order_by": "create_time"})
    ).json()
    assert len(page["memories"]) == 2
    params = {"page_size": "2", "order_by": "create_time", "page_token": page["nextPageToken"]}
    rest = (await client.get("/memories", params=params)).json()
    listed = [memory["name"].rpartition("/")[2] for memory in page["memories"] + rest["memories"]]
    assert listed == ["m0", "m1", "m2"]
    masked = await client.patch(
        "/memories/m0", params={"update_mask": "fact"}, json={"fact": "new", "displayName": "no"}
    )
    assert "displayName" not in masked.json()["response"]


async def test_parameters_of_generated_clients_are_without_effect(
    client: httpx.AsyncClient,
) -> None:
    query = "alt=json&$alt=json&prettyPrint=false&$prettyPrint=0&quotaUser=u&$.xgafv=2&key=k"
    assert (await client.get(f"{FIRST}?{query}")).status_code == 200


async def test_a_space_may_be_a_plus(client: httpx.AsyncClient) -> None:
    await create_memory(client, "I like tea.")
    answer = await client.get(
        f"{FIRST}/memories?filter=fact%3D%22I+like+tea.%22&order_by=create_time+desc"
    )
    assert len(answer.json()["memories"]) == 1


@in_one_test(
    ("query", "reason"),
    [
        ("pageSize=1&pageSize=2", Reason.FIELD_INVALID),
        ("filter=%00", Reason.FIELD_INVALID),
        ("filter=fact%3D%22%5Cu0000%22", Reason.FILTER_INVALID),
        ("filter=%ED%A0%80", Reason.FILTER_INVALID),
        ("filter=%FF", Reason.FILTER_INVALID),
        ("filter=" + "a" * 20_000, Reason.FILTER_INVALID),
        ("filter=fact=~%22(%22", Reason.FILTER_INVALID),
        ("filter=fact=~%22(a*)*%7B200%7D%22", Reason.FILTER_INVALID),
        ("pageSize=%D9%A3%00", Reason.FIELD_INVALID),
        ("pageSize=1e3", Reason.FIELD_INVALID),
        ("orderBy=fact", Reason.FIELD_INVALID),
        ("orderBy=create_time,update_time", Reason.FIELD_INVALID),
        ("orderBy=create_time%20sideways", Reason.FIELD_INVALID),
        ("pageToken=%00", Reason.FIELD_INVALID),
        ("pageToken=W251bGxd", Reason.PAGE_TOKEN_INVALID),
        ("pageToken=" + "A" * 10_000, Reason.PAGE_TOKEN_INVALID),
    ],
)
async def test_a_parameter_that_is_junk_is_refused(
    client: httpx.AsyncClient, query: str, reason: Reason
) -> None:
    answer = await client.get(f"{FIRST}/memories?{query}")
    assert refusal(answer) == (400, "INVALID_ARGUMENT", reason)


@in_one_test("identity", ["r" * 129, "a\nb", "\x7f", "\u200b"])
async def test_a_request_id_that_is_none_is_refused(
    client: httpx.AsyncClient, identity: str
) -> None:
    answer = await client.post("/memories", params={"requestId": identity}, json=_MEMORY)
    assert refusal(answer) == BAD_FIELD
    assert list(violations(answer)) == ["requestId"]


async def test_an_empty_request_id_is_none(client: httpx.AsyncClient) -> None:
    for options in ({"params": {"requestId": ""}}, {"headers": {"Idempotency-Key": ""}}):
        for fact in ("one", "two"):
            body = {**_MEMORY, "fact": fact}
            answer = await client.post("/memories", json=body, **options)  # type: ignore[arg-type]
            assert answer.status_code == 200
    assert len((await client.get("/memories")).json()["memories"]) == 4


async def test_two_request_ids_that_differ_are_refused(client: httpx.AsyncClient) -> None:
    answer = await client.post(
        "/memories", params={"requestId": "a"}, headers={"Idempotency-Key": "b"}, json=_MEMORY
    )
    assert list(violations(answer)) == ["requestId"]


@pytest.mark.parametrize("size", ["pageSize=5", "page_size=5"])
@pytest.mark.parametrize("text", ["café".encode(), b"caf%C3%A9"])
async def test_a_query_is_read_as_utf_8_however_it_is_written(
    client: httpx.AsyncClient, app: FastAPI, size: str, text: bytes
) -> None:
    await create_memory(client, "I like café au lait.")
    query = b'filter=fact:"' + text + b'"&' + size.encode()
    answer = await call(
        app, Sent("GET", FIRST.removeprefix("http://test").encode() + b"/memories", query)
    )
    assert answer.status == 200, answer.body
    assert [one["fact"] for one in answer.json["memories"]] == ["I like café au lait."]


async def test_what_generated_clients_add_is_accepted_beside_either_spelling(
    client: httpx.AsyncClient,
) -> None:
    for size in ("pageSize", "page_size"):
        answer = await client.get("/memories", params={size: "5", "$.xgafv": "2"})
        assert answer.status_code == 200, answer.text
