"""Blocks: the units that a process has leased from shared buckets, and the next lease (pure)."""

from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil, inf

from app.kernel.limits import MAX_COST

# A bucket is checked again after this time, however long it takes to fill: another process may
# have used less than expected, or the settings may have changed.
_LONGEST_PAUSE_SECONDS = 1.0
_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class BucketPace:
    """The fill rate, capacity and block size of a bucket.

    Attributes:
        capacity: units; at least the cost of the costliest request.
        block: units that a process takes at a time, if available.
        pause_seconds: time between two checks of a bucket that has run short.
    """

    units_per_second: int
    capacity: int
    block: int
    pause_seconds: float

    @classmethod
    def of(cls, units_per_second: int, burst_seconds: float, block_seconds: float) -> "BucketPace":
        """Return the pace of a rate, given the durations of a full bucket and of a block."""
        capacity = max(ceil(units_per_second * burst_seconds), MAX_COST)
        block = min(ceil(units_per_second * block_seconds), capacity)
        return cls(units_per_second, capacity, block, block_seconds)


@dataclass(frozen=True)
class Wait:
    """The seconds until the bucket may be checked, and until it probably has enough."""

    for_look: float
    for_units: float


_NO_WAIT = Wait(0, 0)


@dataclass(slots=True)
class RateBlock:
    """The units that this process has leased and not used, and the remainder at the last check."""

    units: int = 0
    left: float = inf
    look_time: datetime = _NEVER

    def take(self, cost: int) -> bool:
        """Use units if enough are left; return True on success."""
        if self.units < cost:
            return False
        self.units -= cost
        return True

    def give_back(self, cost: int, pace: BucketPace) -> None:
        """Return unused units to the block, up to a block's size in all."""
        self.units = min(self.units + cost, max(pace.block, cost))

    def receive(self, granted: int, left: float, now: datetime) -> None:
        """Record the result of a check of the bucket."""
        self.units += granted
        self.left = left
        self.look_time = now

    def wait(self, cost: int, pace: BucketPace, now: datetime) -> Wait:
        """Return the wait of a request whose cost exceeds the block."""
        missing = cost - self.units - self.left
        elapsed = (now - self.look_time).total_seconds()
        # A clock that was set back is no evidence.
        if missing <= 0 or elapsed < 0:
            return _NO_WAIT
        enough = missing / pace.units_per_second
        look = min(max(enough, pace.pause_seconds), _LONGEST_PAUSE_SECONDS)
        if elapsed >= look:
            return _NO_WAIT
        return Wait(look - elapsed, max(enough, look) - elapsed)
