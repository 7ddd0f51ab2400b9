"""Knows where engines lie, for the admission of requests."""

from dataclasses import dataclass, field

from typing_extensions import override

from app.core.auth import EngineDirectory
from app.core.names import LocationName
from app.db.session import Database
from app.engines import repository

_MAX_KNOWN = 100_000


@dataclass(frozen=True)
class Directory(EngineDirectory):
    """Where engines lie. One never moves, so that each is read once per process."""

    db: Database
    _known: dict[int, LocationName] = field(default_factory=dict)

    @override
    async def location_of(self, engine_id: int) -> LocationName | None:
        known = self._known.get(engine_id)
        if known is not None:
            return known
        async with self.db.snapshot() as session:
            found = await repository.find_location(session, engine_id)
        if found is not None:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            self._known[engine_id] = found
        return found
