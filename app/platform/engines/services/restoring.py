"""The engines that are being restored, for the admission of requests."""

import time
from collections.abc import Callable

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.names import EngineName
from app.platform.engines.store import repository

_RECENT_SECONDS = 0.75
"""Age of a reading that admits requests, as for the keys of callers."""


class RestoringEngines:
    """The engines under restore, as one process has read them within the last second.

    One reading serves all requests meanwhile, whatever their engine: hardly ever is one restored.
    Only reads rely on it, of an engine that was empty when the restore began. Writes read the
    engine in their own transaction (`repository.get`).
    """

    def __init__(self, db: Database, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._db = db
        self._monotonic = monotonic
        self._known: frozenset[int] = frozenset()
        self._read_at: float | None = None

    @classmethod
    def of(cls, resources: Resources) -> "RestoringEngines":
        """Return the instance of the process."""
        kept: RestoringEngines = resources.kept.setdefault(cls, cls(resources.db))
        return kept

    def note(self, engine_id: int) -> None:
        """Note an engine whose restore this process has begun."""
        self._known |= {engine_id}

    async def check(self, engine: EngineName) -> None:
        """Check that an engine is not being restored.

        Raises:
            FailedPrecondition: it is being restored; read again before this refusal.
        """
        now = self._monotonic()
        if self._read_at is None or now - self._read_at > _RECENT_SECONDS:
            # Set first: the requests of the next moments do not read as well.
            self._read_at = now
            await self._read()
        if engine.engine in self._known:
            await self._read()
        if engine.engine in self._known:
            raise repository.under_restore(engine)

    async def _read(self) -> None:
        async with self._db.snapshot() as session:
            self._known = frozenset(await repository.list_restoring(session))
