"""Whatever stands in a file: each item becomes lines that the service reads, or is rejected."""

import json
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.process.imports.items import Options
from app.process.imports.products import SOURCES, ItemLine, Rejected, converted
from app.process.imports.records import Record

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_FIELDS = {
    "mem0": "id memory metadata created_at updated_at user_id agent_id expiration_date categories",
    "openmemory": "id content state metadata app app_id category_ids categories created_at",
    "vertex": "name fact scope topics metadata createTime update_time userId sessionEvents",
    "hindsight": "id text context tags metadata mentioned_at occurred_start state bank_id",
    "zep": "uuid fact name group_id created_at expired_at valid_at invalid_at attributes",
    "graphiti": "uuid_ fact name group_id created_at expired_at valid_at invalid_at attributes",
    "letta": "agents blocks name core_memory messages block_ids id memory_blocks",
    "langgraph": "namespace key value created_at updated_at",
    "mcp-memory": "type name entityType observations from to relationType",
    "jsonl": "memoryId fact scope metadata createTime updateTime expireTime",
}
_INNER = "id label value role content text type tool_calls function name arguments user_id"
_TEXTS = st.sampled_from(
    [
        "",
        "x",
        "42",
        "active",
        "a.b",
        "user",
        "assistant",
        "tool",
        "2025-01-02",
        "2025-01-02T03:04:05Z",
    ]
)
_LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | _TEXTS
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(_INNER.split()) | st.text(), inner, max_size=4)
    ),
    max_leaves=5,
)


@pytest.mark.parametrize("name", _FIELDS)
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_item_is_converted_or_rejected(name: str, data: st.DataObject) -> None:
    fields = dict.fromkeys(_FIELDS[name].split(), _VALUES)
    item = data.draw(st.fixed_dictionaries({}, optional=fields) | _VALUES)
    heading = data.draw(st.fixed_dictionaries({}, optional=dict.fromkeys(_HEADING, _VALUES)))
    pairs = data.draw(st.sampled_from([{}, {"user_id": "42"}]))
    more = data.draw(st.sampled_from([{}, {"batch": "7"}]))
    options = Options(name, _NOW, pairs, ("kind", "user_id"), more, more, sessions=True)
    for made in converted([Record(1, item, heading)], options, Counter()):
        if isinstance(made, ItemLine):
            assert made.line["scope"]
            assert json.loads(json.dumps(made.line)) == made.line
        elif isinstance(made, Rejected):
            assert made.reason.isupper()


_HEADING = ("user", "apps", "categories")


def test_every_source_is_tried() -> None:
    assert _FIELDS.keys() == SOURCES.keys()


def test_an_item_of_many_levels_is_rejected() -> None:
    value: Any = "x"
    for _ in range(5_000):
        value = [value]
    item = {"id": "1", "memory": "x", "user_id": "42", "metadata": {"deep": value}}
    (made,) = converted([Record(1, item)], Options("mem0", _NOW), Counter())
    assert isinstance(made, Rejected)
    assert made.reason == "ITEM_TOO_DEEP"


def test_items_without_ids_are_not_one() -> None:
    items = [{"id": None, "memory": text, "user_id": "42"} for text in ("x", "y")]
    made = converted([Record(1, item) for item in items], Options("mem0", _NOW), Counter())
    assert len({one.line["memoryId"] for one in made if isinstance(one, ItemLine)}) == 2
