"""Effect of an undo on one memory that the operation changed (pure)."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from app.memory.memories.logic.policy import Cause, memory_expiry
from app.platform.engines.logic.config import MemoryBankConfig


class Undone(StrEnum):
    """The effect of an undo on a memory."""

    DELETED = "DELETED"
    """The memory did not exist before the operation."""
    UPDATED = "UPDATED"
    """The memory has its earlier content again."""
    RESTORED = "RESTORED"
    """The memory was deleted, and exists again."""


class Skipped(StrEnum):
    """The reason that an undo leaves a memory alone."""

    CHANGED_SINCE = "CHANGED_SINCE"
    """The memory was changed after the operation."""
    EXPIRED = "EXPIRED"
    """The memory has expired since."""
    NOT_RECOVERABLE = "NOT_RECOVERABLE"
    """The memory was deleted, and its recovery window has passed."""
    REVISION_NOT_KEPT = "REVISION_NOT_KEPT"
    """The earlier state is no longer stored, or was never recorded."""
    ERASED = "ERASED"
    """The memory has been permanently removed since."""


@dataclass(frozen=True)
class Trace:
    """Versions of one memory that an operation wrote, and the revision id of the newest one.

    The revision id is None if the operation deleted the memory without a revision.
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
    """Current state of a memory.

    `put_back` are the earlier versions with content that rollbacks and undos have restored.
    """

    version: int
    is_deleted: bool
    expire_time: datetime | None
    recover_until: datetime | None
    put_back: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Before:
    """State of a memory before the operation, from a revision that is still kept."""

    is_deletion: bool
    expire_time: datetime | None = None
    """Expiry of the memory itself at that time."""

    def restored(self, now: datetime) -> Undone | Skipped:
        """Decide to restore a deleted memory, unless its earlier expiry time has passed."""
        is_over = self.expire_time is not None and self.expire_time <= now
        return Skipped.EXPIRED if is_over else Undone.RESTORED


def verdict(
    trace: Trace, present: Present | None, before: Before | None, now: datetime
) -> Undone | Skipped | None:
    """Decide the effect on a memory; None if it needs no change."""
    # A memory that the operation only deleted still has its content, so it needs no revision.
    if present is None:
        return Skipped.ERASED
    if (obstacle := _obstacle(trace, present, now)) is not None:
        return obstacle
    if trace.version_before is not None and before is None:
        is_whole = present.is_deleted and trace.first_version == present.version
        return Undone.RESTORED if is_whole else Skipped.REVISION_NOT_KEPT
    if before is None or before.is_deletion:
        return None if present.is_deleted else Undone.DELETED
    return before.restored(now) if present.is_deleted else Undone.UPDATED


def _obstacle(trace: Trace, present: Present, now: datetime) -> Skipped | None:
    if trace.last_version not in {present.version, *present.put_back}:
        return Skipped.CHANGED_SINCE
    end = present.recover_until if present.is_deleted else present.expire_time
    if end is None or end > now:
        return None
    return Skipped.NOT_RECOVERABLE if present.is_deleted else Skipped.EXPIRED


def expiry(
    config: MemoryBankConfig, before: datetime | None, present: datetime | None, now: datetime
) -> datetime | None:
    """Return the expiry time of a restored memory: `before`, if it is None or has not passed.

    Otherwise the rules of a rollback apply; `present` is the current expiry time if not passed.
    """
    if before is None or before > now:
        return before
    return memory_expiry(config, Cause.UPDATE, now, None, present)
