"""What a worker runs to generate memories.

Read, think outside any transaction, then write all changes and the operation's end in one. A
memory that was changed meanwhile makes the job think again.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from zoneinfo import ZoneInfo

from app.core.errors import Aborted
from app.core.names import EngineName
from app.engines import repository as engines
from app.engines.config import CustomizationConfig, customization_for
from app.engines.repository import Lock
from app.engines.schemas import config_of
from app.generation.plan import Plan, PlannedChange, considered, plan
from app.generation.schemas import GenerateMemoriesRequest, MetadataMergeStrategy
from app.generation.turns import (
    configured_topics,
    metadata_column,
    skipped_files,
    stored_topics,
    topics_of,
    turn_of,
)
from app.generation.writer import Writer
from app.memories import repository as memories
from app.memories.ledger import Vector, Writing
from app.memories.schemas import DEFAULT_MEMORY_TYPE, scope_hash
from app.memories.service import MemoryService
from app.memories.tables import MemoryRow
from app.operations.runner import Job
from app.operations.schemas import type_url
from app.resources import Resources
from app.retrieval import repository as retrieval
from app.retrieval.repository import ScopeQuery
from app.rules import extraction, merging
from app.rules.facts import Candidate, Neighbour
from app.rules.topics import effective

_MAX_PLANS = 3
"""How often a job plans before it leaves the scope to whoever keeps changing it."""
_CANDIDATES_PER_READ = 20
"""Candidates whose neighbours one statement finds; each compares with the whole scope."""


async def generate(job: Job, resources: Resources) -> None:
    """Run a queued generation."""
    # Of a long conversation, this takes as long as hundreds of requests.
    request = await asyncio.to_thread(GenerateMemoriesRequest.model_validate, job.claim.request)
    engine = EngineName.parse(job.claim.engine_name)
    await _Generation(job, MemoryService.of(resources), engine, request).run()


@dataclass(frozen=True)
class _Generation:
    """One run of one generation."""

    job: Job
    service: MemoryService
    engine: EngineName
    request: GenerateMemoriesRequest

    async def run(self) -> None:
        """Extract, then plan and apply until nothing has changed in between."""
        found = await self._candidates()
        candidates = considered(found, self.service.settings.generation_max_candidates)
        counts = {"candidateCount": len(found)}
        if len(candidates) < len(found):
            counts["omittedCandidateCount"] = len(found) - len(candidates)
        for attempt in range(1, _MAX_PLANS + 1):
            planned = await self._plan(candidates)
            vectors = await self._embedded([change.fact for change in planned.changes])
            # Thinking is what takes long: whoever cancels meanwhile must find nothing written.
            await self.job.step()
            try:
                await self._apply(planned, vectors, counts)
            except Aborted:
                if attempt == _MAX_PLANS:
                    raise
            else:
                return

    async def _candidates(self) -> list[Candidate]:
        """Return what is to be remembered or forgotten, off the event loop."""
        request = self.request
        async with self.job.db.snapshot() as session:
            engine = await engines.get(session, self.engine)
        config = customization_for(config_of(engine), request.scope or {})
        if config.disable_natural_language_memories:
            return []
        if request.direct_memories_source is not None:
            given = request.direct_memories_source.direct_memories
            return extraction.direct([(one.fact, topics_of(one.topics)) for one in given])
        return await asyncio.to_thread(self._extract, config)

    def _extract(self, config: CustomizationConfig) -> list[Candidate]:
        assert self.request.direct_contents_source is not None
        return extraction.extract(
            [turn_of(event) for event in self.request.direct_contents_source.events],
            now=self.job.clock.now(),
            topics=effective(configured_topics(config), topics_of(self.request.allowed_topics)),
            time_zone=ZoneInfo(self.request.time_zone or "UTC"),
            third_person=bool(config.enable_third_person_memories),
        )

    async def _plan(self, candidates: Sequence[Candidate]) -> Plan:
        """Decide what becomes of each candidate among the memories of the scope."""
        if self.request.disable_consolidation:
            kept = [one for one in candidates if not one.forget]
            return Plan(tuple(_created(one) for one in kept))
        vectors = await self._embedded([one.fact for one in candidates])
        neighbours = await self._neighbours(candidates, vectors)
        max_deletes = self.service.settings.generation_max_deletes
        return await asyncio.to_thread(_decide, candidates, neighbours, max_deletes)

    async def _embedded(self, facts: Sequence[str]) -> dict[str, Vector]:
        """Return the vector of each fact. Runs outside any transaction."""
        embedded = await self.service.embedder.embed(facts)
        return {fact: Vector(row) for fact, row in zip(facts, embedded, strict=True)}

    async def _neighbours(
        self, candidates: Sequence[Candidate], vectors: Mapping[str, Vector]
    ) -> list[list[Neighbour]]:
        """Return the memories near each candidate, read a few candidates at a time.

        What changes between two reads is found when it is written: each memory has its version.
        """
        query = ScopeQuery(
            engine_id=self.engine.engine,
            scope_hash=scope_hash(self.request.scope or {}),
            memory_types=[DEFAULT_MEMORY_TYPE],
            clause=memories.has_metadata(self._exact_metadata()),
            now=self.job.clock.now(),
        )
        limit = self.service.settings.generation_neighbours
        asked = [vectors[candidate.fact].values for candidate in candidates]
        found: list[list[Neighbour]] = []
        for at in range(0, len(asked), _CANDIDATES_PER_READ):
            async with self.job.db.snapshot() as session:
                nearest = await retrieval.find_nearest_to_each(
                    session,
                    query,
                    self.service.embedder.model_id,
                    asked[at : at + _CANDIDATES_PER_READ],
                    limit,
                )
            found += [[_neighbour(row, distance) for row, distance in one] for one in nearest]
        return found

    def _exact_metadata(self) -> dict[str, Any] | None:
        """Return the metadata that a memory must have to be a candidate for change, if any."""
        strategy = self.request.metadata_merge_strategy
        if strategy is not MetadataMergeStrategy.REQUIRE_EXACT_MATCH:
            return None
        return metadata_column(self.request)

    async def _apply(
        self, planned: Plan, vectors: Mapping[str, Vector], counts: Mapping[str, int]
    ) -> None:
        """Make all changes and end the operation in one transaction.

        Raises:
            Aborted: a memory was changed since it was read.
        """
        async with self.job.db.transaction() as session:
            engine = await engines.get(session, self.engine, Lock.SHARED)
            writing = replace(
                self.service.writing_for(
                    engine,
                    self.job.claim.owned.operation_id,
                    self.job.clock.now(),
                    self.request,
                ),
                author=extraction.ENGINE,
            )
            writer = Writer(session, engine, writing, self.request)
            generated = await writer.write(planned.changes, vectors)
            response: dict[str, Any] = {"@type": type_url("GenerateMemoriesResponse")}
            if generated:
                response["generatedMemories"] = generated
            await self.job.finish(session, response, self._details(writing, counts))

    def _details(self, writing: Writing, counts: Mapping[str, int]) -> dict[str, Any]:
        """Return what the operation's metadata tells of the work."""
        source = self.request.direct_contents_source
        skipped = skipped_files(source.events) if source is not None else 0
        return {
            "author": extraction.ENGINE,
            **counts,
            **({"skippedFileCount": skipped} if skipped else {}),
            **({} if writing.keeps_revisions else {"revisionsDisabled": True}),
        }


def _decide(
    candidates: Sequence[Candidate], neighbours: Sequence[Sequence[Neighbour]], max_deletes: int
) -> Plan:
    verdicts = merging.consolidate(candidates, neighbours, max_deletes=max_deletes)
    return plan(candidates, neighbours, verdicts, max_deletes=max_deletes)


def _created(candidate: Candidate) -> PlannedChange:
    return PlannedChange(
        action="CREATED",
        memory_id=None,
        version=None,
        fact=candidate.fact,
        topics=candidate.topics,
        extracted=(candidate.fact,),
        reason="not consolidated",
    )


def _neighbour(row: MemoryRow, distance: float) -> Neighbour:
    return Neighbour(
        memory_id=row.memory_id,
        version=row.version,
        fact=row.fact or "",
        distance=distance,
        topics=stored_topics(row.topics),
    )
