"""Facts that no longer hold (pure)."""

from datetime import datetime
from typing import NamedTuple


class EndedFact(NamedTuple):
    """A fact that was taken back: its memory, and the time at which it ended."""

    memory_id: str
    ended_at: datetime
