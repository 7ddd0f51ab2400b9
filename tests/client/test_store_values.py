"""What a LangGraph store holds as memories: namespaces, keys, values and filters."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from open_memory_bank import _store_values as values
from open_memory_bank._requests import metadata_value

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)
_INDEXED = {"key": "lg_unindexed", "value": {"boolValue": True}, "negate": True}


@pytest.mark.parametrize(
    ("namespace", "levels", "scope"),
    [
        (("memories", "42"), None, {"namespace": "memories.42"}),
        (("memories",), None, {"namespace": "memories"}),
        (
            ("memories", "42"),
            ("kind", "user_id"),
            {"kind": "memories", "user_id": "42"},
        ),
    ],
)
def test_a_namespace_is_a_scope(namespace: Any, levels: Any, scope: Any) -> None:
    assert values.scope_of(namespace, levels) == scope
    assert values.namespace_of(scope, levels) == namespace


@pytest.mark.parametrize("levels", [None, ("kind", "user_id")])
def test_other_scopes_are_no_namespaces(levels: Any) -> None:
    assert values.namespace_of({"user_id": "42"}, levels) is None


def test_a_namespace_of_another_depth_is_refused() -> None:
    with pytest.raises(ValueError, match="2 labels"):
        values.scope_of(("a",), ("kind", "user_id"))


@pytest.mark.parametrize(
    ("prefix", "levels", "wanted"),
    [
        ((), None, ""),
        (("a+b", "c"), None, 'scope.namespace=~"(?s)a\\\\+b\\\\.c([.].*)?"'),
        (("m",), ("kind", "user_id"), 'scope."kind"="m"'),
        (("m", '"4'), ("kind", "user_id"), 'scope."kind"="m" AND scope."user_id"="\\"4"'),
    ],
)
def test_a_prefix_is_a_filter_of_scopes(prefix: Any, levels: Any, wanted: str) -> None:
    assert values.scopes_filter(prefix, levels) == wanted


def test_the_id_of_a_key_is_the_same_each_time_and_no_others() -> None:
    ids = [
        values.memory_id_of(*place)
        for place in ((("a", "b"), "c"), (("a",), "b"), (("a", "b"), "d"), (("a", "b"), "c"))
    ]
    assert ids[0] == ids[3]
    assert len(set(ids)) == 3
    assert {len(id_) for id_ in ids} == {43}


@given(st.text(max_size=30), st.dictionaries(st.text(max_size=10), _JSON, max_size=4))
def test_a_value_comes_back_as_it_was(key: str, value: dict[str, Any]) -> None:
    content = values.content_of(key, value, ("content",), is_indexed=True)
    stored = {name: metadata_value(inner) for name, inner in content["metadata"].items()}
    assert values.key_and_value(stored) == (key, value)


def test_a_long_value_is_in_pieces() -> None:
    value = {"content": "x" * 90_000, "n": 1}
    content = values.content_of("k", value, ("content",), is_indexed=True)
    stored = {name: metadata_value(inner) for name, inner in content["metadata"].items()}
    assert values.key_and_value(stored) == ("k", value)
    assert len(content["fact"]) == 10_000
    assert sorted(name for name in stored if name.startswith("v_")) == ["v_n"]
    with pytest.raises(ValueError, match="96000"):
        values.content_of("k", {"content": "x" * 96_000}, (), is_indexed=True)


@pytest.mark.parametrize(
    ("value", "is_indexed", "fact"),
    [
        ({"content": "I like tea."}, True, "I like tea."),
        ({"content": " ", "text": "I like tea."}, True, "I like tea."),
        ({"other": 1}, True, '{"other":1}'),
        ({"content": "I like tea."}, False, "key"),
    ],
)
def test_the_fact_is_what_is_searched(value: Any, *, is_indexed: bool, fact: str) -> None:
    content = values.content_of("key", value, ("content", "text"), is_indexed=is_indexed)
    assert content["fact"] == fact
    assert content["metadata"].get("lg_unindexed") == (None if is_indexed else True)


def test_fields_at_the_top_can_be_asked_for() -> None:
    value = {"a": 1, "b": True, "c": "x", "d": [1], "e": None, "f": {"g": 1}}
    metadata = values.content_of("k", value, (), is_indexed=True)["metadata"]
    assert {name: inner for name, inner in metadata.items() if name.startswith("v_")} == {
        "v_a": 1,
        "v_b": True,
        "v_c": "x",
    }


def _condition(op: str, value: Any, **more: Any) -> Any:
    return {"key": "v_n", "op": op, "value": metadata_value(value), **more}


@pytest.mark.parametrize(
    ("wanted", "groups"),
    [
        ({"n": "x"}, [[_condition("EQUAL", "x")]]),
        ({"n": {"$ne": True}}, [[_condition("EQUAL", True, negate=True)]]),
        (
            {"n": {"$gt": 1, "$lt": 3}},
            [[_condition("GREATER_THAN", 1), _condition("LESS_THAN", 3)]],
        ),
        ({"n": {"$gte": 1}}, [[_condition("GREATER_THAN", 1)], [_condition("EQUAL", 1)]]),
        ({"n": {"$lte": 1}}, [[_condition("LESS_THAN", 1)], [_condition("EQUAL", 1)]]),
    ],
)
def test_a_filter_is_groups_of_conditions(wanted: Any, groups: Any) -> None:
    found = values.groups_of(wanted, is_search=False)
    assert found == [{"filters": group} for group in groups]
    (first, *_) = values.groups_of(wanted, is_search=True)
    assert first["filters"] == [_INDEXED, *groups[0]]


def test_without_a_filter_a_search_leaves_out_what_is_not_indexed() -> None:
    assert values.groups_of(None, is_search=False) == []
    assert values.groups_of({}, is_search=True) == [{"filters": [_INDEXED]}]


@pytest.mark.parametrize(
    "wanted",
    [
        {"n": None},
        {"n": [1]},
        {"n": {"inner": 1}},
        {"n": {}},
        {"n": {"$in": 1}},
        {"n": {"$gt": "x"}},
        {"n": {"$gte": True}},
        {str(number): {"$gte": 1} for number in range(6)},
    ],
    ids=json.dumps,
)
def test_what_the_service_cannot_filter_by_is_refused(wanted: Any) -> None:
    with pytest.raises(NotImplementedError):
        values.groups_of(wanted, is_search=False)
