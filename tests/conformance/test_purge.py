"""Purges: counted, then forced.

Source: wire specification, sections 10 and 14.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.support.official import Bank, invalid, missing

ANN, BOB = {"user_id": "ann"}, {"user_id": "bob", "app": "x"}
TEA, NUTS, TRAIN = "I like tea.", "I have allergies to nuts.", "I travel by train."


@pytest.fixture
def filled(bank: Bank) -> Bank:
    """A bank with memories of two scopes, oldest first: tea, nuts, train."""
    bank.create(TEA, ANN, topics=[{"managed_memory_topic": "USER_PREFERENCES"}])
    bank.create(NUTS, ANN, metadata={"src": {"string_value": "a"}})
    bank.create(TRAIN, BOB, metadata={"src": {"string_value": "b"}})
    return bank


def _purge(bank: Bank, text: str | None = None, *, force: bool = False, **arguments: Any) -> int:
    """Purge and return the count."""
    operation = bank.memories.purge(name=bank.name, filter=text, force=force, **arguments)
    assert operation.done is True
    assert operation.error is None
    count: int = operation.response.purge_count
    return count


FILTERS: dict[str, list[str]] = {
    'scope.user_id="ann"': [NUTS, TEA],
    "scope.user_id=ann": [NUTS, TEA],
    'scope.user_id="bob" AND scope.app="x"': [TRAIN],
    'scope.user_id="nobody"': [],
    r'scope="{\"user_id\": \"ann\"}"': [NUTS, TEA],
    'fact="I like tea."': [TEA],
    'fact=~".*allergies.*"': [NUTS],
    "topics.managed_memory_topic: USER_PREFERENCES": [TEA],
    'create_time>"2020-01-01T00:00:00Z"': [TRAIN, NUTS, TEA],
    "create_time>1577836800000000": [TRAIN, NUTS, TEA],
    'update_time<"2020-01-01T00:00:00Z"': [],
    'scope.user_id="ann" AND fact=~".*tea.*"': [TEA],
}


@pytest.mark.parametrize(("text", "expected"), FILTERS.items(), ids=FILTERS)
def test_a_purge_counts_first_and_then_deletes_what_matches(
    filled: Bank, text: str, expected: list[str]
) -> None:
    assert _purge(filled, text) == len(expected)
    assert filled.listed_facts() == [TRAIN, NUTS, TEA]
    assert _purge(filled, text, force=True) == len(expected)
    assert filled.listed_facts() == [one for one in (TRAIN, NUTS, TEA) if one not in expected]
    assert _purge(filled, text) == 0


GROUP = [{"filters": [{"key": "src", "value": {"string_value": "a"}}]}]


def test_groups_alone_are_enough(filled: Bank) -> None:
    assert _purge(filled, filter_groups=GROUP) == 1
    assert _purge(filled, filter_groups=GROUP, force=True) == 1
    assert filled.listed_facts() == [TRAIN, TEA]


def test_a_filter_and_groups_both_bind(filled: Bank) -> None:
    assert _purge(filled, 'scope.user_id="bob"', filter_groups=GROUP, force=True) == 0
    assert _purge(filled, 'scope.user_id="ann"', filter_groups=GROUP, force=True) == 1
    assert filled.listed_facts() == [TRAIN, TEA]


def test_a_negated_group_purges_the_others(filled: Bank) -> None:
    group = [{"filters": [{"key": "src", "value": {"string_value": "a"}, "negate": True}]}]
    assert _purge(filled, filter_groups=group, force=True) == 2
    assert filled.listed_facts() == [NUTS]


@pytest.mark.parametrize("criteria", [{}, {"filter": ""}, {"filter_groups": []}])
def test_a_purge_needs_criteria(filled: Bank, criteria: dict[str, Any]) -> None:
    with invalid("filter"):
        filled.memories.purge(name=filled.name, force=True, **criteria)
    assert len(filled.listed()) == 3


@pytest.mark.parametrize("text", ["scope.user_id=", 'nonsense="x"', 'fact=~"("'])
def test_a_bad_filter_is_refused(filled: Bank, text: str) -> None:
    with invalid("filter"):
        _purge(filled, text, force=True)
    assert len(filled.listed()) == 3


def test_a_purge_is_done_in_its_first_answer(filled: Bank, http: httpx.Client) -> None:
    body = {"filter": 'scope.user_id="ann"', "force": False}
    operation = http.post(f"{filled.name}/memories:purge", json=body).json()
    assert operation["done"] is True
    assert int(operation["response"]["purgeCount"]) == 2
    assert operation["response"]["@type"].endswith(".PurgeMemoriesResponse")
    assert operation["metadata"]["@type"].endswith(".PurgeMemoriesOperationMetadata")
    assert http.get(operation["name"]).json() == operation


def test_a_purge_need_not_be_waited_for(filled: Bank) -> None:
    config = {"wait_for_completion": False}
    assert _purge(filled, 'scope.user_id="ann"', force=True, config=config) == 2


def test_purged_memories_can_be_recovered(filled: Bank) -> None:
    (train,) = filled.listed(filter='scope.user_id="bob"')
    _purge(filled, 'scope.user_id="bob"', force=True)
    with missing():
        filled.get(train.name)
    deletion, creation = filled.revisions(train.name)
    assert not deletion.fact
    assert creation.fact == TRAIN
    target = filled.first_revision_id(train.name)
    filled.memories.rollback(name=train.name, target_revision_id=target)
    assert filled.get(train.name).fact == TRAIN


def test_a_permanent_purge_leaves_nothing(filled: Bank, http: httpx.Client) -> None:
    (train,) = filled.listed(filter='scope.user_id="bob"')
    body = {"filter": 'scope.user_id="bob"', "force": True, "permanent": True}
    answer = http.post(f"{filled.name}/memories:purge", json=body).json()
    assert int(answer["response"]["purgeCount"]) == 1
    with missing():
        filled.revisions(train.name)


def test_what_is_younger_than_a_moment_stays(filled: Bank) -> None:
    newest = filled.listed()[0]
    text = f'create_time<"{newest.create_time.isoformat()}"'
    assert _purge(filled, text, force=True) == 2
    assert filled.listed() == [newest]
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    assert _purge(filled, f'create_time<"{tomorrow}"', force=True) == 1


def test_a_purge_stays_inside_its_engine(filled: Bank) -> None:
    other = Bank(filled.client, filled.client.agent_engines.create().api_resource.name)
    other.create(TEA, ANN)
    assert _purge(filled, 'scope.user_id="ann"', force=True) == 2
    assert other.listed_facts() == [TEA]


def test_a_purge_of_an_unknown_engine_is_missing(filled: Bank) -> None:
    with missing():
        filled.memories.purge(name="reasoningEngines/404", filter='fact="x"')
