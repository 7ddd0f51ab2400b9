"""Filters of retrieval: texts, and groups over metadata.

Source: wire specification, sections 7 and 14.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.support.official import Bank, invalid

TEA, NUTS, TRAIN = (
    "I like green tea in the morning.",
    "I have allergies to peanuts.",
    "I travel to work by train.",
)
WHEN = datetime(2030, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)


@pytest.fixture(scope="module")
def filled(shared_bank: Bank) -> Bank:
    """A bank with three memories, oldest first: tea, nuts, train; the last without metadata.

    No test changes it.
    """
    bank = shared_bank
    bank.create(
        TEA,
        topics=[{"managed_memory_topic": "USER_PREFERENCES"}],
        metadata={
            "src": {"string_value": "a"},
            "score": {"double_value": 1.5},
            "ok": {"bool_value": True},
            "when": {"timestamp_value": WHEN},
        },
    )
    bank.create(
        NUTS,
        topics=[{"custom_memory_topic_label": "my health"}],
        metadata={
            "src": {"string_value": "b"},
            "score": {"double_value": -3},
            "ok": {"bool_value": False},
        },
    )
    bank.create(TRAIN)
    return bank


MANAGED = "topics.managed_memory_topic: USER_PREFERENCES"
CUSTOM = 'topics.custom_memory_topic_label:"my health"'
TEXTS: dict[str, list[str]] = {
    f'fact="{TEA}"': [TEA],
    'fact=~".*allergies.*"': [NUTS],
    'fact =~ "I (like|travel) .*"': [TRAIN, TEA],
    'topics.managed_memory_topic = "USER_PREFERENCES"': [TEA],
    MANAGED: [TEA],
    CUSTOM: [NUTS],
    f"{CUSTOM} OR {MANAGED}": [NUTS, TEA],
    'create_time > "2020-01-01T00:00:00Z"': [TRAIN, NUTS, TEA],
    'create_time >= "2020-01-01T00:00:00.000001+00:00" AND fact=~".*tea.*"': [TEA],
    "update_time < 1577836800000000": [],
    'update_time < "1577836800000000"': [],
}


@pytest.mark.parametrize(("text", "expected"), TEXTS.items(), ids=TEXTS)
def test_a_filter_binds_either_kind_of_retrieval(
    filled: Bank, text: str, expected: list[str]
) -> None:
    config = {"filter": text}
    assert filled.retrieved_facts(config=config) == expected
    found = filled.retrieved_facts(similarity_search_params={"search_query": "tea"}, config=config)
    assert sorted(found) == sorted(expected)
    page = filled.memories.retrieve(
        name=filled.name,
        scope={"user_id": "123"},
        simple_retrieval_params={"page_size": 10},
        config=config,
    ).page
    assert [one.memory.fact for one in page] == expected


def test_a_filter_comes_before_the_count(filled: Bank) -> None:
    search = {"search_query": "tea", "top_k": 1}
    config = {"filter": 'fact=~".*train.*"'}
    assert filled.retrieved_facts(similarity_search_params=search, config=config) == [TRAIN]


@pytest.mark.parametrize("text", ["fact=", 'nonsense="x"', 'fact=~"["', 'create_time="soon"'])
def test_a_bad_filter_is_refused(filled: Bank, text: str) -> None:
    with invalid("filter"):
        filled.retrieve(config={"filter": text})


def _one(key: str, value: dict[str, Any], **how: Any) -> dict[str, Any]:
    return {"key": key, "value": value, **how}


def _found(bank: Bank, *groups: Sequence[dict[str, Any]], **arguments: Any) -> list[str]:
    config = {"filter_groups": [{"filters": [*group]} for group in groups]}
    return bank.retrieved_facts(config=config, **arguments)


A = _one("src", {"string_value": "a"})
B = _one("src", {"string_value": "b"}, op="EQUAL", negate=False)
GROUPS: dict[str, tuple[list[list[dict[str, Any]]], list[str]]] = {
    "equal by default": ([[A]], [TEA]),
    "equal": ([[B]], [NUTS]),
    "unspecified is equal": (
        [[_one("src", {"string_value": "a"}, op="OPERATOR_UNSPECIFIED")]],
        [TEA],
    ),
    "groups are alternatives": ([[A], [B]], [NUTS, TEA]),
    "filters of a group all bind": ([[A, B]], []),
    "a number": ([[_one("score", {"double_value": 1.5})]], [TEA]),
    "a greater number": ([[_one("score", {"double_value": 0}, op="GREATER_THAN")]], [TEA]),
    "a lesser number": ([[_one("score", {"double_value": 0}, op="LESS_THAN")]], [NUTS]),
    "not itself greater": ([[_one("score", {"double_value": 1.5}, op="GREATER_THAN")]], []),
    "true": ([[_one("ok", {"bool_value": True})]], [TEA]),
    "false": ([[_one("ok", {"bool_value": False})]], [NUTS]),
    "another type": ([[_one("src", {"double_value": 1})]], []),
    "another key": ([[_one("nothing", {"string_value": "a"})]], []),
    "an equal whole second": (
        [[_one("when", {"timestamp_value": WHEN.replace(microsecond=0)})]],
        [TEA],
    ),
    "a later moment": (
        [[_one("when", {"timestamp_value": WHEN.replace(year=2029)}, op="GREATER_THAN")]],
        [TEA],
    ),
    "an earlier moment": (
        [[_one("when", {"timestamp_value": WHEN.replace(year=2031)}, op="LESS_THAN")]],
        [TEA],
    ),
    "no moment is later than its own second": (
        [[_one("when", {"timestamp_value": WHEN.replace(microsecond=0)}, op="GREATER_THAN")]],
        [],
    ),
    "a negated filter": ([[_one("src", {"string_value": "a"}, negate=True)]], [TRAIN, NUTS]),
    "a negated comparison": (
        [[_one("score", {"double_value": 0}, op="GREATER_THAN", negate=True)]],
        [TRAIN, NUTS],
    ),
    "a negated filter beside another": (
        [[_one("src", {"string_value": "a"}, negate=True), _one("ok", {"bool_value": False})]],
        [NUTS],
    ),
}


@pytest.mark.parametrize(("groups", "expected"), GROUPS.values(), ids=GROUPS)
def test_groups_filter_by_metadata(
    filled: Bank, groups: list[list[dict[str, Any]]], expected: list[str]
) -> None:
    assert _found(filled, *groups) == expected
    found = _found(filled, *groups, similarity_search_params={"search_query": "tea"})
    assert sorted(found) == sorted(expected)


def test_a_filter_and_groups_both_bind(filled: Bank) -> None:
    groups = [{"filters": [A]}, {"filters": [B]}]
    config = {"filter": 'fact=~".*peanuts.*"', "filter_groups": groups}
    assert filled.retrieved_facts(config=config) == [NUTS]


def test_no_groups_filter_nothing(filled: Bank) -> None:
    assert filled.retrieved_facts(config={"filter_groups": []}) == [TRAIN, NUTS, TEA]


BAD = {
    "no key": {"value": {"string_value": "a"}},
    "no value": {"key": "src"},
    "an empty value": {"key": "src", "value": {}},
    "two values": {"key": "src", "value": {"string_value": "a", "bool_value": True}},
}


@pytest.mark.parametrize("one", BAD.values(), ids=BAD)
def test_a_bad_group_is_refused(filled: Bank, one: dict[str, Any]) -> None:
    with invalid("filterGroups[0].filters[0]"):
        _found(filled, [one])


def test_the_types_of_the_client_are_taken_as_well_as_dicts(filled: Bank) -> None:
    from vertexai._genai import types  # noqa: PLC0415 - warns when it is imported

    one = types.MemoryFilter(
        key="src",
        op=types.Operator.EQUAL,
        negate=True,
        value=types.MemoryMetadataValue(string_value="a"),
    )
    config = types.RetrieveAgentEngineMemoriesConfig(
        filter_groups=[types.MemoryConjunctionFilter(filters=[one])]
    )
    assert filled.retrieved_facts(config=config) == [TRAIN, NUTS]
