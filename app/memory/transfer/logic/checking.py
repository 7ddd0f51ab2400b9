"""Validation of an archive's values, counts and warnings about it, and comparison of two.

Each line is added to the digest of its kind, so memory use stays small for any number of lines.
Only the names of expired resources are kept.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from pydantic import BaseModel, ValidationError

from app.kernel.wire.archived import ArchivedRow, WrongColumnError
from app.kernel.wire.violations import invalid_fields
from app.memory.transfer.logic.fields import Kind, read_time, write_time
from app.memory.transfer.logic.format import CHECK, HEADER, REVISIONS, TRAILER, Header, Trailer
from app.memory.transfer.logic.kinds import (
    ARTIFACT,
    MEMORY,
    NAMESPACE,
    NOT_EXPORTED,
    OPERATION,
    SESSION,
)
from app.memory.transfer.logic.reading import Block

_OF_EVERY_ANSWER = frozenset({"@type", "withdrawn"})


@dataclass
class LineChecks:
    """Checks of the lines of one archive.

    Attributes:
        rows: the model of each kind's columns, by the kind's name.
        answers: the model of the response fields that the service relies on, by operation kind.
        messages: the response types of operations, by `@type`.
        latest: the latest value that is accepted for a time in the past.
        converted: the number of values converted from an older form, by kind and field.
    """

    rows: Mapping[str, type[ArchivedRow]]
    answers: Mapping[str, type[BaseModel]]
    messages: Mapping[str, type[BaseModel]]
    latest: datetime
    converted: Counter[str] = field(default_factory=Counter)

    def checked(self, kind: Kind, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of a line in their stored form, by column.

        Raises:
            ValueError: no request could have stored a value; the message names its field.
        """
        try:
            read = self.rows[kind.name].read(values, self.latest)
        except WrongColumnError as error:
            raise ValueError(f"{kind.path_of(error.column, error.path)}: {error}") from None
        if kind is OPERATION:
            self._check_operation(values)
        self.converted.update(f"{kind.name}.{kind.path_of(name)}" for name in read.converted)
        return read.values

    def _check_operation(self, values: Mapping[str, Any]) -> None:
        kind, response = values["kind"], values["response"]
        if kind in NOT_EXPORTED:
            raise ValueError("operationKind: must be a kind that an archive has")
        if response is None:
            return
        answered = self.messages.get(response["@type"])
        if answered is None:
            raise ValueError("response.@type: must be the type of an answer")
        fields = {name: response[name] for name in response if name not in _OF_EVERY_ANSWER}
        # Stored responses lack the fields that are filled in when they are served.
        _check_message(answered, fields, ignored="missing")
        if (stored := self.answers.get(kind)) is not None:
            _check_message(stored, response)


def _check_message(message: type[BaseModel], fields: Mapping[str, Any], ignored: str = "") -> None:
    try:
        message.model_validate(fields)
    except ValidationError as error:
        errors = [item for item in error.errors(include_input=False) if item["type"] != ignored]
        if errors:
            wrong = invalid_fields(errors[:1]).violations[0]
            reason = wrong.description.rstrip(".")
            raise ValueError(f"response.{wrong.field}: {reason}") from None


_EXPIRING = (MEMORY, SESSION, NAMESPACE, ARTIFACT)


@dataclass(frozen=True)
class Recovery:
    """Ends of recovery windows in a restored engine.

    Attributes:
        export_time: windows that had ended at this time do not change.
        later: the extension of all other windows.
    """

    export_time: datetime
    later: timedelta

    def end(self, until: datetime) -> datetime:
        """Return the restored end of a window that ends at `until` in the archive."""
        return until if until <= self.export_time else until + self.later


@dataclass
class PassedLines:
    """Counts of restored lines that the next sweep will remove.

    Attributes:
        recovery: the number of deleted memories that can no longer be recovered.
        expiry: the number of expired memories, sessions, namespaces and artifacts.
    """

    now: datetime
    windows: Recovery
    recovery: int = 0
    expiry: int = 0

    def add(self, block: Block) -> None:
        """Count the lines of a block."""
        for line in block.lines:
            if line.kind not in _EXPIRING:
                continue
            until, ends = line.values.get("recover_until"), line.values["expire_time"]
            if until is not None:
                self.recovery += self.windows.end(until) <= self.now
            elif ends is not None:
                self.expiry += ends <= self.now


def warnings_of(
    header: Header, trailer: Trailer, passed_over: Mapping[str, int], *, has_erased: bool
) -> list[str]:
    """Return warnings about a restored archive for its user.

    `passed_over` has the number of lines of each ignored field. `has_erased` is True if data was
    erased from the engine after the export.
    """
    warnings = []
    if has_erased:
        made = write_time(header.export_time)
        warnings.append(
            f"What was erased for good after the export at {made} is back: erase it again."
        )
    for name, left in trailer.left.items():
        if left.get("count"):
            warnings.append(f"The archive lacks {left['count']} {name}: {left.get('reason')}.")
    for name, count in sorted(passed_over.items()):
        warnings.append(
            f"The field {name} of {count} lines is of a later release and was passed over."
        )
    return warnings


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
    """Digests of an archive's lines by kind, without lines that have expired at a given time.

    Args:
        by: lines that expired, or could last be recovered, at or before this time are left out.
        extends_recovery: True ignores differences between the ends of recovery windows.
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
