"""Fast path of a search: no filters, no index, and separate statements (`fast_sql.py`)."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.adapters.db.session import Database
from app.memory.memories.services.embedding import EmbeddedQuery
from app.memory.memories.store.records import MemoryRecord
from app.memory.retrieval.logic.asking import RetrievalQuery
from app.memory.retrieval.logic.ranking import RankingCandidate, Statistics
from app.memory.retrieval.services.lookups import LargeScopeSearch
from app.memory.retrieval.services.search import (
    Hits,
    best_of,
    by_distances,
    by_ranks,
    candidate_query,
)
from app.memory.retrieval.store import fast_sql
from app.memory.retrieval.store.candidates import CandidateQuery
from app.memory.retrieval.store.nearest import ScopeQuery, Vector
from app.platform.engines.store.tables import EngineRow


@dataclass(frozen=True)
class FastSearch:
    """A search like `Search`, outside a transaction, based on a cached engine row.

    Its methods return None without hits, or if the engine or a memory changed in the meantime.
    """

    db: Database
    engine: EngineRow
    query: ScopeQuery
    embedded: EmbeddedQuery
    count: int
    max_bytes: int
    larger: LargeScopeSearch

    async def by_distance(self, vector: Vector) -> Hits | None:
        """Return the nearest memories; memories without a vector are left out."""
        model_id = self.embedded.model_id
        near = await fast_sql.find_nearest(self.db, self.query, model_id, vector, self.count)
        rows = await self._read(near)
        if rows is None:
            return None
        return by_distances(near, rows, self.embedded)

    async def by_everything(self, text: str, asked: RetrievalQuery) -> Hits | None:
        """Return the best memories by meaning, words and signals, up to `count`."""
        wanted = candidate_query(self.embedded, text, asked)
        candidates = await find_candidates(self.db, self.larger, self.query, wanted)
        best = best_of(asked, *candidates, self.count)
        rows = await self._read(best)
        if rows is None:
            return None
        return by_ranks(best, rows, self.embedded)

    async def _read(self, hits: Mapping[str, object]) -> dict[str, MemoryRecord] | None:
        return await fast_sql.find_by_ids(
            self.db, self.engine, self.query, list(hits), self.max_bytes
        )


async def find_candidates(
    db: Database, larger: LargeScopeSearch, query: ScopeQuery, wanted: CandidateQuery
) -> tuple[Statistics, list[RankingCandidate]]:
    """Return the scope's statistics and candidates, for a query without filters or index."""
    if not larger.has(query):
        small = await fast_sql.find_if_small(db, query, wanted)
        if small is not None:
            return small
        larger.note(query)
    return await fast_sql.find_candidates(db, query, wanted)
