"""The traps of the wire, each by itself.

Source: wire specification, section 18, by its numbers.
"""

from typing import Any

import httpx
import pytest

from tests.support.official import USER, Bank, Client, facts, invalid, to_its_end


def test_1_nested_fields_in_snake_case(http: httpx.Client, engine: str) -> None:
    config: dict[str, Any] = {"ttl_config": {"granular_ttl_config": {"create_ttl": "60s"}}}
    body: dict[str, Any] = {"context_spec": {"memory_bank_config": config}}
    assert http.patch(engine, json=body).status_code == 200
    memory = {"fact": "f", "scope": USER, "topics": [{"managed_memory_topic": "USER_PREFERENCES"}]}
    made = http.post(f"{engine}/memories", json=memory).json()["response"]
    assert made["topics"] == [{"managedMemoryTopic": "USER_PREFERENCES"}]
    assert made["expireTime"]
    body = {"scope": USER, "similarity_search_params": {"search_query": "f", "top_k": 1}}
    assert len(http.post(f"{engine}/memories:retrieve", json=body).json()["retrievedMemories"]) == 1


def test_2_a_creation_is_200_with_a_body(http: httpx.Client, engine: str) -> None:
    answer = http.post(f"{engine}/memories", json={"fact": "f", "scope": USER})
    assert answer.status_code == 200
    deletion = http.delete(answer.json()["response"]["name"])
    assert deletion.status_code == 200
    assert deletion.json()["done"] is True


@pytest.mark.parametrize("count", [1, 4, 101])
def test_3_iterating_a_retrieval_never_ends_in_an_error(bank: Bank, count: int) -> None:
    for number in range(count):
        bank.create(f"Fact {number}.", disable_memory_revisions=True)
    assert len(bank.retrieve()) == min(count, 100)
    assert len(bank.listed()) == count


def test_4_the_count_of_a_purge_is_readable(bank: Bank) -> None:
    bank.create("f")
    operation = bank.memories.purge(name=bank.name, filter='scope.user_id="123"', force=True)
    assert operation.response.purge_count == 1


def test_5_the_operation_of_a_new_engine_lies_under_it(vertex: Client) -> None:
    operation = vertex.agent_engines._create(config=None)
    parent, _, _ = operation.name.partition("/operations/")
    assert parent == operation.response.name


def test_6_force_arrives_in_a_body(http: httpx.Client, bank: Bank) -> None:
    bank.create("f")
    answer = http.request("DELETE", bank.name, json={"force": True})
    assert answer.status_code == 200
    assert http.get(bank.name).status_code == 404


def test_7_a_value_of_metadata_has_nothing_else(bank: Bank) -> None:
    metadata = {"a": {"string_value": "x"}, "b": {"double_value": 1}, "c": {"bool_value": True}}
    (made,) = bank.remember("f", metadata=metadata)
    found = bank.get(made.memory.name).metadata
    assert {key: len(value.model_dump(exclude_none=True)) for key, value in found.items()} == {
        "a": 1,
        "b": 1,
        "c": 1,
    }


def test_8_an_update_never_waits(bank: Bank) -> None:
    made = bank.create("f")
    config = {"wait_for_completion": True}
    assert bank.memories._update(name=made.name, fact="g", config=config).done is True


def test_8_words_of_the_documentation_are_read_from_other_clients(
    http: httpx.Client, engine: str
) -> None:
    ttl = {"granularTtl": {"createTtl": "60s"}, "revisionTtl": "120s"}
    body = {"contextSpec": {"memoryBankConfig": {"ttlConfig": ttl}}}
    assert http.patch(engine, json=body).status_code == 200
    assert http.get(engine).json()["contextSpec"]["memoryBankConfig"]["ttlConfig"] == {
        "granularTtlConfig": {"createTtl": "60s"},
        "memoryRevisionDefaultTtl": "120s",
    }


def test_10_lists_have_the_keys_that_clients_read(http: httpx.Client, bank: Bank) -> None:
    made = bank.create("f")
    retrieval = http.post(f"{bank.name}/memories:retrieve", json={"scope": USER})
    parent = bank.name.rpartition("/")[0]
    assert http.get(f"{bank.name}/memories").json()["memories"]
    assert http.get(f"{made.name}/revisions").json()["memoryRevisions"]
    assert http.get(parent).json()["reasoningEngines"]
    assert retrieval.json()["retrievedMemories"]


def test_12_no_operation_is_left_undone(http: httpx.Client, bank: Bank) -> None:
    for text in ("I like tea.", "I like tea.", "I live in Rome."):
        bank.memories.generate(
            name=bank.name,
            direct_memories_source=facts(text),
            scope=USER,
            config={"wait_for_completion": False},
        )
    for one in http.get(f"{bank.name}/operations").json()["operations"]:
        to_its_end(http, one["name"])


SHAPES: dict[str, dict[str, Any]] = {
    "offset": {"expireTime": "2130-01-02T03:04:05+00:00"},
    "microseconds": {"expireTime": "2130-01-02T03:04:05.678900+05:30"},
    "nine digits": {"expireTime": "2130-01-02T03:04:05.123456789Z"},
    "fraction": {"ttl": "1800.500s"},
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_times_of_every_shape_are_read(
    http: httpx.Client, bank: Bank, shape: dict[str, Any]
) -> None:
    body = {"fact": "f", "scope": USER, **shape}
    name = http.post(f"{bank.name}/memories", json=body).json()["response"]["name"]
    assert bank.get(name).expire_time is not None


@pytest.mark.parametrize("text", ["2130-01-02", "2130-01-02T03:04:05", "tomorrow", 4102444800])
def test_other_times_are_refused(http: httpx.Client, engine: str, text: object) -> None:
    body = {"fact": "f", "scope": USER, "expireTime": text}
    answer = http.post(f"{engine}/memories", json=body)
    assert answer.status_code == 400
    assert "expireTime" in answer.json()["error"]["message"]


@pytest.mark.parametrize("data", ["-_-_", "+/+/", "-_8=", "-_8"])
def test_base64_of_either_alphabet_is_read(http: httpx.Client, engine: str, data: str) -> None:
    part = {"inline_data": {"data": data, "mime_type": "image/png"}}
    event = {"content": {"role": "user", "parts": [part]}}
    body = {"scope": USER, "directContentsSource": {"events": [event]}}
    assert http.post(f"{engine}/memories:generate", json=body).status_code == 200


def test_a_filter_is_form_encoded(bank: Bank) -> None:
    bank.create("a + b & c = 100% sure?")
    assert len(bank.listed(filter='fact="a + b & c = 100% sure?"')) == 1
    with invalid("filter"):
        bank.listed(filter="fact= = =")
