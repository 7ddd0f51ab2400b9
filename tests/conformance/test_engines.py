"""Engines: create, get, list, update, delete.

Source: wire specification, sections 4 and 12.1.
"""

import re
import secrets
from datetime import UTC

import httpx
import pytest

from tests.support.official import (
    PARENT,
    Bank,
    Client,
    invalid,
    last_part,
    missing,
    refused,
    to_its_end,
)


def _mark() -> str:
    """Return a label by which a test finds its own engines in the shared list."""
    return secrets.token_hex(8)


def test_a_bare_create_has_no_body(vertex: Client) -> None:
    made = vertex.agent_engines.create().api_resource
    assert re.fullmatch(f"{PARENT}/reasoningEngines/[0-9]+", made.name)
    assert int(last_part(made.name)) < 2**63
    assert made.create_time.tzinfo is not None
    assert made.create_time == made.update_time
    assert made.display_name is None


def test_a_created_engine_is_as_it_was_given(vertex: Client) -> None:
    made = vertex.agent_engines.create(
        config={"display_name": "Bank", "description": "ds", "labels": {"team": "travel"}}
    ).api_resource
    assert (made.display_name, made.description) == ("Bank", "ds")
    assert made.labels == {"team": "travel"}
    assert vertex.agent_engines.get(name=made.name).api_resource == made


def test_no_spec_is_invented(vertex: Client, engine: str) -> None:
    assert vertex.agent_engines.get(name=engine).api_resource.spec is None


def test_the_operation_of_a_create_lies_under_the_engine(http: httpx.Client) -> None:
    operation = http.post(f"{PARENT}/reasoningEngines").json()
    name = operation["response"]["name"]
    assert re.fullmatch(f"{name}/operations/[0-9]+", operation["name"])
    assert operation["done"] is True
    prefix = "type.googleapis.com/google.cloud.aiplatform.v1beta1."
    assert operation["response"]["@type"] == f"{prefix}ReasoningEngine"
    assert operation["metadata"]["@type"] == f"{prefix}CreateReasoningEngineOperationMetadata"
    assert http.get(operation["name"]).json() == operation


def test_an_engine_has_an_etag_and_times(http: httpx.Client, engine: str) -> None:
    found = http.get(engine).json()
    assert found["etag"]
    assert found["createTime"].endswith("Z")
    assert found["updateTime"].endswith("Z")


@pytest.mark.parametrize("name", ["reasoningEngines/404", "reasoningEngines/not-a-number"])
def test_an_unknown_engine_is_missing(vertex: Client, name: str) -> None:
    with missing():
        vertex.agent_engines.get(name=name)


def test_a_list_filters_by_display_name(vertex: Client) -> None:
    name = f"Bank {_mark()}"
    made = vertex.agent_engines.create(config={"display_name": name})
    vertex.agent_engines.create(config={"display_name": "Other"})
    found = [*vertex.agent_engines.list(config={"filter": f'display_name="{name}"'})]
    assert [one.api_resource for one in found] == [made.api_resource]


def test_a_list_pages_with_its_filter(vertex: Client) -> None:
    name = f"Bank {_mark()}"
    made = [vertex.agent_engines.create(config={"display_name": name}) for _ in range(3)]
    vertex.agent_engines.create()
    config = {"filter": f'display_name="{name}"', "page_size": 2}
    found = [*vertex.agent_engines.list(config=config)]
    names = [one.api_resource.name for one in found]
    assert names == [one.api_resource.name for one in reversed(made)]


def test_a_list_filters_by_label(vertex: Client) -> None:
    mark = _mark()
    made = vertex.agent_engines.create(config={"labels": {"mark": mark}})
    found = [*vertex.agent_engines.list(config={"filter": f'labels.mark="{mark}"'})]
    assert [one.api_resource.name for one in found] == [made.api_resource.name]


def test_a_page_of_a_list_has_its_size_and_a_token(http: httpx.Client, engine: str) -> None:
    answer = http.get(f"{PARENT}/reasoningEngines", params={"pageSize": 1}).json()
    assert [one["name"] for one in answer["reasoningEngines"]] == [engine]
    http.post(f"{PARENT}/reasoningEngines")
    answer = http.get(f"{PARENT}/reasoningEngines", params={"pageSize": 1}).json()
    assert answer["nextPageToken"]


def test_a_list_is_of_one_location(vertex: Client, http: httpx.Client, engine: str) -> None:
    elsewhere = http.post("projects/my-project/locations/elsewhere/reasoningEngines").json()
    names = [one.api_resource.name for one in vertex.agent_engines.list()]
    assert engine in names
    assert elsewhere["response"]["name"] not in names


def test_a_list_refuses_a_bad_filter(vertex: Client) -> None:
    with invalid("filter"):
        [*vertex.agent_engines.list(config={"filter": "display_name="})]
    with invalid("filter"):
        [*vertex.agent_engines.list(config={"filter": 'nonsense="x"'})]


def test_a_list_refuses_a_foreign_token(vertex: Client) -> None:
    with invalid("pageToken"):
        [*vertex.agent_engines.list(config={"page_token": "nonsense"})]


def test_an_update_changes_what_its_mask_names(vertex: Client) -> None:
    made = vertex.agent_engines.create(
        config={"display_name": "before", "description": "stays", "labels": {"a": "b"}}
    ).api_resource
    updated = vertex.agent_engines.update(
        name=made.name, config={"display_name": "after"}
    ).api_resource
    assert (updated.display_name, updated.description) == ("after", "stays")
    assert updated.labels == {"a": "b"}
    assert updated.create_time == made.create_time
    assert updated.update_time > made.update_time
    assert vertex.agent_engines.get(name=made.name).api_resource == updated


def test_an_update_replaces_description_and_labels(vertex: Client) -> None:
    made = vertex.agent_engines.create(config={"description": "a", "labels": {"a": "b"}})
    updated = vertex.agent_engines.update(
        name=made.api_resource.name, config={"description": "b", "labels": {"c": "d"}}
    ).api_resource
    assert (updated.description, updated.labels) == ("b", {"c": "d"})


def test_an_update_of_an_unknown_engine_is_missing(vertex: Client) -> None:
    with missing():
        vertex.agent_engines.update(
            name=f"{PARENT}/reasoningEngines/404", config={"display_name": "x"}
        )


def test_an_update_without_a_mask_changes_what_is_sent(http: httpx.Client, engine: str) -> None:
    http.patch(engine, json={"displayName": "a", "description": "stays"})
    http.patch(engine, json={"displayName": "b"})
    found = http.get(engine).json()
    assert (found["displayName"], found["description"]) == ("b", "stays")


def test_an_update_refuses_an_unknown_mask(http: httpx.Client, engine: str) -> None:
    answer = http.patch(engine, params={"updateMask": "nonsense"}, json={"displayName": "a"})
    assert answer.status_code == 400
    assert answer.json()["error"]["status"] == "INVALID_ARGUMENT"


def test_a_stale_etag_aborts_an_update(http: httpx.Client, engine: str) -> None:
    read = http.get(engine).json()["etag"]
    assert http.patch(engine, json={"displayName": "a", "etag": read}).status_code == 200
    stale = http.patch(engine, json={"displayName": "b", "etag": read})
    assert (stale.status_code, stale.json()["error"]["status"]) == (409, "ABORTED")


def test_an_empty_engine_is_deleted(vertex: Client, engine: str) -> None:
    operation = vertex.agent_engines.delete(name=engine)
    assert operation.name.startswith(f"{engine}/operations/")
    with missing():
        vertex.agent_engines.get(name=engine)


def test_an_engine_with_memories_is_not_deleted_without_force(bank: Bank) -> None:
    memory = bank.create("I like tea.")
    with refused(400, "FAILED_PRECONDITION"):
        bank.client.agent_engines.delete(name=bank.name)
    with refused(400, "FAILED_PRECONDITION"):
        bank.client.agent_engines.delete(name=bank.name, force=False)
    assert bank.get(memory.name) == memory


def test_force_in_the_body_deletes_an_engine_with_its_memories(bank: Bank) -> None:
    memory = bank.create("I like tea.")
    bank.client.agent_engines.delete(name=bank.name, force=True)
    with missing():
        bank.client.agent_engines.get(name=bank.name)
    with missing():
        bank.get(memory.name)
    with missing():
        bank.listed()


def test_force_in_the_query_deletes_an_engine_with_its_memories(
    bank: Bank, http: httpx.Client
) -> None:
    bank.create("I like tea.")
    answer = http.delete(bank.name, params={"force": "true"})
    assert answer.status_code == 200
    assert http.get(bank.name).status_code == 404


def test_the_operation_of_a_deletion_ends(bank: Bank, http: httpx.Client) -> None:
    bank.create("I like tea.")
    operation = bank.client.agent_engines.delete(name=bank.name, force=True)
    ended = to_its_end(http, operation.name)
    assert ended["response"] == {"@type": "type.googleapis.com/google.protobuf.Empty"}


def test_an_engine_is_deleted_once(vertex: Client, engine: str) -> None:
    vertex.agent_engines.delete(name=engine)
    with missing():
        vertex.agent_engines.delete(name=engine, force=True)


def test_a_handle_of_an_engine_deletes_it(vertex: Client) -> None:
    handle = vertex.agent_engines.create()
    handle.delete(force=True)
    with missing():
        vertex.agent_engines.get(name=handle.api_resource.name)


def test_times_are_aware_and_in_utc(vertex: Client) -> None:
    made = vertex.agent_engines.create().api_resource
    assert made.create_time.utcoffset() == UTC.utcoffset(None)
