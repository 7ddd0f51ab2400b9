"""Archives are compared by kind, without what has ended between them."""

import json
from datetime import UTC, datetime
from typing import Any

from app.memory.transfer.logic.comparing import ArchiveDigests

_BY = datetime(2026, 1, 15, tzinfo=UTC)
_BEFORE, _AFTER = "2026-01-14T00:00:00.000000Z", "2026-01-16T00:00:00.000000Z"


def _digests(*lines: dict[str, Any], extends: bool = False) -> ArchiveDigests:
    found = ArchiveDigests(_BY, extends)
    found.add(json.dumps(line).encode() for line in lines)
    return found


def _memory(name: str, **fields: Any) -> dict[str, Any]:
    return {"kind": "memory", "memoryId": name, "revisions": [], **fields}


def test_equal_lines_are_equal_whatever_surrounds_them() -> None:
    first = _digests({"kind": "header", "archiveId": "a"}, _memory("m"), {"kind": "check"})
    assert first.unlike(_digests(_memory("m"), {"kind": "trailer", "left": {}})) == []


def test_a_kind_that_differs_is_named_with_its_counts() -> None:
    first = _digests(_memory("m"), _memory("n"), {"kind": "usage", "calls": 1})
    second = _digests(_memory("m"), _memory("n", fact="x"), {"kind": "stream"})
    assert first.unlike(second) == ["memory: 2 and 2", "stream: 0 and 1", "usage: 1 and 0"]


def test_what_has_ended_is_left_out_with_all_below_it() -> None:
    gone = [
        _memory("gone", recoverUntil=_BEFORE),
        {"kind": "vector", "memoryId": "gone"},
        {"kind": "session", "sessionId": "s", "expireTime": _BEFORE},
        {"kind": "event", "sessionId": "s", "seq": 1},
        {"kind": "namespace", "memory": "t", "namespace": "n", "expireTime": _BEFORE},
        {"kind": "artifact", "memory": "t", "namespace": "n", "contentId": "c"},
        {"kind": "page", "contentId": "c", "page": 0},
        {"kind": "operation", "operationId": "o", "removeTime": _BEFORE},
    ]
    kept = _memory("kept", expireTime=_AFTER)
    old = {"version": 1, "expireTime": _BEFORE}
    first = _digests({**kept, "revisions": [old]}, *gone)
    assert first.unlike(_digests(kept)) == []
    assert first.passed == len(gone) + 1
    assert first.unlike(_digests()) == ["memory: 1 and 0"]


def test_windows_of_recovery_may_differ_where_they_were_extended() -> None:
    lines = [_memory("m", recoverUntil=_AFTER), _memory("m", recoverUntil="2027" + _AFTER[4:])]
    assert _digests(lines[0]).unlike(_digests(lines[1])) == ["memory: 1 and 1"]
    assert _digests(lines[0], extends=True).unlike(_digests(lines[1], extends=True)) == []
