"""Counts of expired lines in a restored archive, and warnings about the archive."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.memory.transfer.logic.fields import write_time
from app.memory.transfer.logic.format import Header, Trailer
from app.memory.transfer.logic.kinds import ARTIFACT, MEMORY, NAMESPACE, SESSION
from app.memory.transfer.logic.reading import Block

_EXPIRING = (MEMORY, SESSION, NAMESPACE, ARTIFACT)


@dataclass(frozen=True)
class Recovery:
    """Ends of recovery windows in a restored engine: those after `export_time` move by `later`."""

    export_time: datetime
    later: timedelta

    def end(self, until: datetime) -> datetime:
        """Return the restored end of a window that ends at `until` in the archive."""
        return until if until <= self.export_time else until + self.later


@dataclass
class PassedLines:
    """Counts of restored lines that the next sweep will remove.

    `recovery` counts deleted memories that can no longer be recovered; `expiry` expired memories,
    sessions, namespaces and artifacts.
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
