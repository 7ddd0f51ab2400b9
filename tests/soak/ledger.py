"""What clients of a soak sent, what was acknowledged, and when faults excuse a refusal."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Refused:
    """An answer of 5xx, with the time from its request to its end."""

    began: float
    ended: float
    told: str
    status: int


class Windows:
    """The times in which a fault excuses a refusal; a second more each, for what still waits."""

    _AFTER_SECONDS = 1.0

    def __init__(self) -> None:
        self._spans: list[list[float]] = []

    @contextmanager
    def open(self, after_seconds: float = _AFTER_SECONDS) -> Iterator[None]:
        """Excuse what is refused during the block, and shortly after it."""
        span = [time.monotonic(), float("inf")]
        self._spans.append(span)
        try:
            yield
        finally:
            span[1] = time.monotonic() + after_seconds

    def cover(self, began: float, ended: float) -> bool:
        """Return True if any window overlaps the time from one moment to another."""
        return any(began <= last and first <= ended for first, last in self._spans)


@dataclass(frozen=True)
class Generation:
    """An acknowledged generation: what it has to remember, and when it was asked for."""

    facts: list[str]
    began: float


@dataclass
class Ledger:
    """All that was acknowledged. Every text in it is unique, so that work done twice is seen."""

    memories: dict[str, list[str | None]] = field(default_factory=dict)
    """By id of the memory, the facts it was given, one after another; None: deleted."""
    generations: dict[str, Generation] = field(default_factory=dict)
    """By id of the operation."""
    ingested: list[str] = field(default_factory=list)
    sessions: dict[str, list[str]] = field(default_factory=dict)
    """By id of the session, the texts of its events in order."""
    artifacts: dict[tuple[str, str], str] = field(default_factory=dict)
    """By namespace and name, the text."""
    requests: int = 0
    acknowledged: int = 0
    longest_seconds: float = 0
    refused: list[Refused] = field(default_factory=list)
    away: Windows = field(default_factory=Windows)
    """When the database was away, or a process of the service stood still."""
    provider: Windows = field(default_factory=Windows)
    """When the model's provider failed, which excuses that a generation fails."""

    def unexcused(self) -> list[str]:
        """Return the refusals that no fault excuses."""
        return [one.told for one in self.refused if not self.away.cover(one.began, one.ended)]
