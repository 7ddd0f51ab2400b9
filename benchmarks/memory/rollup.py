"""Memory of a process, as the kernel adds it up. Linux only."""

from pathlib import Path
from typing import NamedTuple


class Memory(NamedTuple):
    """Mebibytes of a process.

    Attributes:
        resident: all that is in memory for it, whoever else has it too.
        proportional: the same, with what processes share split among them.
        private: what no other process shares, which is what one more process costs.
        anonymous: what comes from no file.
    """

    resident: float
    proportional: float
    private: float
    anonymous: float


def memory_of(process: int | str) -> Memory:
    """Return the memory of a process, by its id or `self`."""
    rows = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()[1:]
    found = {name.rstrip(":"): int(size) / 1024 for name, size, _ in map(str.split, rows)}
    private = found["Private_Clean"] + found["Private_Dirty"]
    return Memory(found["Rss"], found["Pss"], private, found["Anonymous"])
