"""CPU time of processes that are not this one, as Linux tells it."""

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_OF_PROCESS = 2
"""The clock of all threads of a process, in the low bits of its clock's number."""


def spent_by(process: int) -> float:
    """Return the seconds that a process has spent, all of its threads together.

    Raises:
        OSError: it has ended.
    """
    return time.clock_gettime((~process << 3) | _OF_PROCESS)


@dataclass(frozen=True)
class PostgresCpu:
    """The processes of one Postgres; `process` is the first of them."""

    process: int

    def spent_for(self, database: str) -> float:
        """Return the seconds that were spent for a database.

        Those of its connections, of what serves all databases (as the one that writes the log
        does), and of every process that has ended.
        """
        children = Path(f"/proc/{self.process}/task/{self.process}/children").read_text()
        found = self._spent_by_ended() + spent_by(self.process)
        for child in map(int, children.split()):
            # One may end meanwhile; it is then among those that have.
            with suppress(OSError):
                if _database_of(child) in {None, database}:
                    found += spent_by(child)
        return found

    def _spent_by_ended(self) -> float:
        """Return the seconds of the children that have ended, to a hundredth."""
        told = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        return (int(told[13]) + int(told[14])) / _TICKS


def _database_of(process: int) -> str | None:
    """Return the database that a process of Postgres is connected to, if it is there for one."""
    title = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")[0].decode()
    words = title.removeprefix("postgres: ").split()
    # A connection is named by its role, its database and where it comes from.
    return words[1] if len(words) > 2 and words[2] == "[local]" else None
