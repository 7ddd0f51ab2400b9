"""Memories of the scope to compare candidates with, and their earlier facts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from app.adapters.llm.embedders import SUCCESSORS
from app.adapters.llm.ports import Vectors
from app.adapters.resources import Resources
from app.kernel.ids import scope_hash
from app.kernel.names import EngineName
from app.language import heads
from app.language.facts import Candidate, Neighbour
from app.language.forgetting import is_everything, means_everything
from app.language.spans import UNTIMED
from app.language.text import names, numbers
from app.language.tongues import is_english
from app.memory.generation.logic.outcomes import Dropped
from app.memory.generation.logic.timing import is_newer, older, superseded
from app.memory.generation.schemas import GenerateMemoriesRequest, MetadataMergeStrategy
from app.memory.generation.services.turns import metadata_column, stored_topics
from app.memory.memories.logic.provenance import EndedFact
from app.memory.memories.schemas.memories import DEFAULT_MEMORY_TYPE
from app.memory.memories.services.embedding import EngineEmbedding
from app.memory.memories.store import facts as stored_facts
from app.memory.memories.store import repository as memories
from app.memory.memories.store.tables import MemoryRow
from app.memory.memories.store.vectors import Vector
from app.memory.retrieval.logic.query import read
from app.memory.retrieval.logic.ranking import WEIGHTS, best_of
from app.memory.retrieval.services.search import LargeScopeSearch, ScopeIndexes, is_hot
from app.memory.retrieval.store import fast_sql
from app.memory.retrieval.store import nearest as searches
from app.memory.retrieval.store import repository as retrieval
from app.memory.retrieval.store.candidates import CandidateQuery, find_candidates
from app.memory.retrieval.store.nearest import NearMemory, ScopeQuery, nothing
from app.memory.revisions import store as revisions

_CANDIDATES_PER_READ = 20
"""Maximum candidates per statement; without an index, each candidate is compared with all rows."""
_COMPARED_BY_WORDS = 1_000
"""Number of newest memories of a scope to compare word by word while there are no vectors."""
_SEARCHED = 20
"""Memories that a search for one fact returns; a request to forget may refer to any of them."""
_SHOWN_FOR_A_FACT = 3
_MORE_BY_DETAIL = 2
"""Further hits for the prompt, if they share a name or a number with the fact."""
_OF_STATEMENTS = replace(WEIGHTS, question=0.0, answers=0.0, length=0.0)
"""Weights of a search for a statement, without the signals that rank answers to a question."""


@dataclass(frozen=True)
class NearMemories:
    """The memories that a fact may be about; `has_more` is for requests about everything."""

    memories: Sequence[Neighbour] = ()
    has_more: bool = False


@dataclass(frozen=True)
class NearCandidates:
    """Candidates with the memories near each of them.

    Attributes:
        older: the outcomes of former candidates, which were taken back later than they were stated.
        model_id: the model of the vectors; empty if the distances are based on shared words.
        vectors: the vector of each compared text by that model.
    """

    candidates: Sequence[Candidate]
    near: Sequence[NearMemories]
    older: Sequence[Dropped] = ()
    model_id: str = ""
    vectors: Mapping[str, Vectors] = field(default_factory=dict)

    @property
    def rows(self) -> list[Sequence[Neighbour]]:
        """The memories near each candidate."""
        return [near.memories for near in self.near]


@dataclass(frozen=True)
class Neighbourhood:
    """The scope of one generation."""

    resources: Resources
    engine: EngineName
    request: GenerateMemoriesRequest

    @property
    def embedding(self) -> EngineEmbedding:
        """The embedding of the engine."""
        return EngineEmbedding.of(self.resources)

    async def near(self, candidates: Sequence[Candidate]) -> NearCandidates:
        """Return the memories near each candidate; read a few at a time, outside transactions."""
        # While the engine's model is unavailable or is being replaced, shared words are
        # compared.
        facts = [candidate.fact for candidate in candidates]
        judged = candidates if is_judged(await self.embedding.model_of(self.engine.engine)) else ()
        texts = [compared(candidate) for candidate in judged] or facts
        around = [one.context for one in judged if one.forget and one.context]
        vectors = await self.embedding.vectors(self.engine.engine, [*texts, *around])
        by_vectors = (
            await self._near_by_vectors([vectors[text] for text in texts]) if vectors else None
        )
        near = await self._near_by_words(facts) if by_vectors is None else by_vectors
        model_id = vectors[texts[0]].model_id if by_vectors else None
        if any(candidate.forget and is_everything(candidate.fact) for candidate in candidates):
            async with self.resources.db.snapshot() as session:
                forgotten = retrieval.newest(self._most_forgotten)
                newest_rows = await retrieval.find_newest(session, self._query(), forgotten)
            newest = [_of_row(row) for row in newest_rows.rows]
            near = [
                newest if candidate.forget and is_everything(candidate.fact) else row
                for candidate, row in zip(candidates, near, strict=True)
            ]
        in_time = await self._in_time(candidates, [NearMemories(row) for row in near])
        values = {text: vector.values for text, vector in vectors.items()} if model_id else {}
        return replace(in_time, model_id=model_id or "", vectors=values)

    async def searched(
        self, candidates: Sequence[Candidate], language: str | None
    ) -> NearCandidates:
        """Return the memories near each candidate by the service's search, outside transactions."""
        # There is no minimum similarity, because scales differ by embedder, and a memory
        # that a move or a new job ends is often far away.
        vectors = await self.embedding.vectors(
            self.engine.engine, [candidate.fact for candidate in candidates]
        )
        query = self._query()
        ids_of_all = [
            await self._search(candidate, vectors.get(candidate.fact), query, language)
            for candidate in candidates
        ]
        ids = {memory_id for row in ids_of_all for memory_id in row}
        rows = await fast_sql.find_near_by_ids(self.resources.db, query, sorted(ids))
        near = [
            await self._newest(query)
            if _forgets_everything(candidate)
            else _select_shown(candidate, [_to_neighbour(rows[key]) for key in ids if key in rows])
            for candidate, ids in zip(candidates, ids_of_all, strict=True)
        ]
        return await self._in_time(candidates, near)

    async def _search(
        self, candidate: Candidate, vector: Vector | None, query: ScopeQuery, language: str | None
    ) -> Sequence[str]:
        if _forgets_everything(candidate):
            return ()
        db, model_id = self.resources.db, (vector and vector.model_id) or ""
        values = vector.values if vector and not self._is_lexical(model_id) else None
        index = await ScopeIndexes.of(self.resources).find(query, model_id) if vector else None
        # A fact asks for no order of time.
        asked = replace(read(candidate.fact, query.now.date(), language), time=UNTIMED)
        wanted = CandidateQuery(candidate.fact, asked.language, model_id, values)
        if is_hot(db, query, index):
            larger = LargeScopeSearch.of(self.resources)
            candidates = await larger.find_candidates(db, query, wanted, index)
        else:
            async with db.snapshot() as session:
                candidates = await find_candidates(session, query, wanted, index)
        return list(best_of(asked, *candidates, _SEARCHED, _OF_STATEMENTS))

    async def _in_time(
        self, candidates: Sequence[Candidate], near: Sequence[NearMemories]
    ) -> NearCandidates:
        rows = [memories.memories for memories in near]
        ended = superseded(candidates, rows, await self._find_ended(candidates, rows))
        standing = [at for at in range(len(candidates)) if at not in ended]
        return NearCandidates(
            [candidates[at] for at in standing],
            [near[at] for at in standing],
            older(candidates, ended),
        )

    async def _find_ended(
        self, candidates: Sequence[Candidate], near: Sequence[Sequence[Neighbour]]
    ) -> dict[str, EndedFact]:
        now, engine_id = self.resources.clock.now(), self.engine.engine
        earlier = {
            candidate.fact
            for candidate in candidates
            if not candidate.forget and candidate.said_at is not None and candidate.said_at < now
        }
        if not earlier or self.request.reread_events:
            return {}
        newer = {
            memory.memory_id
            for candidate, row in zip(candidates, near, strict=True)
            for memory in row
            if candidate.fact in earlier and is_newer(memory, candidate)
        }
        metadata = self._exact_metadata()
        ended = await stored_facts.find_deleted(
            self.resources.db, engine_id, self.request.scope or {}, earlier, metadata, now
        )
        if newer:
            async with self.resources.db.snapshot() as session:
                ended |= await stored_facts.find_replaced(
                    session, engine_id, sorted(newer), earlier, now
                )
        return ended

    def _is_lexical(self, model_id: str) -> bool:
        embedder = self.resources.embedders.by_id.get(model_id)
        return embedder is not None and embedder.lexical_only

    async def _newest(self, query: ScopeQuery) -> NearMemories:
        async with self.resources.db.snapshot() as session:
            newest = await retrieval.find_newest(session, query, retrieval.newest(_SEARCHED + 1))
        near = [_of_row(row) for row in newest.rows[:_SEARCHED]]
        return NearMemories(near, len(newest.rows) > _SEARCHED)

    async def _near_by_vectors(self, vectors: Sequence[Vector]) -> list[list[Neighbour]] | None:
        """Return the nearest to each; None if the vectors' model no longer serves the engine."""
        asked = [vector.values for vector in vectors]
        query = self._query()
        model_id = vectors[0].model_id
        assert model_id is not None
        index = await ScopeIndexes.of(self.resources).find(query, model_id)
        results: list[list[Neighbour]] = []
        for at in range(0, len(asked), _CANDIDATES_PER_READ):
            async with self.resources.db.snapshot() as session:
                serving = await self.embedding.current(session, self.engine.engine)
                if serving != model_id:
                    return None
                nearest = await searches.find_nearest_to_each(
                    session,
                    query,
                    serving,
                    asked[at : at + _CANDIDATES_PER_READ],
                    self._count,
                    index=index,
                )
            results += [[_to_neighbour(near) for near in hits] for hits in nearest]
        return results

    async def _near_by_words(self, facts: Sequence[str]) -> list[list[Neighbour]]:
        if not facts:
            return []
        async with self.resources.db.snapshot() as session:
            compared = retrieval.newest(_COMPARED_BY_WORDS)
            rows = (await retrieval.find_newest(session, self._query(), compared)).rows
        by_words, limit = self.resources.embedders.by_words, self._count
        stored = await by_words.embed([row.fact or "" for row in rows])
        cosines = (await by_words.embed(facts)) @ stored.T
        # Rounding may leave a cosine slightly above 1 for equal texts.
        distances = np.sqrt(np.maximum(2 - 2 * cosines, 0))
        return [
            [_of_row(rows[n], float(row[n])) for n in np.argsort(row, kind="stable")[:limit]]
            for row in distances
        ]

    async def stored_vectors(self, near: NearCandidates) -> Mapping[str, Vectors]:
        """Return the vectors of the memories near requests that point back, by memory id."""
        ids = {
            memory.memory_id
            for candidate, row in zip(near.candidates, near.rows, strict=True)
            for memory in row
            if candidate.forget and candidate.context
        }
        return await fast_sql.find_vectors(
            self.resources.db, self._query(), near.model_id, sorted(ids)
        )

    async def histories(self, memory_ids: Sequence[str], shown: int) -> Mapping[str, list[str]]:
        """Return earlier facts of memories, newest first; `shown` counts the present revision."""
        if shown <= 1 or not memory_ids:
            return {}
        async with self.resources.db.snapshot() as session:
            return await revisions.latest_facts(
                session, self.engine.engine, memory_ids, shown, self.resources.clock.now()
            )

    @property
    def _most_forgotten(self) -> int:
        """Number of memories to compare for a request for everything: one above the limit."""
        return self.resources.settings.generation_max_forgets + 1

    @property
    def _count(self) -> int:
        return self.resources.settings.tuning.generation_neighbours

    def _query(self) -> ScopeQuery:
        scope = self.request.scope or {}
        is_exact = memories.has_metadata(self._exact_metadata())
        return ScopeQuery(
            engine_id=self.engine.engine,
            scope_hash=scope_hash(scope),
            memory_types=[DEFAULT_MEMORY_TYPE],
            # Fast statements have no conditions of the caller.
            clause=is_exact if self.resources.db.reaches(scope) else nothing(),
            now=self.resources.clock.now(),
        )

    def _exact_metadata(self) -> dict[str, Any] | None:
        # A memory must have exactly these metadata to be a candidate for change.
        strategy = self.request.metadata_merge_strategy
        if strategy is not MetadataMergeStrategy.REQUIRE_EXACT_MATCH:
            return None
        return metadata_column(self.request)


def compared(candidate: Candidate) -> str:
    """Return the text of a candidate whose vector the judges read.

    It is a fact, or the whole sentence of an English request to forget.
    """
    is_sentence = candidate.forget and candidate.source and is_english(candidate.source)
    return candidate.source if is_sentence else candidate.fact


def is_judged(model_id: str) -> bool:
    """Return True if the learned judges were trained on the vectors of this model."""
    # Vectors of the former weights are comparable: the present ones compute their queries.
    return SUCCESSORS.get(model_id, model_id) == heads.MODEL_ID


def _forgets_everything(candidate: Candidate) -> bool:
    return candidate.forget and means_everything(candidate.fact)


def _select_shown(candidate: Candidate, near: Sequence[Neighbour]) -> NearMemories:
    if candidate.forget:
        return NearMemories(near)
    details = names(candidate.fact) | numbers(candidate.fact)
    more = [
        neighbour
        for neighbour in near[_SHOWN_FOR_A_FACT:]
        if details & (names(neighbour.fact) | numbers(neighbour.fact))
    ]
    return NearMemories([*near[:_SHOWN_FOR_A_FACT], *more[:_MORE_BY_DETAIL]])


def _of_row(row: MemoryRow, distance: float = 0.0) -> Neighbour:
    is_held = row.held_time is not None
    return _to_neighbour(
        NearMemory(
            row.memory_id, row.version, row.fact, row.topics, row.rests_on, is_held, distance
        )
    )


def _to_neighbour(near: NearMemory) -> Neighbour:
    return Neighbour(
        memory_id=near.memory_id,
        version=near.version,
        fact=near.fact or "",
        distance=near.distance,
        topics=stored_topics(near.topics),
        rests_on=near.rests_on,
        is_held=near.is_held,
    )
