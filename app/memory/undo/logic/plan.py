"""What taking an operation back means for one memory that it changed (pure)."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from app.memory.memories.logic.policy import Cause, memory_expiry
from app.platform.engines.logic.config import MemoryBankConfig


class Undone(StrEnum):
    """What an undo does to a memory."""

    DELETED = "DELETED"
    """It was not there before the operation."""
    UPDATED = "UPDATED"
    """It has the content of before again."""
    RESTORED = "RESTORED"
    """It was deleted, and is there again."""


class Skipped(StrEnum):
    """Why an undo leaves a memory alone."""

    CHANGED_SINCE = "CHANGED_SINCE"
    """Something else has changed it since."""
    EXPIRED = "EXPIRED"
    """Its life has ended since."""
    NOT_RECOVERABLE = "NOT_RECOVERABLE"
    """It was deleted, and the time in which it could be recovered has passed."""
    REVISION_NOT_KEPT = "REVISION_NOT_KEPT"
    """What it was before is not known any more, or never was recorded."""
    ERASED = "ERASED"
    """It was removed for good since."""


@dataclass(frozen=True)
class Trace:
    """The revisions that an operation made of one memory: their versions, and the newest's id."""

    memory_id: str
    first_version: int
    last_version: int
    revision_id: int

    @property
    def version_before(self) -> int | None:
        """The version that the operation found; None for a memory that it created."""
        return self.first_version - 1 or None


@dataclass(frozen=True)
class Present:
    """A memory as it is.

    `put_back` are earlier versions whose content it has again, by rollbacks and undos.
    """

    version: int
    is_deleted: bool
    expire_time: datetime | None
    recover_until: datetime | None
    put_back: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Before:
    """A memory as the operation found it, told by a revision that is still kept."""

    is_deletion: bool
    expire_time: datetime | None = None
    """When the memory itself was to expire."""


def verdict(
    trace: Trace, present: Present | None, before: Before | None, now: datetime
) -> Undone | Skipped | None:
    """Decide what becomes of a memory; None where it is as it was, without any change."""
    if present is None:
        return Skipped.ERASED
    if (obstacle := _obstacle(trace, present, now)) is not None:
        return obstacle
    if trace.version_before is not None and before is None:
        return Skipped.REVISION_NOT_KEPT
    if before is None or before.is_deletion:
        return None if present.is_deleted else Undone.DELETED
    return _restored(before, now) if present.is_deleted else Undone.UPDATED


def _restored(before: Before, now: datetime) -> Undone | Skipped:
    """Bring a deleted memory back, unless its life would have ended by now anyhow."""
    is_over = before.expire_time is not None and before.expire_time <= now
    return Skipped.EXPIRED if is_over else Undone.RESTORED


def _obstacle(trace: Trace, present: Present, now: datetime) -> Skipped | None:
    """Say why the memory, as it is, may not be touched."""
    if trace.last_version not in {present.version, *present.put_back}:
        return Skipped.CHANGED_SINCE
    end = present.recover_until if present.is_deleted else present.expire_time
    if end is None or end > now:
        return None
    return Skipped.NOT_RECOVERABLE if present.is_deleted else Skipped.EXPIRED


def expiry(
    config: MemoryBankConfig, before: datetime | None, present: datetime | None, now: datetime
) -> datetime | None:
    """Return when a memory that is put back expires: as before, or if that is over, as rolled back.

    `before` is the expiry that it had before the operation, `present` the one that it has now; both
    are over for no memory that is put back.
    """
    if before is None or before > now:
        return before
    return memory_expiry(config, Cause.UPDATE, now, None, present)
