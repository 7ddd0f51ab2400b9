"""Blocks: what a process holds of the units that all processes share, and when it asks for more.

Nothing here reads a clock or the database.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil, inf

from app.kernel.limits import MAX_COST

# However long a bucket takes to fill, it is looked at again after this time: another process may
# have left more in it than was to be expected, or the settings may have changed.
_LONGEST_PAUSE_SECONDS = 1.0
_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Pace:
    """How fast a bucket fills, how much it holds, and how much of it is taken at a time.

    Attributes:
        units_per_second: what comes back.
        capacity: units; at least what the costliest request takes.
        block: units that a process takes at a time, if there are so many.
        pause_seconds: time between two looks at a bucket that has run short.
    """

    units_per_second: int
    capacity: int
    block: int
    pause_seconds: float

    @classmethod
    def of(cls, units_per_second: int, burst_seconds: float, block_seconds: float) -> "Pace":
        """Return the pace of a rate whose bucket and whose blocks last for so long."""
        capacity = max(ceil(units_per_second * burst_seconds), MAX_COST)
        block = min(ceil(units_per_second * block_seconds), capacity)
        return cls(units_per_second, capacity, block, block_seconds)


@dataclass(frozen=True)
class Wait:
    """How long a request has to wait. In seconds from now.

    Attributes:
        for_look: until the bucket may be looked at; 0: now.
        for_units: until the bucket has enough, as far as can be told, and may be looked at.
    """

    for_look: float
    for_units: float


_NO_WAIT = Wait(0, 0)


@dataclass(slots=True)
class Block:
    """What one process holds of a bucket, and what it knows of the rest.

    Attributes:
        units: taken from the bucket, and not used yet.
        left: units that were in the bucket at the last look.
        look_time: when that was.
    """

    units: int = 0
    left: float = inf
    look_time: datetime = _NEVER

    def take(self, cost: int) -> bool:
        """Use units, if there are so many; say whether there were."""
        if self.units < cost:
            return False
        self.units -= cost
        return True

    def give_back(self, cost: int, pace: Pace) -> None:
        """Take units back that were not used after all; never more than a block in all."""
        self.units = min(self.units + cost, max(pace.block, cost))

    def receive(self, granted: int, left: float, now: datetime) -> None:
        """Note what a look at the bucket has brought."""
        self.units += granted
        self.left = left
        self.look_time = now

    def wait(self, cost: int, pace: Pace, now: datetime) -> Wait:
        """Return how long a request of a cost that is not here has to wait."""
        missing = cost - self.units - self.left
        elapsed = (now - self.look_time).total_seconds()
        # A clock that was set back tells nothing.
        if missing <= 0 or elapsed < 0:
            return _NO_WAIT
        enough = missing / pace.units_per_second
        look = min(max(enough, pace.pause_seconds), _LONGEST_PAUSE_SECONDS)
        if elapsed >= look:
            return _NO_WAIT
        return Wait(look - elapsed, max(enough, look) - elapsed)
