"""Quotas, the amounts that an engine may hold, and size limits of writes.

Far below its quotas, each process reads an engine's totals once a second; near a quota, it reads
them at each request. Only requests admitted below a quota that have not finished can exceed it:
concurrent ones, here and in processes whose reading is less than a second old, and queued
generations.

Request schemas enforce the API's own limits; these apply to new writes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol

from app.adapters.concurrency import SingleFlight
from app.adapters.db.session import Database, Session
from app.kernel.clock import Clock
from app.kernel.errors import InvalidArgument
from app.kernel.limits import Counted, exhausted
from app.platform.limits import store
from app.platform.limits.store import Totals
from app.settings.settings import Settings

_GOOD_FOR = timedelta(seconds=1)
_FAR = 0.9
"""The fraction of a quota up to which one reading serves several requests."""
_MAX_KNOWN = 20_000
_MAX_EVENTS = 2_000
"""The most events that one request adds."""


@dataclass
class _TotalsReading:
    """The totals of an engine at a moment, and the requests admitted on their basis."""

    totals: Totals
    time: datetime
    admitted: int = 0


@dataclass(frozen=True)
class Quotas:
    """The quotas of engines, with one process's readings of their totals."""

    db: Database
    clock: Clock
    settings: Settings
    _readings: dict[int, _TotalsReading] = field(default_factory=dict)
    _under_way: SingleFlight[_TotalsReading] = field(default_factory=SingleFlight)

    async def check(self, engine_id: int, added: Counted) -> None:
        """Raise ResourceExhausted, naming the quota, if an engine may not hold more of `added`."""
        # Artifact bytes do not count as bytes of memories, sessions and events.
        beside = () if added is Counted.ARTIFACT_BYTES else (Counted.BYTES,)
        limits = bounds(self.settings, added, *beside)
        if not limits:
            return
        reading = self._readings.get(engine_id)
        if reading is None or not self._suffices(reading, limits):
            reading = await self._read_lately(engine_id, limits)
        for quota, limit in limits.items():
            if reading.totals[quota] >= limit:
                # Not the engine's total: the caller may be restricted to a part of it.
                raise exhausted(
                    f"reasoningEngines/{engine_id} has reached its limit of {quota}: {limit}.",
                    quota,
                    limit=limit,
                )
        reading.admitted += 1

    async def _read_lately(self, engine_id: int, limits: dict[Counted, int]) -> _TotalsReading:
        # Shared: many requests may come at the moment at which the last reading has aged.
        began, key = self.clock.now(), str(engine_id).encode()
        reading = await self._under_way.result(key, partial(self._read, engine_id))
        if reading.time < began and not self._suffices(reading, limits):
            # Near a quota, it must have all that was written before this request.
            return await self._read(engine_id)
        return reading

    async def _read(self, engine_id: int) -> _TotalsReading:
        # The time before the reading: writes during it are not in the totals.
        now = self.clock.now()
        async with self.db.snapshot() as session:
            totals = await store.read_totals(session, engine_id)
        if len(self._readings) >= _MAX_KNOWN:
            self._readings.clear()
        reading = _TotalsReading(totals, now)
        self._readings[engine_id] = reading
        return reading

    def _suffices(self, reading: _TotalsReading, limits: dict[Counted, int]) -> bool:
        if not reading.time <= self.clock.now() < reading.time + _GOOD_FOR:
            return False
        requests = reading.admitted + 1
        return all(
            reading.totals[quota] + requests * self._most_per_request(quota) <= _FAR * limit
            for quota, limit in limits.items()
        )

    def _most_per_request(self, quota: Counted) -> int:
        match quota:
            case Counted.MEMORIES:
                return self.settings.tuning.generation_max_candidates
            case Counted.SESSIONS:
                return 1
            case Counted.EVENTS:
                return _MAX_EVENTS
            case Counted.BYTES:
                # Once in the memory and once in its revision.
                return 2 * self.settings.max_body_bytes
            case Counted.ARTIFACT_BYTES:
                return self.settings.task_max_artifact_bytes


def bounds(settings: Settings, *quotas: Counted) -> dict[Counted, int]:
    """Return the quotas that the settings bound, with their limits."""
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
    """Raise ResourceExhausted unless an engine has room for `count` more, and for one byte."""
    limits = bounds(settings, counted, Counted.BYTES)
    if not limits:
        return
    totals = await store.read_totals(session, engine_id)
    for quota, limit in limits.items():
        added = count if quota is counted else 1
        if totals[quota] + added > limit:
            # Not the remaining room: the caller may be restricted to a part of the engine.
            message = f"reasoningEngines/{engine_id} has no room for all of these {quota}"
            raise exhausted(f"{message}: its limit is {limit}.", quota, limit=limit)


async def check_held(
    session: Session, settings: Settings, engine_id: int, quota: Counted, going: int = 0
) -> None:
    """Raise ResourceExhausted if an engine's holdings, uncommitted ones included, pass a quota.

    `going` is the amount to be removed once the new content has arrived.
    """
    limits = bounds(settings, quota)
    if not limits:
        return
    totals = await store.read_totals(session, engine_id)
    if totals[quota] - going > limits[quota]:
        # Not the engine's total: see `check_room`.
        message = f"reasoningEngines/{engine_id} has no room for so many more {quota}"
        raise exhausted(f"{message}: its limit is {limits[quota]}.", quota, limit=limits[quota])


async def check_more(session: Session, settings: Settings, engine_id: int, quota: Counted) -> None:
    """Raise ResourceExhausted, naming the quota, unless an engine is below it."""
    if await is_full(session, settings, engine_id, quota):
        message = f"reasoningEngines/{engine_id} has reached its limit of {quota}"
        limit = bounds(settings, quota)[quota]
        raise exhausted(f"{message}: {limit}.", quota, limit=limit)


async def is_full(session: Session, settings: Settings, engine_id: int, quota: Counted) -> bool:
    """Return True if an engine has reached a quota."""
    limits = bounds(settings, quota)
    if not limits:
        return False
    totals = await store.read_totals(session, engine_id)
    return totals[quota] >= limits[quota]


class MetadataValue(Protocol):
    """A value of a memory's metadata."""

    @property
    def string_value(self) -> str | None:
        """The text, if the value is one."""
        ...


def check_scope_size(settings: Settings, scope: Mapping[str, str]) -> None:
    """Raise InvalidArgument for a scope with too many pairs or too long a value."""
    if len(scope) > settings.tuning.max_scope_pairs:
        raise InvalidArgument.of_field(
            "scope", f"must have 1 to {settings.tuning.max_scope_pairs} pairs."
        )
    if any(len(value) > settings.tuning.max_scope_value_chars for value in scope.values()):
        raise InvalidArgument.of_field(
            "scope",
            f"must have values of at most {settings.tuning.max_scope_value_chars} characters.",
        )


def check_metadata_size(settings: Settings, metadata: Mapping[str, MetadataValue] | None) -> None:
    """Raise InvalidArgument for metadata with too many keys or too long a text."""
    if metadata is None:
        return
    if len(metadata) > settings.tuning.max_metadata_entries:
        raise InvalidArgument.of_field(
            "metadata", f"must have at most {settings.tuning.max_metadata_entries} keys."
        )
    texts = [value.string_value for value in metadata.values() if value.string_value is not None]
    if any(len(text) > settings.tuning.max_metadata_value_chars for text in texts):
        raise InvalidArgument.of_field(
            "metadata",
            f"must have texts of at most {settings.tuning.max_metadata_value_chars} characters.",
        )
