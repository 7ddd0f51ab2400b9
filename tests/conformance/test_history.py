"""Revisions, deletion, recovery and rollback.

Source: wire specification, section 6.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.support.official import USER, Bank, invalid, last_part, missing, refused

LATER = datetime(2130, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
def changed(bank: Bank) -> Any:
    """A memory that was created as tea and updated to coffee."""
    made = bank.create("I like tea.")
    bank.memories._update(name=made.name, fact="I like coffee.", scope=USER)
    return bank.get(made.name)


def test_a_revision_has_its_name_fact_and_times(bank: Bank) -> None:
    made = bank.create("I like tea.")
    (revision,) = bank.revisions(made.name)
    assert re.fullmatch(f"{made.name}/revisions/[0-9]+", revision.name)
    assert int(last_part(revision.name)) < 2**63
    assert revision.fact == "I like tea."
    assert revision.create_time == made.create_time
    assert revision.expire_time - revision.create_time == timedelta(days=365)
    assert revision.labels is None
    assert revision.extracted_memories is None


def test_revisions_are_newest_first(bank: Bank, changed: Any) -> None:
    found = [one.fact for one in bank.revisions(changed.name)]
    assert found == ["I like coffee.", "I like tea."]


def test_revisions_come_in_pages(bank: Bank, changed: Any) -> None:
    bank.memories._update(name=changed.name, fact="I like water.")
    found = [one.fact for one in bank.revisions(changed.name, page_size=1)]
    assert found == ["I like water.", "I like coffee.", "I like tea."]


def test_a_revision_is_read_by_its_name(bank: Bank, changed: Any) -> None:
    for revision in bank.revisions(changed.name):
        assert bank.memories.revisions.get(name=revision.name) == revision


def test_the_list_of_revisions_has_its_key(http: httpx.Client, changed: Any) -> None:
    answer = http.get(f"{changed.name}/revisions").json()
    assert len(answer["memoryRevisions"]) == 2
    assert all(one["createTime"].endswith("Z") for one in answer["memoryRevisions"])


@pytest.mark.parametrize("revision", ["404", "not-a-number", str(2**63)])
def test_an_unknown_revision_is_missing(bank: Bank, changed: Any, revision: str) -> None:
    with missing():
        bank.memories.revisions.get(name=f"{changed.name}/revisions/{revision}")


def test_revisions_of_an_unknown_memory_are_missing(bank: Bank) -> None:
    with missing():
        bank.revisions(f"{bank.name}/memories/404")


def test_a_revision_belongs_to_its_memory(bank: Bank, changed: Any) -> None:
    other = bank.create("I live in Rome.")
    with missing():
        bank.memories.revisions.get(
            name=f"{other.name}/revisions/{bank.first_revision_id(changed.name)}"
        )


def test_a_request_sets_the_life_of_its_revision(bank: Bank) -> None:
    (by_length,) = bank.revisions(bank.create("a", revision_ttl="7200s").name)
    assert by_length.expire_time - by_length.create_time == timedelta(hours=2)
    (by_end,) = bank.revisions(bank.create("b", revision_expire_time=LATER).name)
    assert by_end.expire_time == LATER


def test_a_request_may_make_no_revision(bank: Bank) -> None:
    made = bank.create("no revs", disable_memory_revisions=True)
    assert bank.revisions(made.name) == []


def test_labels_of_generation_are_on_its_revisions(bank: Bank) -> None:
    labels = {"data_source": "321", "Case": "kept as it is"}
    (made,) = bank.remember("I like tea.", revision_labels=labels)
    (revision,) = bank.revisions(made.memory.name)
    assert revision.labels == labels


def test_labels_of_a_creation_are_on_its_revision(bank: Bank, http: httpx.Client) -> None:
    body = {"fact": "I like tea.", "scope": USER, "revisionLabels": {"by": "me", "aB": "c_d"}}
    name = http.post(f"{bank.name}/memories", json=body).json()["response"]["name"]
    (revision,) = bank.revisions(name, filter='labels.by="me" AND labels.aB="c_d"')
    assert revision.labels == {"by": "me", "aB": "c_d"}


def test_a_revision_of_a_structured_memory_has_its_data(bank: Bank, http: httpx.Client) -> None:
    content = {"data": {"first_name": "Ann", "a_b": None}, "schemaId": "profile"}
    body = {"scope": USER, "memoryType": "STRUCTURED_PROFILE", "structuredContent": content}
    name = http.post(f"{bank.name}/memories", json=body).json()["response"]["name"]
    (revision,) = bank.revisions(name)
    assert revision.structured_data == {"first_name": "Ann", "a_b": None}
    assert bank.get(name).structured_content.data == {"first_name": "Ann", "a_b": None}


def test_revisions_are_filtered_by_label(bank: Bank) -> None:
    (made,) = bank.remember("I like tea.", revision_labels={"data_source": "321"})
    name = made.memory.name
    bank.remember("I like tea.", revision_labels={"data_source": "999"})
    bank.memories._update(name=name, fact="I like coffee.")

    def sources(text: str, **config: Any) -> list[Any]:
        return [one.labels for one in bank.revisions(name, filter=text, **config)]

    assert sources('labels.data_source="321"') == [{"data_source": "321"}]
    assert sources("labels.data_source=999", page_size=1) == [{"data_source": "999"}]
    assert sources('labels.data_source="1"') == []
    assert sources('labels.data_source="321" OR labels.data_source="999"') == [
        {"data_source": "999"},
        {"data_source": "321"},
    ]


def test_revisions_of_all_memories_are_filtered_by_label(bank: Bank) -> None:
    bank.remember("I like tea.", "I live in Rome.", revision_labels={"run": "1"})
    bank.remember("I work as a nurse.", revision_labels={"run": "2"})
    every = f"{bank.name}/memories/-"
    found = bank.revisions(every, filter='labels.run="1"', page_size=1)
    assert sorted(one.fact for one in found) == ["I like tea.", "I live in Rome."]


@pytest.mark.parametrize("text", ["labels", 'nonsense="x"', 'labels.a="'])
def test_a_bad_filter_of_revisions_is_refused(bank: Bank, changed: Any, text: str) -> None:
    with invalid("filter"):
        bank.revisions(changed.name, filter=text)


def test_a_deletion_answers_an_empty_operation(bank: Bank, http: httpx.Client) -> None:
    made = bank.create("I like tea.")
    operation = bank.memories.delete(name=made.name)
    assert operation.done is True
    assert operation.error is None
    raw = http.get(operation.name).json()
    assert raw["response"] == {"@type": "type.googleapis.com/google.protobuf.Empty"}
    assert raw["metadata"]["@type"].endswith(".DeleteMemoryOperationMetadata")


def test_a_deleted_memory_is_gone_from_every_read(bank: Bank) -> None:
    made = bank.create("I like tea.")
    kept = bank.create("I live in Rome.")
    bank.memories.delete(name=made.name)
    with missing():
        bank.get(made.name)
    assert bank.listed() == [kept]
    assert [one.memory for one in bank.retrieve()] == [kept]
    found = bank.retrieve(similarity_search_params={"search_query": "I like tea."})
    assert [one.memory for one in found] == [kept]


def test_a_deleted_memory_cannot_be_changed(bank: Bank) -> None:
    made = bank.create("I like tea.")
    bank.memories.delete(name=made.name)
    with missing():
        bank.memories.delete(name=made.name)
    with missing():
        bank.memories._update(name=made.name, fact="I like coffee.")


def test_an_unknown_memory_cannot_be_deleted(bank: Bank) -> None:
    with missing():
        bank.memories.delete(name=f"{bank.name}/memories/404")


def test_the_id_of_a_recoverable_memory_is_taken(bank: Bank) -> None:
    made = bank.create("I like tea.", memory_id="mine")
    bank.memories.delete(name=made.name)
    with refused(409, "ALREADY_EXISTS"):
        bank.create("another", memory_id="mine")


def test_revisions_of_a_deleted_memory_are_still_read(bank: Bank) -> None:
    made = bank.create("I like tea.")
    bank.memories.delete(name=made.name)
    deletion, creation = bank.revisions(made.name)
    assert deletion.fact == ""
    assert creation.fact == "I like tea."
    assert bank.memories.revisions.get(name=creation.name) == creation
    assert bank.memories.revisions.get(name=deletion.name) == deletion


def test_a_rollback_restores_a_deleted_memory(bank: Bank) -> None:
    made = bank.create(
        "I like tea.", display_name="dn", metadata={"a": {"bool_value": True}}, memory_id="mine"
    )
    bank.memories.delete(name=made.name)
    target = bank.first_revision_id(made.name)
    operation = bank.memories.rollback(name=made.name, target_revision_id=target)
    assert operation.done is True
    assert operation.error is None
    restored = bank.get(made.name)
    assert restored == made.model_copy(update={"update_time": restored.update_time})
    assert bank.listed() == [restored]
    assert [one.memory for one in bank.retrieve()] == [restored]
    (found,) = bank.retrieve(similarity_search_params={"search_query": "I like tea."})
    assert found.distance < 0.01


def test_a_rollback_sets_the_fact_and_makes_a_revision(bank: Bank, changed: Any) -> None:
    target = bank.first_revision_id(changed.name)
    bank.memories.rollback(name=changed.name, target_revision_id=target)
    assert bank.get(changed.name).fact == "I like tea."
    found = [one.fact for one in bank.revisions(changed.name)]
    assert found == ["I like tea.", "I like coffee.", "I like tea."]


def test_a_rollback_can_itself_be_rolled_back(bank: Bank, changed: Any) -> None:
    coffee = last_part(bank.revisions(changed.name)[0].name)
    tea = bank.first_revision_id(changed.name)
    bank.memories.rollback(name=changed.name, target_revision_id=tea)
    bank.memories.rollback(name=changed.name, target_revision_id=coffee)
    assert bank.get(changed.name).fact == "I like coffee."


def test_a_rollback_takes_a_full_name_too(bank: Bank, changed: Any) -> None:
    name = bank.revisions(changed.name)[-1].name
    bank.memories.rollback(name=changed.name, target_revision_id=name)
    assert bank.get(changed.name).fact == "I like tea."


def test_a_rollback_need_not_be_waited_for(bank: Bank, changed: Any) -> None:
    operation = bank.memories.rollback(
        name=changed.name,
        target_revision_id=bank.first_revision_id(changed.name),
        config={"wait_for_completion": False},
    )
    assert operation.name.startswith(f"{bank.name}/")
    assert operation.metadata["@type"].endswith(".RollbackMemoryOperationMetadata")
    assert bank.get(changed.name).fact == "I like tea."


def test_the_id_of_a_rollback_may_be_a_number(http: httpx.Client, bank: Bank, changed: Any) -> None:
    target = int(bank.first_revision_id(changed.name))
    answer = http.post(f"{changed.name}:rollback", json={"targetRevisionId": target})
    assert answer.status_code == 200
    assert bank.get(changed.name).fact == "I like tea."


def test_a_rollback_to_an_unknown_revision_is_missing(bank: Bank, changed: Any) -> None:
    with missing():
        bank.memories.rollback(name=changed.name, target_revision_id="404")
    assert bank.get(changed.name) == changed


def test_a_rollback_to_a_revision_of_another_memory_is_missing(bank: Bank, changed: Any) -> None:
    other = bank.create("I live in Rome.")
    with missing():
        bank.memories.rollback(
            name=changed.name, target_revision_id=bank.first_revision_id(other.name)
        )


def test_a_rollback_to_no_number_is_refused(bank: Bank, changed: Any) -> None:
    with invalid("targetRevisionId"):
        bank.memories.rollback(name=changed.name, target_revision_id="first")


def test_a_rollback_of_an_unknown_memory_is_missing(bank: Bank) -> None:
    with missing():
        bank.memories.rollback(name=f"{bank.name}/memories/404", target_revision_id="1")


def test_a_rollback_to_a_deletion_is_refused(bank: Bank) -> None:
    made = bank.create("I like tea.")
    bank.memories.delete(name=made.name)
    deletion = bank.revisions(made.name)[0]
    with refused(400, "FAILED_PRECONDITION"):
        bank.memories.rollback(name=made.name, target_revision_id=last_part(deletion.name))


def test_an_expired_revision_is_gone(bank: Bank) -> None:
    made = bank.create("I like tea.", revision_ttl="0.001s")
    assert bank.revisions(made.name) == []
    assert bank.get(made.name) == made


def test_a_permanent_deletion_leaves_nothing(bank: Bank, http: httpx.Client) -> None:
    made = bank.create("I like tea.")
    answer = http.delete(made.name, params={"permanent": "true"}).json()
    assert answer["done"] is True
    with missing():
        bank.revisions(made.name)
