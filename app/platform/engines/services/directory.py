"""Knows where engines lie, for the admission of requests."""

from dataclasses import dataclass, field

from typing_extensions import override

from app.adapters.db.session import Database
from app.kernel.auth import EngineDirectory, Reach
from app.kernel.names import LocationName
from app.platform.engines.store import repository

_MAX_KNOWN = 100_000


@dataclass(frozen=True)
class Directory(EngineDirectory):
    """Where engines lie. One never moves, so that each is read once per process."""

    db: Database
    _known: dict[int, LocationName] = field(default_factory=dict)

    @override
    async def location_of(self, engine_id: int, reach: Reach) -> LocationName | None:
        if reach.engines is not None and engine_id not in reach.engines:
            return None
        found = self._known.get(engine_id)
        if found is None or not reach.has_project(found.project):
            # Looked up again even if it is known: how soon the answer comes must not tell.
            found = await self._look_up(engine_id)
        return found if found is not None and reach.has_project(found.project) else None

    async def _look_up(self, engine_id: int) -> LocationName | None:
        async with self.db.snapshot() as session:
            found = await repository.find_location(session, engine_id)
        if found is not None:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            self._known[engine_id] = found
        return found
