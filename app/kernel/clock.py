"""Injected clocks: no other module reads the operating system's time."""

from datetime import UTC, datetime, timedelta
from typing import Protocol

from typing_extensions import override


class Clock(Protocol):
    """The port that returns the current time."""

    def now(self) -> datetime:
        """Return the current time, aware, in UTC."""
        ...


class SystemClock(Clock):
    """The clock of the machine."""

    @override
    def now(self) -> datetime:
        return datetime.now(UTC)


class FixedClock(Clock):
    """A clock that stands still until a test or demonstration moves it."""

    def __init__(self, now: datetime) -> None:
        self._now = now.astimezone(UTC)

    @override
    def now(self) -> datetime:
        return self._now

    def advance(self, by: timedelta) -> None:
        """Move the clock forward by `by`."""
        self._now += by
