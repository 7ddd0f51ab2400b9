"""Generation from conversations and from facts.

Source: wire specification, section 8.
"""

from typing import Any

import httpx
import pytest

from tests.support.official import (
    USER,
    Bank,
    actions,
    facts,
    generated,
    invalid,
    last_part,
    missing,
    says,
)


def test_a_direct_fact_becomes_a_memory(bank: Bank) -> None:
    (made,) = bank.remember("I live in Zurich")
    assert made.action.value == "CREATED"
    assert made.previous_revision is None
    memory = bank.get(made.memory.name)
    assert (memory.fact, memory.scope) == ("I live in Zurich", USER)
    assert bank.listed() == [memory]


def test_a_generated_memory_carries_only_its_name(bank: Bank, http: httpx.Client) -> None:
    operation = bank.memories.generate(
        name=bank.name, direct_memories_source=facts("I live in Zurich"), scope=USER
    )
    (found,) = http.get(operation.name).json()["response"]["generatedMemories"]
    assert found["memory"].keys() == {"name"}
    assert found.keys() == {"memory", "action"}


def test_the_operation_of_a_generation_has_its_types(bank: Bank, http: httpx.Client) -> None:
    operation = bank.memories.generate(
        name=bank.name, direct_memories_source=facts("I live in Zurich"), scope=USER
    )
    assert operation.name.startswith(f"{bank.name}/operations/")
    raw = http.get(operation.name).json()
    assert raw["metadata"]["@type"].endswith(".GenerateMemoriesOperationMetadata")
    assert raw["metadata"]["genericMetadata"]["createTime"].endswith("Z")
    assert raw["response"]["@type"].endswith(".GenerateMemoriesResponse")


def test_the_same_fact_twice_updates_one_memory(bank: Bank) -> None:
    (first,) = bank.remember("I live in Zurich")
    before = bank.revisions(first.memory.name)[0].name
    (second,) = bank.remember("I live in Zurich")
    assert second.action.value == "UPDATED"
    assert second.memory.name == first.memory.name
    assert second.previous_revision == before
    assert bank.listed_facts() == ["I live in Zurich"]
    assert len(bank.revisions(first.memory.name)) == 2


def test_the_previous_revision_can_be_read_and_restored(bank: Bank) -> None:
    bank.remember("I live in Zurich.")
    (moved,) = bank.remember("I live in Oslo.")
    assert moved.action.value == "UPDATED"
    assert bank.memories.revisions.get(name=moved.previous_revision).fact == "I live in Zurich."
    bank.memories.rollback(
        name=moved.memory.name, target_revision_id=last_part(moved.previous_revision)
    )
    assert bank.get(moved.memory.name).fact == "I live in Zurich."


def test_a_fact_updates_a_memory_that_was_created_directly(bank: Bank) -> None:
    made = bank.create("I live in Zurich")
    (updated,) = bank.remember("I live in Zurich")
    assert (updated.action.value, updated.memory.name) == ("UPDATED", made.name)


def test_several_facts_become_several_memories(bank: Bank) -> None:
    found = bank.remember("I live in Zurich.", "My dog is called Rex.", "I am allergic to nuts.")
    assert actions(found) == ["CREATED"] * 3
    assert len({one.memory.name for one in found}) == 3


def test_scopes_do_not_see_each_other(bank: Bank) -> None:
    bank.remember("I live in Zurich", scope={"user_id": "1"})
    (made,) = bank.remember("I live in Zurich", scope={"user_id": "2"})
    assert made.action.value == "CREATED"
    (made,) = bank.remember("I live in Zurich", scope={"user_id": "1", "app": "x"})
    assert made.action.value == "CREATED"
    assert bank.retrieved_facts({"user_id": "1"}) == ["I live in Zurich"]


def test_a_scope_has_no_order(bank: Bank) -> None:
    bank.remember("I live in Zurich", scope={"user_id": "1", "app": "x"})
    (updated,) = bank.remember("I live in Zurich", scope={"app": "x", "user_id": "1"})
    assert updated.action.value == "UPDATED"


def test_extracted_memories_are_the_given_facts(bank: Bank) -> None:
    (made,) = bank.remember("I live in Zurich")
    (revision,) = bank.revisions(made.memory.name)
    assert [one.fact for one in revision.extracted_memories] == ["I live in Zurich"]


def test_topics_given_with_facts_are_kept(bank: Bank) -> None:
    topics = [{"managed_memory_topic": "USER_PERSONAL_INFO"}]
    operation = bank.memories.generate(
        name=bank.name,
        direct_memories_source={
            "direct_memories": [{"fact": "I live in Zurich", "topics": topics}]
        },
        scope=USER,
    )
    (made,) = generated(operation)
    memory = bank.get(made.memory.name)
    assert [one.managed_memory_topic.value for one in memory.topics] == ["USER_PERSONAL_INFO"]


def test_a_conversation_becomes_memories(bank: Bank) -> None:
    found = bank.hear("Hello! I work as an agent engineer.", "I prefer tea over coffee.")
    assert actions(found) == ["CREATED", "CREATED"]
    heard = " ".join(bank.listed_facts())
    assert "agent engineer" in heard
    assert "tea" in heard


def test_memories_of_a_conversation_have_topics_and_what_was_extracted(bank: Bank) -> None:
    (made,) = bank.hear("I live in Zurich.")
    memory = bank.get(made.memory.name)
    assert [one.managed_memory_topic.value for one in memory.topics] == ["USER_PERSONAL_INFO"]
    (revision,) = bank.revisions(memory.name)
    assert [one.fact for one in revision.extracted_memories] == [memory.fact]


def test_the_same_conversation_twice_adds_no_memory(bank: Bank) -> None:
    first = bank.hear("I live in Zurich.")
    second = bank.hear("I live in Zurich.")
    assert actions(second) == ["UPDATED"]
    assert second[0].memory.name == first[0].memory.name
    assert len(bank.listed()) == 1


def test_a_contradiction_updates(bank: Bank) -> None:
    (made,) = bank.hear("I live in Zurich.")
    (updated,) = bank.hear("I have moved. I live in Oslo now.")
    assert updated.action.value == "UPDATED"
    assert updated.memory.name == made.memory.name
    (fact,) = bank.listed_facts()
    assert "Oslo" in fact
    assert "Zurich" not in fact


def test_a_wish_to_forget_deletes(bank: Bank) -> None:
    (made,) = bank.hear("I live in Zurich.")
    before = bank.revisions(made.memory.name)[0].name
    (deleted,) = bank.hear("Please forget that I live in Zurich.")
    assert deleted.action.value == "DELETED"
    assert deleted.memory.name == made.memory.name
    assert deleted.previous_revision == before
    with missing():
        bank.get(made.memory.name)
    assert not bank.revisions(made.memory.name)[0].fact


def test_what_generation_deleted_can_be_restored(bank: Bank) -> None:
    bank.hear("I live in Zurich.")
    (deleted,) = bank.hear("Please forget that I live in Zurich.")
    bank.memories.rollback(
        name=deleted.memory.name, target_revision_id=last_part(deleted.previous_revision)
    )
    assert "Zurich" in bank.get(deleted.memory.name).fact


@pytest.mark.parametrize("text", ["Hi, how are you?", "Thanks, bye!", "What time is it?", ""])
def test_small_talk_is_an_empty_success(bank: Bank, text: str) -> None:
    assert bank.hear(text) == []
    assert bank.listed() == []


def test_no_events_are_an_empty_success(bank: Bank) -> None:
    operation = bank.memories.generate(
        name=bank.name, direct_contents_source={"events": []}, scope=USER
    )
    assert generated(operation) == []


def test_a_missing_role_is_the_users(bank: Bank) -> None:
    operation = bank.memories.generate(
        name=bank.name, direct_contents_source=says("I live in Zurich.", role=None), scope=USER
    )
    assert actions(generated(operation)) == ["CREATED"]


def test_what_the_model_says_is_not_about_the_user(bank: Bank) -> None:
    operation = bank.memories.generate(
        name=bank.name,
        direct_contents_source=says("I live in a data centre.", role="model"),
        scope=USER,
    )
    assert generated(operation) == []


def test_other_kinds_of_parts_are_passed_over(bank: Bank) -> None:
    parts = [
        {"function_call": {"name": "f", "args": {"a_b": 1}, "id": "1"}},
        {"function_response": {"name": "f", "response": {"home": "I live in Rome."}}},
        {"inline_data": {"data": b"\xfb\xff\xfe", "mime_type": "image/png"}},
        {"file_data": {"file_uri": "gs://a/b", "mime_type": "text/plain"}},
        {"executable_code": {"code": "print()", "language": "PYTHON"}},
        {"code_execution_result": {"outcome": "OUTCOME_OK", "output": "x"}},
        {"text": "I live in Zurich."},
    ]
    operation = bank.memories.generate(
        name=bank.name,
        direct_contents_source={"events": [{"content": {"role": "user", "parts": parts}}]},
        scope=USER,
    )
    assert actions(generated(operation)) == ["CREATED"]
    assert bank.listed_facts() == ["I live in Zurich."]


def test_types_of_the_client_are_taken_as_well_as_dicts(bank: Bank) -> None:
    from google.genai import types as genai  # noqa: PLC0415 - as below
    from vertexai._genai import types  # noqa: PLC0415 - warns when it is imported

    content = genai.Content(role="user", parts=[genai.Part(text="I live in Zurich.")])
    source = types.GenerateMemoriesRequestDirectContentsSource(
        events=[types.GenerateMemoriesRequestDirectContentsSourceEvent(content=content)]
    )
    config = types.GenerateAgentEngineMemoriesConfig(revision_labels={"a": "b"})
    operation = bank.memories.generate(
        name=bank.name, direct_contents_source=source, scope=USER, config=config
    )
    (made,) = generated(operation)
    assert bank.revisions(made.memory.name)[0].labels == {"a": "b"}


def test_without_waiting_the_operation_can_be_polled(bank: Bank) -> None:
    operation = bank.memories.generate(
        name=bank.name,
        direct_memories_source=facts("I live in Zurich"),
        scope=USER,
        config={"wait_for_completion": False},
    )
    assert operation.name
    poll = bank.memories._get_generate_memories_operation
    found = poll(operation_name=operation.name)
    while not found.done:
        found = poll(operation_name=operation.name)
    assert actions(generated(found)) == ["CREATED"]


SOURCES: dict[str, tuple[str, dict[str, Any]]] = {
    "no source": ("directContentsSource", {}),
    "two sources": (
        "directContentsSource",
        {"direct_contents_source": says("x"), "direct_memories_source": facts("x")},
    ),
    "six facts": (
        "directMemoriesSource.directMemories",
        {"direct_memories_source": facts(*"abcdef")},
    ),
    "no fact": ("directMemoriesSource.directMemories", {"direct_memories_source": facts()}),
    "an empty fact": (
        "directMemoriesSource.directMemories[0].fact",
        {"direct_memories_source": facts("")},
    ),
}


@pytest.mark.parametrize(("field", "source"), SOURCES.values(), ids=SOURCES)
def test_a_bad_source_is_refused(bank: Bank, field: str, source: dict[str, Any]) -> None:
    with invalid(field):
        bank.memories.generate(name=bank.name, scope=USER, **source)


def test_five_facts_are_not_too_many(bank: Bank) -> None:
    found = bank.remember(
        "I live in Zurich.",
        "My dog is called Rex.",
        "I am allergic to nuts.",
        "I play the violin.",
        "I drive a red van.",
    )
    assert actions(found) == ["CREATED"] * 5


def test_a_scope_is_required(bank: Bank) -> None:
    with invalid("scope"):
        bank.memories.generate(name=bank.name, direct_memories_source=facts("x"))


@pytest.mark.parametrize("scope", [{}, {"user_id": "*"}, {str(n): "v" for n in range(6)}])
def test_a_bad_scope_is_refused(bank: Bank, scope: dict[str, str]) -> None:
    with invalid("scope"):
        bank.memories.generate(name=bank.name, direct_memories_source=facts("x"), scope=scope)


def test_generation_for_an_unknown_engine_is_missing(bank: Bank) -> None:
    with missing():
        bank.memories.generate(
            name="reasoningEngines/404", direct_memories_source=facts("x"), scope=USER
        )
