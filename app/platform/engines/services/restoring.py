"""A cached check that an engine is not being restored, for the admission of requests."""

import time
from collections.abc import Callable

from cachetools import LRUCache

from app.adapters.concurrency import SingleFlight
from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.names import EngineName
from app.platform.engines.store import repository
from app.platform.engines.store.restoring import is_restoring

_RECENT_SECONDS = 0.75
"""Maximum age of a reading that admits requests, as for the keys of callers."""
_MAX_KNOWN = 10_000


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
