"""Comparison of two archives by digests of each kind, ignoring lines that expired between them."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from app.memory.transfer.logic.fields import read_time
from app.memory.transfer.logic.format import CHECK, HEADER, REVISIONS, TRAILER

_PARENTS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "revision": ("memory", ("memoryId",)),
    "vector": ("memory", ("memoryId",)),
    "event": ("session", ("sessionId",)),
    "summary": ("session", ("sessionId",)),
    "artifact": ("namespace", ("memory", "namespace")),
    "page": ("artifact", ("contentId",)),
}
"""By kind: its parent kind and the fields that name the parent. A line expires with its parent."""
_NAMES = {
    "memory": ("memoryId",),
    "session": ("sessionId",),
    "namespace": ("memory", "namespace"),
    "artifact": ("contentId",),
}
_ENDS = ("recoverUntil", "expireTime", "removeTime")


@dataclass
class ArchiveDigests:
    """Digests of an archive's lines by kind, without lines that have expired at the time `by`.

    Nor have they lines that could last be recovered then. `extends_recovery` ignores differences
    between the ends of recovery windows.
    """

    by: datetime
    extends_recovery: bool = False
    passed: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    _digests: dict[str, Any] = field(default_factory=dict)
    _gone: set[tuple[str, ...]] = field(default_factory=set)

    def add(self, lines: Iterable[bytes]) -> None:
        """Add lines in the order of the archive."""
        for line in lines:
            fields = json.loads(line)
            kind = fields["kind"]
            if kind in {HEADER, CHECK, TRAILER}:
                continue
            if self._has_gone(kind, fields):
                self.passed += 1
                continue
            self.counts[kind] += 1
            digest = self._digests.setdefault(kind, hashlib.sha256())
            digest.update(self._comparable(fields))

    def unlike(self, other: "ArchiveDigests") -> list[str]:
        """Return the kinds whose lines differ, with their counts in both archives."""
        kinds = sorted(self._digests.keys() | other._digests.keys())  # noqa: SLF001 - its own class
        return [
            f"{kind}: {self.counts[kind]} and {other.counts[kind]}"
            for kind in kinds
            if self._digest(kind) != other._digest(kind)  # noqa: SLF001 - its own class
        ]

    def _digest(self, kind: str) -> str | None:
        digest = self._digests.get(kind)
        return None if digest is None else str(digest.hexdigest())

    def _has_gone(self, kind: str, fields: Mapping[str, Any]) -> bool:
        parent = _PARENTS.get(kind)
        is_orphan = parent is not None and _key(parent[0], parent[1], fields) in self._gone
        if not is_orphan and not self._has_ended(fields):
            return False
        if kind in _NAMES:
            self._gone.add(_key(kind, _NAMES[kind], fields))
        return True

    def _has_ended(self, fields: Mapping[str, Any]) -> bool:
        return any(name in fields and read_time(fields[name]) <= self.by for name in _ENDS)

    def _comparable(self, fields: dict[str, Any]) -> bytes:
        if REVISIONS in fields:
            kept = [revision for revision in fields[REVISIONS] if not self._has_ended(revision)]
            self.passed += len(fields[REVISIONS]) - len(kept)
            fields = {**fields, REVISIONS: kept}
        if self.extends_recovery:
            fields = {name: value for name, value in fields.items() if name != "recoverUntil"}
        return json.dumps(fields, separators=(",", ":")).encode() + b"\n"


def _key(kind: str, names: Iterable[str], fields: Mapping[str, Any]) -> tuple[str, ...]:
    return (kind, *(str(fields.get(name)) for name in names))
