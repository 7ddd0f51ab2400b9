"""Checks of memories that are restored from an archive with their revisions. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from app.kernel.errors import InvalidArgument, Reason

AHEAD = timedelta(minutes=5)
"""Maximum distance of a time ahead of the database's clock."""
_TIMES = ("create_time", "update_time", "delete_time")
_REDUCED = ("fact", "structured_content")
"""Content that the revision of a deletion lacks."""
_DELETED = "DELETED"


@dataclass(frozen=True)
class RestoredMemory:
    """A memory and its kept revisions, by the attributes of their tables.

    Attributes:
        memory: without the engine, the digest of the scope and the columns for searches.
        revisions: ascending by version, without the engine and the memory's id.
    """

    memory: Mapping[str, Any]
    revisions: Sequence[Mapping[str, Any]]


def check_restored(history: RestoredMemory, fields: Sequence[str], now: datetime) -> None:
    """Raise InvalidArgument unless a memory and its revisions are as the ledger would write them.

    `fields` are the contents that a revision copies from its memory; `now` is the database's time.
    The message names the memory and the rule, but no content.
    """
    memory, revisions = history.memory, history.revisions
    versions = [revision["version"] for revision in revisions]
    if any(later <= earlier for earlier, later in pairwise(versions)):
        raise _invalid(memory, "has revisions whose versions do not ascend")
    if versions and versions[-1] > memory["version"]:
        raise _invalid(memory, "has a revision of a later version than its own")
    times = [memory[name] for name in _TIMES] + [each["create_time"] for each in revisions]
    if any(time is not None and time > now + AHEAD for time in times):
        raise _invalid(memory, "has a time more than 5 minutes ahead of the database's")
    if (memory["delete_time"] is None) != (memory["recover_until"] is None):
        raise _invalid(memory, "must have both deleteTime and recoverUntil, or neither")
    if versions and versions[-1] == memory["version"] and not _is_same(history, fields):
        raise _invalid(memory, "differs from its newest revision")


def _is_same(history: RestoredMemory, fields: Sequence[str]) -> bool:
    newest = history.revisions[-1]
    is_deletion = newest["action"] == _DELETED
    if is_deletion != (history.memory["delete_time"] is not None):
        return False
    kept = [name for name in fields if not (is_deletion and name in _REDUCED)]
    return all(newest[name] == history.memory[name] for name in kept)


def _invalid(memory: Mapping[str, Any], rule: str) -> InvalidArgument:
    return InvalidArgument(f"memories/{memory['memory_id']} {rule}.", Reason.ARCHIVE_INVALID)
