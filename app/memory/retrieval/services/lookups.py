"""Caches of this process: indexes of large scopes, and scopes too large for one statement."""

import asyncio
import time
from collections.abc import Callable, Mapping

from cachetools import LRUCache

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.errors import ServiceError
from app.memory.retrieval.logic.ranking import RankingCandidate, Statistics
from app.memory.retrieval.store import fast_sql, indexes
from app.memory.retrieval.store.candidates import CandidateQuery
from app.memory.retrieval.store.indexes import IndexKey
from app.memory.retrieval.store.nearest import ScopeIndex, ScopeQuery

_LIFE_SECONDS = 30.0
_MAX_LARGER = 10_000


class ScopeIndexes:
    """A cache of all indexes, of which there are few, refreshed twice a minute in the background.

    An outdated entry makes a search slower, never wrong. The search then compares the whole scope
    although it has an index, or tries an index that no longer exists. The start of a process reads
    them for its first search.
    """

    def __init__(self, db: Database, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._db = db
        self._monotonic = monotonic
        self._read_at: float | None = None
        self._known: Mapping[IndexKey, ScopeIndex] = {}
        self._reading: asyncio.Task[None] | None = None

    @classmethod
    def of(cls, resources: Resources) -> "ScopeIndexes":
        """Return the shared instance of the process."""
        kept = resources.kept.get(cls)
        if not isinstance(kept, cls):
            # The cache covers all engines, so it must not use the access of this request's caller.
            kept = resources.kept[cls] = cls(resources.db.of_service())
        return kept

    async def find(self, query: ScopeQuery, model_id: str) -> ScopeIndex | None:
        """Return the known index for a model's vectors in the scope of a query, or None.

        Must not be called inside a transaction.
        """
        now = self._monotonic()
        if self._read_at is None or now - self._read_at >= _LIFE_SECONDS:
            # Set before the read, so that concurrent requests do not read too.
            self._read_at = now
            # In the background: the request must not wait for the nodes of other engines.
            self._reading = asyncio.create_task(self.read())
        return self._known.get(IndexKey(query.engine_id, query.scope_hash, model_id))

    async def read(self) -> None:
        """Read all indexes now; keep the cached ones while the database is unavailable."""
        self._read_at = self._monotonic()
        try:
            self._known = await self._db.read_all(indexes.list_ready)
        except ServiceError:
            return


class LargeScopeSearch:
    """Scopes that this process recently found too large for the statement for small scopes.

    The cache avoids a useless first attempt. A scope that has shrunk stays listed; searches in it
    still work, at the cost of the general statement.
    """

    def __init__(self) -> None:
        self.known: LRUCache[tuple[int, bytes], None] = LRUCache(_MAX_LARGER)

    @classmethod
    def of(cls, resources: Resources) -> "LargeScopeSearch":
        """Return the instance of the process."""
        kept: LargeScopeSearch = resources.kept.setdefault(cls, cls())
        return kept

    async def find_candidates(
        self, db: Database, query: ScopeQuery, wanted: CandidateQuery
    ) -> tuple[Statistics, list[RankingCandidate]]:
        """Return the scope's statistics and candidates, for a query without filters or index."""
        scope = (query.engine_id, query.scope_hash)
        if scope not in self.known:
            small = await fast_sql.find_if_small(db, query, wanted)
            if small is not None:
                return small
            self.known[scope] = None
        return await fast_sql.find_candidates(db, query, wanted)
