"""Counts of what a restored archive has that time has passed, and warnings about the archive."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.memory.transfer.logic.codecs import write_time
from app.memory.transfer.logic.format import Header, Trailer
from app.memory.transfer.logic.kinds import ARTIFACT, NAMESPACE, SESSION
from app.memory.transfer.logic.memory_kinds import MEMORY
from app.memory.transfer.logic.reading import Block

_EXPIRING = (MEMORY, SESSION, NAMESPACE, ARTIFACT)


@dataclass(frozen=True)
class Recovery:
    """The ends of windows of recovery in a restored engine.

    Attributes:
        export_time: windows that had ended by then stay as they are.
        later: the time by which the others end later.
    """

    export_time: datetime
    later: timedelta

    def end(self, until: datetime) -> datetime:
        """Return the end of a window that the archive has ending at `until`."""
        return until if until <= self.export_time else until + self.later


@dataclass
class PassedLines:
    """The lines of an archive that come back and go with the next sweep.

    Attributes:
        now: the present time.
        windows: the ends of windows of recovery.
        recovery: deleted memories whose window of recovery has ended.
        expiry: memories, sessions, namespaces and artifacts that have expired.
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
    """Return what a person should know about a restored archive.

    Args:
        header: its header.
        trailer: its trailer.
        passed_over: the fields that were not read, each with its number of lines.
        has_erased: whether something was erased from its engine after the export.
    """
    found = []
    if has_erased:
        made = write_time(header.export_time)
        found.append(
            f"What was erased for good after the export at {made} is back: erase it again."
        )
    for name, left in trailer.left.items():
        if left.get("count"):
            found.append(f"The archive lacks {left['count']} {name}: {left.get('reason')}.")
    for name, count in sorted(passed_over.items()):
        found.append(
            f"The field {name} of {count} lines is of a later release and was passed over."
        )
    return found
