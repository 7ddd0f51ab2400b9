"""Memories: create and get.

Source: wire specification, sections 5.1 to 5.3.
"""

import re
import time
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import httpx
import pytest

from tests.support.official import USER, Bank, Client, facts, invalid, last_part, missing, refused

METADATA = {
    "src": {"string_value": "a"},
    "score": {"double_value": 1.5},
    "ok": {"bool_value": True},
    "when": {"timestamp_value": datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)},
}
TOPICS = [
    {"managed_memory_topic": "USER_PREFERENCES"},
    {"custom_memory_topic_label": "jargon"},
]
LATER = datetime(2130, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)


def test_a_minimal_memory_is_read_as_it_was_made(bank: Bank) -> None:
    made = bank.create("I like pizza", {"user_id": "123", "app_name": "x y"})
    assert made.fact == "I like pizza"
    assert made.scope == {"user_id": "123", "app_name": "x y"}
    assert re.fullmatch(f"{bank.name}/memories/[0-9]+", made.name)
    assert made.memory_type.value == "NATURAL_LANGUAGE_COLLECTION"
    assert made.create_time == made.update_time
    assert made.create_time.utcoffset() == timedelta(0)
    absent = (made.expire_time, made.display_name, made.description, made.topics, made.metadata)
    assert absent == (None,) * 5
    assert bank.get(made.name) == made


def test_a_full_memory_is_read_as_it_was_made(bank: Bank) -> None:
    made = bank.create(
        "I prefer a window seat",
        memory_id="seat-pref",
        display_name="dn",
        description="ds",
        ttl="3600s",
        revision_ttl="7200s",
        topics=TOPICS,
        metadata=METADATA,
    )
    assert made.name == f"{bank.name}/memories/seat-pref"
    assert (made.display_name, made.description) == ("dn", "ds")
    assert [topic.model_dump(exclude_none=True, mode="json") for topic in made.topics] == TOPICS
    assert made.expire_time - made.create_time == timedelta(hours=1)
    assert bank.get(made.name) == made


def test_metadata_keeps_the_type_of_each_value(bank: Bank) -> None:
    made = bank.create("f", metadata=METADATA)
    found = {key: value.model_dump(exclude_none=True) for key, value in made.metadata.items()}
    assert found == METADATA


def test_a_metadata_value_has_no_other_key_on_the_wire(bank: Bank, http: httpx.Client) -> None:
    made = bank.create("f", metadata={**METADATA, "a_b": {"string_value": ""}})
    assert http.get(made.name).json()["metadata"] == {
        "src": {"stringValue": "a"},
        "score": {"doubleValue": 1.5},
        "ok": {"boolValue": True},
        "when": {"timestampValue": "2030-01-02T03:04:05Z"},
        "a_b": {"stringValue": ""},
    }


def test_false_and_zero_are_values_of_metadata(bank: Bank) -> None:
    made = bank.create("f", metadata={"no": {"bool_value": False}, "nil": {"double_value": 0.0}})
    assert made.metadata["no"].bool_value is False
    assert made.metadata["nil"].double_value == 0


def test_an_expiry_in_another_zone_is_answered_in_utc(bank: Bank, http: httpx.Client) -> None:
    zone = timezone(timedelta(hours=2))
    made = bank.create("third", expire_time=LATER.astimezone(zone))
    assert made.expire_time == LATER
    assert http.get(made.name).json()["expireTime"] == "2130-01-02T03:04:05.678Z"


def test_no_input_only_field_is_answered(bank: Bank, http: httpx.Client) -> None:
    made = bank.create("f", ttl="3600s", revision_ttl="7200s")
    found = http.get(made.name).json()
    assert {"ttl", "revisionTtl", "disableMemoryRevisions", "revisionLabels"}.isdisjoint(found)
    assert found["expireTime"]


def test_times_on_the_wire_end_in_z(bank: Bank, http: httpx.Client) -> None:
    found = http.get(bank.create("f").name).json()
    pattern = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{3}|\.[0-9]{6})?Z"
    assert re.fullmatch(pattern, found["createTime"])
    assert re.fullmatch(pattern, found["updateTime"])


def test_without_waiting_the_operation_is_done_all_the_same(bank: Bank) -> None:
    operation = bank.memories.create(
        name=bank.name,
        fact="third",
        scope=USER,
        config={"expire_time": LATER, "wait_for_completion": False},
    )
    assert operation.done is True
    assert operation.response.fact == "third"
    assert operation.error is None
    assert bank.get(operation.response.name).expire_time == LATER


def test_the_operation_of_a_create_has_its_types(bank: Bank, http: httpx.Client) -> None:
    operation = http.post(f"{bank.name}/memories", json={"fact": "f", "scope": USER}).json()
    prefix = "type.googleapis.com/google.cloud.aiplatform.v1beta1."
    assert operation["metadata"]["@type"] == f"{prefix}CreateMemoryOperationMetadata"
    assert operation["metadata"]["genericMetadata"].keys() >= {"createTime", "updateTime"}
    assert operation["response"]["@type"] == f"{prefix}Memory"
    assert operation["response"].keys() >= {"name", "fact", "scope", "createTime", "updateTime"}


def test_duplicates_are_allowed(bank: Bank) -> None:
    first, second = bank.create("I like tea."), bank.create("I like tea.")
    assert first.name != second.name
    assert bank.listed_facts() == ["I like tea."] * 2


def test_a_new_memory_is_there_at_once(bank: Bank) -> None:
    made = bank.create("I like tea.")
    assert bank.listed() == [made]
    assert [one.memory for one in bank.retrieve()] == [made]
    found = bank.retrieve(similarity_search_params={"search_query": "tea"})
    assert [one.memory for one in found] == [made]
    (updated,) = bank.remember("I like tea.")
    assert updated.memory.name == made.name


def test_facts_keep_every_character(bank: Bank) -> None:
    fact = 'Ich mag Käse 🧀, "quotes", \\ and\nlines\t日本語 *'
    assert bank.create(fact).fact == fact


def test_a_scope_keeps_every_character(bank: Bank) -> None:
    scope = {"user id": 'Zoë / 日本 "1"', "k.with-dots": ""}
    made = bank.create("f", scope)
    assert made.scope == scope
    assert bank.retrieved_facts(scope) == ["f"]


def test_the_context_of_a_memory_is_kept(platform: Client, http: httpx.Client, engine: str) -> None:
    body = {"fact": "f", "scope": USER, "context": "Said at breakfast."}
    name = http.post(f"{engine}/memories", json=body).json()["response"]["name"]
    assert platform.memory_banks.memories.get(name=name).context == "Said at breakfast."
    (revision,) = platform.memory_banks.memories.revisions.list(name=name)
    assert revision.context == "Said at breakfast."


def test_the_type_of_the_client_is_taken_as_well_as_a_dict(bank: Bank) -> None:
    from vertexai._genai import types  # noqa: PLC0415 - warns when it is imported

    config = types.AgentEngineMemoryConfig(
        display_name="dn",
        metadata={"src": types.MemoryMetadataValue(string_value="a")},
        topics=[types.MemoryTopicId(managed_memory_topic=types.ManagedTopicEnum.USER_PREFERENCES)],
    )
    made = bank.memories.create(name=bank.name, fact="f", scope=USER, config=config).response
    assert made.display_name == config.display_name
    assert made.metadata == config.metadata
    assert made.topics == config.topics


@pytest.mark.parametrize("memory_id", ["a", "seat-pref-2", "x" * 63])
def test_a_chosen_id_is_the_last_part_of_the_name(bank: Bank, memory_id: str) -> None:
    assert last_part(bank.create("f", memory_id=memory_id).name) == memory_id


@pytest.mark.parametrize("memory_id", ["1a", "-a", "a-", "A", "a_b", "x" * 64])
def test_a_bad_id_is_refused(bank: Bank, memory_id: str) -> None:
    with invalid("memoryId"):
        bank.create("f", memory_id=memory_id)


def test_a_taken_id_is_a_conflict(bank: Bank) -> None:
    made = bank.create("first", memory_id="mine")
    with refused(409, "ALREADY_EXISTS"):
        bank.create("second", memory_id="mine")
    assert bank.get(made.name).fact == "first"


def test_an_id_may_be_used_in_each_engine(bank: Bank, vertex: Client) -> None:
    bank.create("here", memory_id="mine")
    other = Bank(vertex, vertex.agent_engines.create().api_resource.name)
    assert other.create("there", memory_id="mine").fact == "there"
    assert bank.listed_facts() == ["here"]


SCOPES: dict[str, dict[str, str]] = {
    "empty": {},
    "a star": {"user_id": "*"},
    "a star within": {"user_id": "a*b"},
    "six pairs": {f"k{number}": "v" for number in range(6)},
}


@pytest.mark.parametrize("scope", SCOPES.values(), ids=SCOPES)
def test_a_bad_scope_is_refused(bank: Bank, scope: dict[str, str]) -> None:
    with invalid("scope"):
        bank.memories.create(name=bank.name, fact="f", scope=scope)


def test_five_pairs_are_a_scope(bank: Bank) -> None:
    scope = {f"k{number}": "v" for number in range(5)}
    assert bank.create("f", scope).scope == scope


CONFIGS: dict[str, tuple[str, dict[str, Any]]] = {
    "no duration": ("ttl", {"ttl": "3600"}),
    "a negative life": ("ttl", {"ttl": "-1s"}),
    "two ends": ("ttl", {"ttl": "1s", "expire_time": LATER}),
    "two lives of the revision": (
        "revisionTtl",
        {"revision_ttl": "1s", "revision_expire_time": LATER},
    ),
    "a life of no revision": (
        "revisionTtl",
        {"revision_ttl": "1s", "disable_memory_revisions": True},
    ),
    "a past expiry": ("expireTime", {"expire_time": datetime(2020, 1, 1, tzinfo=UTC)}),
    "an empty value of metadata": ("metadata.a", {"metadata": {"a": {}}}),
    "two values of metadata": (
        "metadata.a",
        {"metadata": {"a": {"string_value": "x", "bool_value": True}}},
    ),
    "an empty topic": ("topics[0]", {"topics": [{}]}),
    "two topics in one": (
        "topics[0]",
        {
            "topics": [
                {
                    "custom_memory_topic_label": "a",
                    "managed_memory_topic": "USER_PREFERENCES",
                }
            ]
        },
    ),
}


@pytest.mark.parametrize(("field", "config"), CONFIGS.values(), ids=CONFIGS)
def test_a_bad_field_is_refused_by_name(bank: Bank, field: str, config: dict[str, Any]) -> None:
    with invalid(field):
        bank.create("f", **config)
    assert bank.listed() == []


def test_an_empty_fact_is_refused(bank: Bank) -> None:
    with invalid("fact"):
        bank.create("")


def test_a_memory_of_an_unknown_engine_cannot_be_made(bank: Bank) -> None:
    with missing():
        bank.memories.create(name="reasoningEngines/404", fact="f", scope=USER)


@pytest.mark.parametrize("name", ["404", "never-made", "Not.An.Id"])
def test_an_unknown_memory_is_missing(bank: Bank, name: str) -> None:
    with missing():
        bank.get(f"{bank.name}/memories/{name}")


def test_a_memory_is_not_found_under_another_engine(bank: Bank, vertex: Client) -> None:
    made = bank.create("f")
    other = vertex.agent_engines.create().api_resource.name
    with missing():
        bank.get(f"{other}/memories/{last_part(made.name)}")


def test_an_expired_memory_is_gone_from_every_read(bank: Bank) -> None:
    made = bank.create("I like tea.", ttl="0.2s", wait_for_completion=False)
    kept = bank.create("I live in Rome.")
    time.sleep(0.25)
    with missing():
        bank.get(made.name)
    assert bank.listed() == [kept]
    assert bank.retrieved_facts() == ["I live in Rome."]
    (again,) = bank.memories.generate(
        name=bank.name, direct_memories_source=facts("I like tea."), scope=USER
    ).response.generated_memories
    assert again.action.value == "CREATED"
