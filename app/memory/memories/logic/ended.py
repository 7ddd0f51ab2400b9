"""Facts that no longer stand (pure)."""

from datetime import datetime
from typing import NamedTuple


class EndedFact(NamedTuple):
    """A fact that was taken back: the memory that had it, and the time at which it ended."""

    memory_id: str
    ended_at: datetime
