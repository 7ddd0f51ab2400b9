"""Time, injected. Nothing else in the service asks the operating system what time it is."""

from datetime import UTC, datetime, timedelta
from typing import Protocol

from typing_extensions import override


class Clock(Protocol):
    """Tells the present moment."""

    def now(self) -> datetime:
        """Return the present moment, aware, in UTC."""
        ...


class SystemClock(Clock):
    """The clock of the machine."""

    @override
    def now(self) -> datetime:
        return datetime.now(UTC)


class FixedClock(Clock):
    """A clock that stands still until it is moved. For tests and demonstrations."""

    def __init__(self, now: datetime) -> None:
        self._now = now.astimezone(UTC)

    @override
    def now(self) -> datetime:
        return self._now

    def advance(self, by: timedelta) -> None:
        """Move the clock forward by `by`."""
        self._now += by
