"""One search inside a small scope with the fast statements; see `hot.py`."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.adapters.db.session import Database
from app.memory.memories.services.embedding import EmbeddedQuery
from app.memory.memories.store.records import StoredMemory
from app.memory.retrieval.logic.asking import Asked
from app.memory.retrieval.logic.ranking import Candidate, Statistics, rank
from app.memory.retrieval.services.lookups import LargerScopes
from app.memory.retrieval.services.search import (
    Found,
    found_by_distance,
    found_by_everything,
    strangers_last,
)
from app.memory.retrieval.store import hot
from app.memory.retrieval.store.candidates import Wanted
from app.memory.retrieval.store.nearest import ScopeQuery, Vector
from app.platform.engines.store.tables import EngineRow


@dataclass(frozen=True)
class SearchAtOnce:
    """A search like `Search`, outside a transaction, in an engine as it was read before.

    Its methods return None if something changed meanwhile, or nothing was found.
    """

    db: Database
    engine: EngineRow
    query: ScopeQuery
    embedded: EmbeddedQuery
    count: int
    larger: LargerScopes

    async def by_distance(self, vector: Vector) -> list[Found] | None:
        """Return the nearest memories; memories without a vector are left out."""
        model_id = self.embedded.model_id
        near = await hot.find_nearest(self.db, self.query, model_id, vector, self.count)
        rows = await self._read(near)
        if rows is None:
            return None
        return [
            found_by_distance(rows[memory_id], distance, self.embedded)
            for memory_id, distance in near.items()
        ]

    async def by_everything(self, text: str, asked: Asked) -> list[Found] | None:
        """Return the best memories by meaning, words and signals, as many as exist."""
        embedded = self.embedded
        vector = None if embedded.is_lexical_only else embedded.vector
        wanted = Wanted(text, asked.language, embedded.model_id, vector)
        statistics, candidates = await self._candidates(wanted)
        ranked = strangers_last(candidates, rank(asked, statistics, candidates))[: self.count]
        best = {hit.candidate.memory_id: hit for hit in ranked}
        rows = await self._read(best)
        if rows is None:
            return None
        return [
            found_by_everything(rows[memory_id], hit, embedded) for memory_id, hit in best.items()
        ]

    async def _candidates(self, wanted: Wanted) -> tuple[Statistics, list[Candidate]]:
        if not self.larger.has(self.query):
            small = await hot.find_if_small(self.db, self.query, wanted)
            if small is not None:
                return small
            self.larger.note(self.query)
        return await hot.find_candidates(self.db, self.query, wanted)

    async def _read(self, hits: Mapping[str, object]) -> dict[str, StoredMemory] | None:
        return await hot.tell(self.db, self.engine, self.query, list(hits))
