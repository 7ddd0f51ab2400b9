"""Locations of engines, for the admission of requests."""

from dataclasses import dataclass, field

from typing_extensions import override

from app.adapters.db.session import Database
from app.kernel.auth import EngineDirectory, Reach
from app.kernel.names import EngineName, LocationName
from app.platform.engines.services.restoring import RestoringEngines
from app.platform.engines.store import repository

_MAX_KNOWN = 100_000


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
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            self._known[engine_id] = location
        return location
