"""The rules of all importers, at their limits."""

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest

from app.memory.bulk.schemas import ImportedMemory
from app.process.imports.items import EXPIRED, Draft, ItemError, Options, line_of

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_USER = {"user_id": "42"}


def _line(options: dict[str, Any] | None = None, **fields: Any) -> tuple[Any, dict[str, int]]:
    losses = Counter[str]()
    draft = Draft(**{"fact": "x", "scope": _USER, **fields})
    return line_of(draft, Options("mem0", _NOW, **(options or {})), losses), dict(losses)


@pytest.mark.parametrize(
    ("reason", "fields"),
    [
        ("FACT_EMPTY", {"fact": ""}),
        ("FACT_EMPTY", {"fact": "\n "}),
        ("FACT_EMPTY", {"fact": None}),
        ("ITEM_UNKNOWN", {"fact": ["x"]}),
        ("FACT_TOO_LONG", {"fact": "x" * 10_001}),
        ("TEXT_UNSTORABLE", {"fact": "a\0b"}),
        ("TEXT_UNSTORABLE", {"fact": "\ud800"}),
        ("TEXT_UNSTORABLE", {"metadata": {"a": "\0"}}),
        ("TEXT_UNSTORABLE", {"fields": {"topics": [{"x\0": "y"}]}}),
        ("SCOPE_MISSING", {"scope": {}}),
        ("SCOPE_MISSING", {"scope": {"user_id": None, "run_id": ""}}),
        ("SCOPE_INVALID", {"scope": {"user_id": "x" * 1_025}}),
        ("SCOPE_INVALID", {"scope": {"user_id": "*"}}),
        ("SCOPE_INVALID", {"scope": {"user_id": True}}),
        ("SCOPE_INVALID", {"scope": {"user_id": ["42"]}}),
        ("SCOPE_INVALID", {"scope": {"k" * 257: "42"}}),
        ("SCOPE_INVALID", {"scope": {str(number): "x" for number in range(6)}}),
    ],
)
def test_an_item_beyond_the_limits_is_refused(reason: str, fields: dict[str, Any]) -> None:
    with pytest.raises(ItemError) as refused:
        _line(**fields)
    assert refused.value.reason == reason


def test_what_is_at_the_limits_is_taken() -> None:
    scope = {"k" * 256: "x" * 1_024, **{str(number): "x" for number in range(4)}}
    metadata = {f"{number:02}": "v" * 4_096 for number in range(50)}
    line, losses = _line(fact="x" * 10_000, scope=scope, metadata=metadata)
    assert losses == {}
    ImportedMemory.model_validate(line)


def test_metadata_have_their_types() -> None:
    line, losses = _line(
        metadata={
            "text": "x",
            "empty": "",
            "number": 7,
            "yes": True,
            "none": None,
            "seen_at": "2025-01-02 03:04:05+01:00",
            "looked_at": "yesterday",
            "date": "2025-01-02T03:04:05Z",
            "list": ["\u00e9", 1],
            "long": ["x" * 4_096],
            "id": 123_456_789_012_345_678,
            "huge": 10**4_200,
            "endless": float("inf"),
            "n" * 129: "x",
        }
    )
    assert line["metadata"] == {
        "text": {"stringValue": "x"},
        "empty": {"stringValue": ""},
        "number": {"doubleValue": 7.0},
        "yes": {"boolValue": True},
        "id": {"stringValue": "123456789012345678"},
        "seen_at": {"timestampValue": "2025-01-02T02:04:05Z"},
        "looked_at": {"stringValue": "yesterday"},
        "date": {"stringValue": "2025-01-02T03:04:05Z"},
        "list": {"stringValue": '["\u00e9", 1]'},
    }
    assert losses == {"metadata too long": 4}
    ImportedMemory.model_validate(line)


def test_of_many_metadata_the_first_by_name_stay() -> None:
    line, losses = _line(metadata={f"{number:02}": number for number in reversed(range(60))})
    assert list(line["metadata"]) == [f"{number:02}" for number in range(50)]
    assert losses == {"metadata beyond 50 keys": 10}


def test_the_command_adds_to_scopes_metadata_and_labels() -> None:
    options: dict[str, Any] = {
        "pairs": {"tenant": "acme"},
        "keys": ("user_id",),
        "labels": {"origin": "old"},
        "metadata": {"batch": "7"},
    }
    line, _ = _line(options, scope={**_USER, "run_id": "9"})
    assert line["scope"] == {**_USER, "tenant": "acme"}
    assert line["metadata"] == {"batch": {"stringValue": "7"}}
    assert line["revisionLabels"] == {"origin": "old"}


def test_an_id_is_the_same_each_time_and_another_for_another_item() -> None:
    items: list[dict[str, Any]] = [
        {},
        {"fact": "y"},
        {"scope": {"user_id": "43"}},
        {"source_id": "1"},
        {"source_id": "2"},
    ]
    made = [_line(**item)[0]["memoryId"] for item in items]
    assert made == [_line(**item)[0]["memoryId"] for item in items]
    assert len(set(made)) == len(items)
    assert all(len(memory_id) == len("mem0-") + 32 for memory_id in made)


@pytest.mark.parametrize("memory_id", ["A", "1", "x" * 64, "a_b", "a-"])
def test_only_a_legal_id_is_kept(memory_id: str) -> None:
    assert _line(memory_id="mem0-a1", source_id="1")[0]["memoryId"] == "mem0-a1"
    made = _line(source_id="1")[0]["memoryId"]
    assert _line(memory_id=memory_id, source_id="1")[0]["memoryId"] == made


def test_times_are_kept_in_utc() -> None:
    line, losses = _line(
        create_time="2025-01-01T01:00:00+02:00", update_time="2025-01-01", expire_time="9999-12-31"
    )
    assert (line["createTime"], line["updateTime"], line["expireTime"]) == (
        "2024-12-31T23:00:00Z",
        "2025-01-01T00:00:00Z",
        "9999-12-31T00:00:00Z",
    )
    assert losses == {}


def test_times_that_cannot_be_read_are_counted() -> None:
    line, losses = _line(create_time="soon", update_time="later", expire_time=7)
    assert line.keys() == {"memoryId", "scope", "fact"}
    assert losses == {
        "unreadable createTime": 1,
        "unreadable expireTime": 1,
        "updateTime without createTime": 1,
    }


def test_what_has_expired_is_counted() -> None:
    assert _line(expire_time="2026-01-01T00:00:00Z") == (None, {EXPIRED: 1})


def test_a_pair_of_the_command_replaces_no_user_of_the_source() -> None:
    given: dict[str, Any] = {"pairs": {"user_id": "other"}}
    with pytest.raises(ItemError) as refused:
        _line(given)
    assert refused.value.reason == "SCOPE_CONFLICT"
    line, _ = _line({**given, "keys": ("agent_id",)}, scope={**_USER, "agent_id": "a"})
    assert line["scope"] == {"user_id": "other", "agent_id": "a"}
    line, _ = _line({"pairs": dict(_USER)})
    assert line["scope"] == _USER
