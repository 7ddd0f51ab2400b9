"""What a request may say of a generation: consolidation, revisions, metadata, topics.

Source: wire specification, section 8.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.support.official import USER, Bank, actions, invalid

LATER = datetime(2130, 1, 2, 3, 4, 5, tzinfo=UTC)


def _metadata(**texts: str) -> dict[str, Any]:
    return {key: {"string_value": text} for key, text in texts.items()}


def _texts(bank: Bank, name: str) -> dict[str, str]:
    """Return the metadata of a memory, all of whose values are texts."""
    found = bank.get(name).metadata or {}
    return {key: value.string_value for key, value in found.items()}


def test_without_consolidation_every_fact_is_a_new_memory(bank: Bank) -> None:
    bank.remember("I live in Zurich")
    found = bank.remember("I live in Zurich", "I live in Zurich", disable_consolidation=True)
    assert actions(found) == ["CREATED", "CREATED"]
    assert bank.listed_facts() == ["I live in Zurich"] * 3


def test_without_consolidation_nothing_said_is_merged(bank: Bank) -> None:
    bank.hear("I live in Zurich.")
    found = bank.hear("I live in Oslo.", disable_consolidation=True)
    assert actions(found) == ["CREATED"]
    assert len(bank.listed()) == 2


def test_a_request_sets_the_life_of_its_revisions(bank: Bank) -> None:
    (by_length,) = bank.remember("I live in Zurich", revision_ttl="300s")
    (revision,) = bank.revisions(by_length.memory.name)
    assert revision.expire_time - revision.create_time == timedelta(seconds=300)
    (by_end,) = bank.remember("My dog is called Rex.", revision_expire_time=LATER)
    assert bank.revisions(by_end.memory.name)[0].expire_time == LATER


def test_a_request_may_keep_no_revisions(bank: Bank) -> None:
    (made,) = bank.remember("I live in Zurich", disable_memory_revisions=True)
    assert bank.revisions(made.memory.name) == []
    without: dict[str, Any] = {"disable_memory_revisions": True, "revision_expire_time": LATER}
    (made,) = bank.remember("My dog is called Rex.", **without)
    assert bank.revisions(made.memory.name) == []


def test_two_lives_of_revisions_are_refused(bank: Bank) -> None:
    with invalid("revisionTtl"):
        bank.remember("x", revision_ttl="1s", revision_expire_time=LATER)


def test_labels_are_on_the_revisions_of_created_updated_and_deleted(bank: Bank) -> None:
    (made,) = bank.hear("I live in Zurich.", revision_labels={"step": "1"})
    bank.hear("I live in Zurich.", revision_labels={"step": "2"})
    bank.hear("Please forget that I live in Zurich.", revision_labels={"step": "3"})
    found = [one.labels for one in bank.revisions(made.memory.name)]
    assert found == [{"step": "3"}, {"step": "2"}, {"step": "1"}]


def test_metadata_is_on_created_memories(bank: Bank) -> None:
    when = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
    given = {"src": {"string_value": "a"}, "when": {"timestamp_value": when}}
    (made,) = bank.remember("I live in Zurich", metadata=given)
    found = bank.get(made.memory.name).metadata
    assert {key: value.model_dump(exclude_none=True) for key, value in found.items()} == given


STRATEGIES: dict[str, dict[str, str]] = {
    "OVERWRITE": {"b": "new", "c": "3"},
    "METADATA_MERGE_STRATEGY_UNSPECIFIED": {"b": "new", "c": "3"},
    "MERGE": {"a": "1", "b": "new", "c": "3"},
}


@pytest.mark.parametrize(("strategy", "expected"), STRATEGIES.items(), ids=STRATEGIES)
def test_metadata_of_an_updated_memory_follows_the_strategy(
    bank: Bank, strategy: str, expected: dict[str, str]
) -> None:
    (made,) = bank.remember("I live in Zurich", metadata=_metadata(a="1", b="2"))
    (updated,) = bank.remember(
        "I live in Zurich",
        metadata=_metadata(b="new", c="3"),
        metadata_merge_strategy=strategy,
    )
    assert updated.memory.name == made.memory.name
    assert _texts(bank, made.memory.name) == expected


def test_the_default_strategy_overwrites(bank: Bank) -> None:
    (made,) = bank.remember("I live in Zurich", metadata=_metadata(a="1"))
    bank.remember("I live in Zurich", metadata=_metadata(b="2"))
    assert _texts(bank, made.memory.name) == {"b": "2"}


def test_an_exact_match_of_metadata_may_be_required(bank: Bank) -> None:
    strategy: dict[str, Any] = {"metadata_merge_strategy": "REQUIRE_EXACT_MATCH"}
    (first,) = bank.remember("I live in Zurich", metadata=_metadata(a="1"))
    (other,) = bank.remember("I live in Zurich", metadata=_metadata(a="2"), **strategy)
    assert other.action.value == "CREATED"
    (same,) = bank.remember("I live in Zurich", metadata=_metadata(a="1"), **strategy)
    assert (same.action.value, same.memory.name) == ("UPDATED", first.memory.name)


def test_an_unknown_strategy_is_refused(bank: Bank, http: httpx.Client) -> None:
    body = {
        "scope": USER,
        "directMemoriesSource": {"directMemories": [{"fact": "x"}]},
        "metadataMergeStrategy": "SHUFFLE",
    }
    answer = http.post(f"{bank.name}/memories:generate", json=body)
    assert answer.status_code == 400
    assert "metadataMergeStrategy" in answer.json()["error"]["message"]


def test_allowed_topics_restrict_extraction(bank: Bank) -> None:
    said = ("I live in Zurich.", "I prefer tea over coffee.")
    allowed = [{"managed_memory_topic": "USER_PREFERENCES"}]
    (made,) = bank.hear(*said, allowed_topics=allowed)
    memory = bank.get(made.memory.name)
    assert "tea" in memory.fact
    assert [one.managed_memory_topic.value for one in memory.topics] == ["USER_PREFERENCES"]


def test_an_empty_topic_is_refused(bank: Bank) -> None:
    with invalid("allowedTopics[0]"):
        bank.hear("x", allowed_topics=[{}])


def test_a_time_zone_is_taken_and_checked(bank: Bank, http: httpx.Client) -> None:
    event = {"content": {"role": "user", "parts": [{"text": "I live in Zurich."}]}}
    body = {"scope": USER, "directContentsSource": {"events": [event]}}
    path = f"{bank.name}/memories:generate"
    assert http.post(path, json={**body, "timeZone": "Europe/Zurich"}).status_code == 200
    refused = http.post(path, json={**body, "timeZone": "Mars/Olympus"})
    assert refused.status_code == 400
    assert "timeZone" in refused.json()["error"]["message"]


def test_the_time_at_which_a_fact_was_said_is_a_field_that_the_client_drops(
    bank: Bank, http: httpx.Client
) -> None:
    (made,) = bank.hear("I live in Zurich.")
    memory = bank.get(made.memory.name)
    assert memory.fact == "I live in Zurich."
    assert "event_time" not in memory.model_dump()
    assert "eventTime" in http.get(memory.name).json()


def test_no_life_of_memories_can_be_given(bank: Bank, http: httpx.Client) -> None:
    body = {
        "scope": USER,
        "directMemoriesSource": {"directMemories": [{"fact": "x"}]},
        "ttl": "60s",
    }
    answer = http.post(f"{bank.name}/memories:generate", json=body)
    assert answer.status_code == 400
    assert "ttl" in answer.json()["error"]["message"]
