"""Effect of an undo on one memory that the operation changed (pure)."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from app.memory.memories.logic.policy import Cause, memory_expiry
from app.platform.engines.logic.config import MemoryBankConfig


class Undone(StrEnum):
    """The effect of an undo on a memory."""

    DELETED = "DELETED"
    """Did not exist before the operation."""
    UPDATED = "UPDATED"
    """Has its earlier content again."""
    RESTORED = "RESTORED"
    """Was deleted, and exists again."""


class Skipped(StrEnum):
    """The reason that an undo leaves a memory alone."""

    CHANGED_SINCE = "CHANGED_SINCE"
    """Another change followed."""
    EXPIRED = "EXPIRED"
    """Has expired since."""
    NOT_RECOVERABLE = "NOT_RECOVERABLE"
    """Was deleted, and its recovery window has passed."""
    REVISION_NOT_KEPT = "REVISION_NOT_KEPT"
    """Earlier state is no longer known, or never was recorded."""
    ERASED = "ERASED"
    """Was removed for good since."""


@dataclass(frozen=True)
class Trace:
    """The versions that an operation made of one memory, and the id of the newest's revision.

    None: it kept no revision, but deleted the memory.
    """

    memory_id: str
    first_version: int
    last_version: int
    revision_id: int | None

    @property
    def version_before(self) -> int | None:
        """Version before the operation; None for a memory that the operation created."""
        return self.first_version - 1 or None


@dataclass(frozen=True)
class Present:
    """The present state of a memory.

    `put_back` are the earlier versions whose content it has again after rollbacks and undos.
    """

    version: int
    is_deleted: bool
    expire_time: datetime | None
    recover_until: datetime | None
    put_back: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Before:
    """The state of a memory before the operation, by a revision that is still kept."""

    is_deletion: bool
    expire_time: datetime | None = None
    """Expiry of the memory itself at that time."""


def verdict(
    trace: Trace, present: Present | None, before: Before | None, now: datetime
) -> Undone | Skipped | None:
    """Decide the effect on a memory; None if it is as before without any change.

    A memory that the operation has only deleted still has its content, as `:undelete` finds it.
    """
    if present is None:
        return Skipped.ERASED
    if (obstacle := _obstacle(trace, present, now)) is not None:
        return obstacle
    if trace.version_before is not None and before is None:
        is_whole = present.is_deleted and trace.first_version == present.version
        return Undone.RESTORED if is_whole else Skipped.REVISION_NOT_KEPT
    if before is None or before.is_deletion:
        return None if present.is_deleted else Undone.DELETED
    return _restored(before, now) if present.is_deleted else Undone.UPDATED


def _restored(before: Before, now: datetime) -> Undone | Skipped:
    """Restore a deleted memory, unless its earlier expiry has passed by now."""
    is_over = before.expire_time is not None and before.expire_time <= now
    return Skipped.EXPIRED if is_over else Undone.RESTORED


def _obstacle(trace: Trace, present: Present, now: datetime) -> Skipped | None:
    """Return the reason that the memory's present state forbids a change, or None."""
    if trace.last_version not in {present.version, *present.put_back}:
        return Skipped.CHANGED_SINCE
    end = present.recover_until if present.is_deleted else present.expire_time
    if end is None or end > now:
        return None
    return Skipped.NOT_RECOVERABLE if present.is_deleted else Skipped.EXPIRED


def expiry(
    config: MemoryBankConfig, before: datetime | None, present: datetime | None, now: datetime
) -> datetime | None:
    """Return the expiry of a restored memory: its earlier one, or after that as for a rollback.

    `before` is its expiry before the operation, `present` its present one if that is to come.
    """
    if before is None or before > now:
        return before
    return memory_expiry(config, Cause.UPDATE, now, None, present)
