"""The indexes of large scopes, as this process knows them."""

import time
from collections.abc import Callable, Mapping

from app.core.errors import ServiceError
from app.db.session import Database
from app.resources import Resources
from app.retrieval import indexes
from app.retrieval.indexes import Key
from app.retrieval.nearest import ScopeIndex, ScopeQuery

_LIFE_SECONDS = 30.0


class ScopeIndexes:
    """The look-ups of one process: all indexes, there are few, are read twice a minute.

    What is out of date makes a search slower, never wrong: without an index that is there, and with
    one that is gone, the whole scope is compared.
    """

    def __init__(self, db: Database, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._db = db
        self._monotonic = monotonic
        self._read_at: float | None = None
        self._known: Mapping[Key, ScopeIndex] = {}

    @classmethod
    def of(cls, resources: Resources) -> "ScopeIndexes":
        """Return that of the process, whoever calls."""
        found = resources.kept.get(cls)
        if not isinstance(found, cls):
            # Not through the eyes of the caller of this request.
            found = resources.kept[cls] = cls(Database(resources.db.engine))
        return found

    async def find(self, query: ScopeQuery, model_id: str) -> ScopeIndex | None:
        """Return the index for vectors of a model in the scope of a query, if there is one.

        Must not be called inside a transaction.
        """
        now = self._monotonic()
        if self._read_at is None or now - self._read_at >= _LIFE_SECONDS:
            # Before it is read, so that whoever comes meanwhile does not read it, too.
            self._read_at = now
            await self.read()
        return self._known.get(Key(query.engine_id, query.scope_hash, model_id))

    async def read(self) -> None:
        """Read them all now; while the database is away, what was known stays."""
        try:
            async with self._db.snapshot() as session:
                self._known = await indexes.list_ready(session)
        except ServiceError:
            return
