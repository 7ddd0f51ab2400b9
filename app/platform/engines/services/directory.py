"""Cached facts about engines for the admission of requests: location, restore under way."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from cachetools import LRUCache
from typing_extensions import override

from app.adapters.concurrency import SingleFlight
from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.auth import EngineDirectory, Reach
from app.kernel.names import EngineName, LocationName
from app.platform.engines.store import repository
from app.platform.engines.store.repository import is_restoring

_RECENT_SECONDS = 0.75
"""Maximum age of a reading that admits requests, as for the keys of callers."""
_MAX_KNOWN = 10_000
_MAX_LOCATIONS = 100_000


class RestoringEngines:
    """The engines that one process has recently read and that were not being restored.

    Each engine is read separately: a request for it must not depend on the nodes of others. Only
    read requests rely on this, and the engine was empty when its restore began. Writes read the
    engine in their own transaction (`repository.get`).
    """

    def __init__(self, db: Database, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._db = db
        self._monotonic = monotonic
        self._settled_at: LRUCache[int, float] = LRUCache(_MAX_KNOWN)
        """The time of the reading, by engine."""
        self._reading = SingleFlight[bool]()

    @classmethod
    def of(cls, resources: Resources) -> "RestoringEngines":
        """Return the instance of the process."""
        kept: RestoringEngines = resources.kept.setdefault(cls, cls(resources.db))
        return kept

    def note(self, engine_id: int) -> None:
        """Drop the reading of an engine whose restore this process has begun."""
        self._settled_at.pop(engine_id, None)

    async def check(self, engine: EngineName) -> None:
        """Check that an engine is not being restored.

        Raises:
            FailedPrecondition: it is being restored.
        """
        now = self._monotonic()
        settled_at = self._settled_at.get(engine.engine)
        if settled_at is not None and now - settled_at <= _RECENT_SECONDS:
            return
        key = str(engine.engine).encode()
        if await self._reading.result(key, lambda: is_restoring(self._db, engine.engine)):
            raise repository.under_restore(engine)
        self._settled_at[engine.engine] = now


@dataclass(frozen=True)
class Directory(EngineDirectory):
    """The locations of engines. An engine never moves, so each is read once per process."""

    db: Database
    restoring: RestoringEngines
    _known: dict[int, LocationName] = field(default_factory=dict)

    @override
    async def location_of(self, engine_id: int, reach: Reach) -> LocationName | None:
        if reach.engines is not None and engine_id not in reach.engines:
            return None
        await self.db.nodes.enter(engine_id)
        location = self._known.get(engine_id)
        if location is None or not reach.has_project(location.project):
            # Looked up again even if known: the response time must not reveal what exists.
            location = await self._look_up(engine_id)
        return location if location is not None and reach.has_project(location.project) else None

    @override
    async def check_settled(self, engine: EngineName) -> None:
        await self.restoring.check(engine)

    async def _look_up(self, engine_id: int) -> LocationName | None:
        async with self.db.snapshot() as session:
            location = await repository.find_location(session, engine_id)
        if location is not None:
            if len(self._known) >= _MAX_LOCATIONS:
                self._known.clear()
            self._known[engine_id] = location
        return location
