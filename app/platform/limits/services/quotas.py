"""Quotas: how much an engine may hold.

Far below its quotas, an engine's totals are read once a second by each process; near one of them,
they are read for each request. A quota is gone beyond only by what is still to come of requests
that were let in below it: those under way at the same moment, here and in the processes whose
reading is not a second old yet, and the generations that wait to be run.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from app.adapters.db.session import Database, Session
from app.kernel.clock import Clock
from app.kernel.limits import Counted, exhausted
from app.platform.limits.store import repository
from app.platform.limits.store.repository import Totals
from app.settings.settings import Settings

_GOOD_FOR = timedelta(seconds=1)
_FAR = 0.9
"""The part of a quota up to which a reading is good for more than one request."""
_MAX_KNOWN = 20_000
_MAX_EVENTS = 2_000
"""That one request adds."""


@dataclass
class _Reading:
    """What an engine held at a moment, and how many requests were let in because of it."""

    totals: Totals
    time: datetime
    admitted: int = 0


@dataclass(frozen=True)
class Quotas:
    """The quotas of engines, as one process knows their totals."""

    db: Database
    clock: Clock
    settings: Settings
    _readings: dict[int, _Reading] = field(default_factory=dict)

    async def check(self, engine_id: int, added: Counted) -> None:
        """Make sure that an engine may have more, of `added` and of bytes.

        Raises:
            ResourceExhausted: it may not; names the quota.
        """
        # What artifacts hold is not what memories, sessions and events say.
        beside = () if added is Counted.ARTIFACT_BYTES else (Counted.BYTES,)
        limits = bounds(self.settings, added, *beside)
        if not limits:
            return
        reading = self._readings.get(engine_id)
        if reading is None or not self._suffices(reading, limits):
            reading = await self._read(engine_id)
        for quota, limit in limits.items():
            if reading.totals[quota] >= limit:
                # Not how many it has: the caller may be bound to a part of it.
                raise exhausted(
                    f"reasoningEngines/{engine_id} has as many {quota} as it may: {limit}.",
                    quota,
                    limit=limit,
                )
        reading.admitted += 1

    async def _read(self, engine_id: int) -> _Reading:
        # The moment before: what others add while this is read is not in it.
        now = self.clock.now()
        async with self.db.snapshot() as session:
            totals = await repository.read_totals(session, engine_id)
        if len(self._readings) >= _MAX_KNOWN:
            self._readings.clear()
        found = _Reading(totals, now)
        self._readings[engine_id] = found
        return found

    def _suffices(self, reading: _Reading, limits: dict[Counted, int]) -> bool:
        """Say whether a request can be let in without another look."""
        if not reading.time <= self.clock.now() < reading.time + _GOOD_FOR:
            return False
        requests = reading.admitted + 1
        return all(
            reading.totals[quota] + requests * self._most(quota) <= _FAR * limit
            for quota, limit in limits.items()
        )

    def _most(self, quota: Counted) -> int:
        """Return how much one request adds at most; a generation adds it some time later."""
        match quota:
            case Counted.MEMORIES:
                return self.settings.generation_max_candidates
            case Counted.SESSIONS:
                return 1
            case Counted.EVENTS:
                return _MAX_EVENTS
            case Counted.BYTES:
                # In the memory and in its revision.
                return 2 * self.settings.max_body_bytes
            case Counted.ARTIFACT_BYTES:
                return self.settings.task_max_artifact_bytes


def bounds(settings: Settings, *quotas: Counted) -> dict[Counted, int]:
    """Return those of the quotas that the settings bound, with their limits."""
    limits = {
        Counted.MEMORIES: settings.engine_max_memories,
        Counted.SESSIONS: settings.engine_max_sessions,
        Counted.EVENTS: settings.engine_max_events,
        Counted.BYTES: settings.engine_max_bytes,
        Counted.ARTIFACT_BYTES: settings.engine_max_artifact_bytes,
    }
    return {quota: limit for quota in quotas if (limit := limits[quota]) is not None}


async def check_room(
    session: Session, settings: Settings, engine_id: int, counted: Counted, count: int
) -> None:
    """Make sure that so many of what is counted still fit into an engine, and any more bytes.

    Raises:
        ResourceExhausted: they do not; names the quota.
    """
    limits = bounds(settings, counted, Counted.BYTES)
    if not limits:
        return
    totals = await repository.read_totals(session, engine_id)
    for quota, limit in limits.items():
        added = count if quota is counted else 1
        if totals[quota] + added > limit:
            # Not how many there is room for: the caller may be bound to a part of the engine.
            message = f"reasoningEngines/{engine_id} has no room for all of these {quota}"
            raise exhausted(f"{message}: it may have {limit}.", quota, limit=limit)


async def check_held(
    session: Session, settings: Settings, engine_id: int, quota: Counted, going: int = 0
) -> None:
    """Make sure that what an engine holds by now, with what is not committed yet, is not too much.

    `going` is what it holds no more as soon as what is new has come.

    Raises:
        ResourceExhausted: it is; names the quota.
    """
    limits = bounds(settings, quota)
    if not limits:
        return
    totals = await repository.read_totals(session, engine_id)
    if totals[quota] - going > limits[quota]:
        # Not how much it has: as above.
        message = f"reasoningEngines/{engine_id} has no room for as many {quota} more"
        raise exhausted(f"{message}: it may have {limits[quota]}.", quota, limit=limits[quota])


async def check_more(session: Session, settings: Settings, engine_id: int, quota: Counted) -> None:
    """Make sure that an engine may have any more of something.

    Raises:
        ResourceExhausted: it may not; names the quota.
    """
    if await is_full(session, settings, engine_id, quota):
        message = f"reasoningEngines/{engine_id} has as many {quota} as it may"
        limit = bounds(settings, quota)[quota]
        raise exhausted(f"{message}: {limit}.", quota, limit=limit)


async def is_full(session: Session, settings: Settings, engine_id: int, quota: Counted) -> bool:
    """Say whether an engine has as much of something as it may, or more."""
    limits = bounds(settings, quota)
    if not limits:
        return False
    totals = await repository.read_totals(session, engine_id)
    return totals[quota] >= limits[quota]
