"""Caches of this process about scopes: indexes of large scopes, and scopes that are not small."""

import asyncio
import time
from collections.abc import Callable, Mapping

from cachetools import LRUCache

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.errors import ServiceError
from app.memory.retrieval.store import indexes
from app.memory.retrieval.store.indexes import IndexKey
from app.memory.retrieval.store.nearest import ScopeIndex, ScopeQuery

_LIFE_SECONDS = 30.0
_MAX_LARGER = 10_000


class ScopeIndexes:
    """A cache of all indexes, of which there are few, read twice a minute beside the searches.

    An outdated entry makes a search slower, never wrong: it compares the whole scope if it misses
    an existing index, or tries one that is gone. The start of a process reads them for the first
    search.
    """

    def __init__(self, db: Database, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._db = db
        self._monotonic = monotonic
        self._read_at: float | None = None
        self._known: Mapping[IndexKey, ScopeIndex] = {}
        self._reading: asyncio.Task[None] | None = None

    @classmethod
    def of(cls, resources: Resources) -> "ScopeIndexes":
        """Return the instance of the process, whoever calls."""
        kept = resources.kept.get(cls)
        if not isinstance(kept, cls):
            # The cache covers all engines, so it must not have the reach of this request's caller.
            kept = resources.kept[cls] = cls(resources.db.of_service())
        return kept

    async def find(self, query: ScopeQuery, model_id: str) -> ScopeIndex | None:
        """Return the known index for a model's vectors in the scope of a query, or None.

        Must not be called inside a transaction.
        """
        now = self._monotonic()
        if self._read_at is None or now - self._read_at >= _LIFE_SECONDS:
            # Set before the read, so that concurrent requests do not read as well.
            self._read_at = now
            # Beside the request, which must not wait for the nodes of other engines.
            self._reading = asyncio.create_task(self.read())
        return self._known.get(IndexKey(query.engine_id, query.scope_hash, model_id))

    async def read(self) -> None:
        """Read all indexes now; while the database is away, the last known ones stay."""
        self._read_at = self._monotonic()
        try:
            self._known = await self._db.read_all(indexes.list_ready)
        except ServiceError:
            return


class LargeScopeSearch:
    """Scopes that this process lately found too large for the statement for small scopes.

    The cache avoids trying that statement in vain. A scope that has shrunk stays listed; it is
    still searched, at the cost of the general statement.
    """

    def __init__(self) -> None:
        self._known: LRUCache[tuple[int, bytes], None] = LRUCache(_MAX_LARGER)

    @classmethod
    def of(cls, resources: Resources) -> "LargeScopeSearch":
        """Return the instance of the process."""
        kept: LargeScopeSearch = resources.kept.setdefault(cls, cls())
        return kept

    def has(self, query: ScopeQuery) -> bool:
        """Return True if the scope of a query is listed."""
        return (query.engine_id, query.scope_hash) in self._known

    def note(self, query: ScopeQuery) -> None:
        """Add the scope of a query."""
        self._known[query.engine_id, query.scope_hash] = None
