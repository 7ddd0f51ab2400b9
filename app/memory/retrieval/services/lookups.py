"""What this process knows of scopes: the indexes of large ones, and which are not small."""

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.errors import ServiceError
from app.memory.retrieval.store import indexes
from app.memory.retrieval.store.indexes import Key
from app.memory.retrieval.store.nearest import ScopeIndex, ScopeQuery

_LIFE_SECONDS = 30.0
_MAX_LARGER = 10_000


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


class LargerScopes:
    """The scopes that one process has found too large for a small one's statement lately.

    So that it is not tried in vain each time. One that has shrunk is found, for what it took.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[int, bytes], None] = OrderedDict()

    @classmethod
    def of(cls, resources: Resources) -> "LargerScopes":
        """Return those of the process."""
        found: LargerScopes = resources.kept.setdefault(cls, cls())
        return found

    def has(self, query: ScopeQuery) -> bool:
        """Say whether the scope of a query is one of them."""
        return (query.engine_id, query.scope_hash) in self._known

    def note(self, query: ScopeQuery) -> None:
        """Remember the scope of a query."""
        self._known[query.engine_id, query.scope_hash] = None
        if len(self._known) > _MAX_LARGER:
            self._known.popitem(last=False)
