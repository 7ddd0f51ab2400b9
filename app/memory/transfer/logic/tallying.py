"""Counts of what a restored archive has that time has passed, and warnings about the archive."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from app.memory.transfer.logic.codecs import write_time
from app.memory.transfer.logic.format import Header, Trailer
from app.memory.transfer.logic.kinds import ARTIFACT, NAMESPACE, SESSION
from app.memory.transfer.logic.memory_kinds import MEMORY
from app.memory.transfer.logic.reading import Block

_EXPIRING = (MEMORY, SESSION, NAMESPACE, ARTIFACT)


@dataclass
class PassedLines:
    """The lines of an archive that come back and go with the next sweep.

    Attributes:
        now: the present time; until it is set, nothing is counted.
        recovery: deleted memories whose window of recovery has ended.
        expiry: memories, sessions, namespaces and artifacts that have expired.
    """

    now: datetime | None = None
    recovery: int = 0
    expiry: int = 0

    def add(self, block: Block) -> None:
        """Count the lines of a block."""
        for line in block.lines:
            if self.now is None or line.kind not in _EXPIRING:
                continue
            until, ends = line.values.get("recover_until"), line.values["expire_time"]
            if until is not None:
                self.recovery += until <= self.now
            elif ends is not None:
                self.expiry += ends <= self.now


def warnings_of(header: Header, trailer: Trailer, passed_over: Mapping[str, int]) -> list[str]:
    """Return what a person should know about a restored archive."""
    made = write_time(header.export_time)
    found = [f"What was erased for good after the export at {made} is back: erase it again."]
    for name, left in trailer.left.items():
        if left.get("count"):
            found.append(f"The archive lacks {left['count']} {name}: {left.get('reason')}.")
    for name, count in sorted(passed_over.items()):
        found.append(
            f"The field {name} of {count} lines is of a later release and was passed over."
        )
    return found
