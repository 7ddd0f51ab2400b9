"""The memories of the scope that candidates are compared with, and what those said before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.core.names import EngineName
from app.generation.profiles import StoredField, stored_fields
from app.generation.schemas import GenerateMemoriesRequest, MetadataMergeStrategy
from app.generation.turns import metadata_column, stored_topics
from app.memories import repository as memories
from app.memories.ledger import Vector
from app.memories.schemas import DEFAULT_MEMORY_TYPE, scope_hash
from app.resources import Resources
from app.retrieval import repository as retrieval
from app.retrieval.repository import Near, ScopeQuery
from app.revisions import repository as revisions
from app.rules.facts import Candidate, Neighbour

_CANDIDATES_PER_READ = 20
"""Candidates whose neighbours one statement finds; each compares with the whole scope."""


@dataclass(frozen=True)
class Neighbourhood:
    """The scope of one generation."""

    resources: Resources
    engine: EngineName
    request: GenerateMemoriesRequest

    async def embedded(self, facts: Sequence[str]) -> dict[str, Vector]:
        """Return the vector of each fact. Must not be called inside a transaction."""
        embedded = await self.resources.embedder.embed(facts)
        return {fact: Vector(row) for fact, row in zip(facts, embedded, strict=True)}

    async def near(self, candidates: Sequence[Candidate]) -> list[list[Neighbour]]:
        """Return the memories near each candidate, read a few candidates at a time.

        What changes between two reads is found when it is written: each memory has its version.
        Must not be called inside a transaction.
        """
        vectors = await self.embedded([one.fact for one in candidates])
        asked = [vectors[one.fact].values for one in candidates]
        found: list[list[Neighbour]] = []
        for at in range(0, len(asked), _CANDIDATES_PER_READ):
            async with self.resources.db.snapshot() as session:
                nearest = await retrieval.find_nearest_to_each(
                    session,
                    self._query(),
                    self.resources.embedder.model_id,
                    asked[at : at + _CANDIDATES_PER_READ],
                    self.resources.settings.generation_neighbours,
                )
            found += [[_neighbour(near) for near in one] for one in nearest]
        return found

    async def profile_fields(self) -> list[StoredField]:
        """Return the fields of the scope's profiles, those changed last at the end."""
        async with self.resources.db.snapshot() as session:
            rows = await retrieval.find_profiles(
                session,
                self.engine.engine,
                scope_hash(self.request.scope or {}),
                self.resources.clock.now(),
            )
        return [
            one
            for row in rows
            for one in stored_fields(row.memory_id, row.version, row.structured_content or {})
        ]

    async def histories(self, memory_ids: Sequence[str], shown: int) -> Mapping[str, list[str]]:
        """Return what memories said before, newest first, of up to `shown` revisions each.

        The present one counts, so that one revision is no history.
        """
        if shown <= 1 or not memory_ids:
            return {}
        async with self.resources.db.snapshot() as session:
            return await revisions.latest_facts(
                session, self.engine.engine, memory_ids, shown, self.resources.clock.now()
            )

    def _query(self) -> ScopeQuery:
        return ScopeQuery(
            engine_id=self.engine.engine,
            scope_hash=scope_hash(self.request.scope or {}),
            memory_types=[DEFAULT_MEMORY_TYPE],
            clause=memories.has_metadata(self._exact_metadata()),
            now=self.resources.clock.now(),
        )

    def _exact_metadata(self) -> dict[str, Any] | None:
        """Return the metadata that a memory must have to be a candidate for change, if any."""
        strategy = self.request.metadata_merge_strategy
        if strategy is not MetadataMergeStrategy.REQUIRE_EXACT_MATCH:
            return None
        return metadata_column(self.request)


def _neighbour(near: Near) -> Neighbour:
    return Neighbour(
        memory_id=near.memory_id,
        version=near.version,
        fact=near.fact or "",
        distance=near.distance,
        topics=stored_topics(near.topics),
    )
