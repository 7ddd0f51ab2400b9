"""Reference path of a search in a scope; order and explanations shared with the fast path."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from app.adapters.db.session import Session
from app.kernel.names import EngineName
from app.kernel.ranking import Ranking
from app.kernel.wire.base import camel_name
from app.language.tokens import estimate_tokens
from app.memory.memories.schemas.fast_json import memory_json
from app.memory.memories.services.embedding import EmbeddedQuery
from app.memory.memories.store.records import MemoryRecord
from app.memory.memories.store.tables import MemoryRow
from app.memory.retrieval.logic.asking import RetrievalQuery
from app.memory.retrieval.logic.ranking import (
    WEIGHTS,
    Ranked,
    RankingCandidate,
    Statistics,
    Weights,
    rank,
)
from app.memory.retrieval.schemas import Explanation, SourceEvent
from app.memory.retrieval.store import nearest, repository
from app.memory.retrieval.store.candidates import CandidateQuery, find_candidates
from app.memory.retrieval.store.nearest import ScopeIndex, ScopeQuery, Vector

Row = MemoryRow | MemoryRecord


@dataclass(frozen=True)
class SearchHit:
    """One hit of a search; the attributes are the fields of `Explanation` on the wire."""

    row: Row
    distance: float | None = None
    ranking: Ranking | None = None
    vectors_unavailable: bool | None = None
    vector_distance: float | None = None
    lexical_score: float | None = None
    signals: Mapping[str, float] | None = None
    vectors_unsuited: bool | None = None


class Hits(NamedTuple):
    """The hits of a search, and the number of hits left out to limit the size of the response."""

    hits: Sequence[SearchHit]
    omitted: int


@dataclass(frozen=True)
class Search:
    """A search in a transaction.

    Attributes:
        session: the session of the transaction.
        query: the memories to search.
        embedded: the search text.
        index: the index of the scope, if it has one.
        count: the maximum number of memories to return.
        weights: the weights of the signals, if not the usual ones.
        max_bytes: the maximum total size of the memories; None: no bound.
    """

    session: Session
    query: ScopeQuery
    embedded: EmbeddedQuery
    index: ScopeIndex | None
    count: int
    weights: Weights = WEIGHTS
    max_bytes: int | None = None

    async def by_distance(self, vector: Vector) -> Hits:
        """Return the nearest memories; memories without a vector are left out."""
        model_id = self.embedded.model_id
        near = await nearest.find_nearest(
            self.session, self.query, model_id, vector, self.count, index=self.index
        )
        return by_distances(near, await self._read(near), self.embedded)

    async def by_everything(self, text: str, asked: RetrievalQuery) -> Hits:
        """Return the best memories by meaning, words and signals, up to `count`."""
        wanted = candidate_query(self.embedded, text, asked)
        candidates = await find_candidates(self.session, self.query, wanted, self.index)
        best = best_of(asked, *candidates, self.count, self.weights)
        return by_ranks(best, await self._read(best), self.embedded)

    async def _read(self, hits: Mapping[str, object]) -> dict[str, MemoryRow]:
        return await repository.find_by_ids(self.session, self.query, list(hits), self.max_bytes)


def candidate_query(embedded: EmbeddedQuery, text: str, asked: RetrievalQuery) -> CandidateQuery:
    """Return the query for candidates; vectors without meaning do not select any."""
    vector = None if embedded.is_lexical_only else embedded.vector
    return CandidateQuery(text, asked.language, embedded.model_id, vector)


def best_of(
    asked: RetrievalQuery,
    statistics: Statistics,
    candidates: Sequence[RankingCandidate],
    count: int,
    weights: Weights = WEIGHTS,
) -> dict[str, Ranked]:
    """Return the best candidates by id, best first."""
    ranked = _unrelated_last(candidates, rank(asked, statistics, candidates, weights))
    return {hit.candidate.memory_id: hit for hit in ranked[:count]}


def _unrelated_last(
    candidates: Sequence[RankingCandidate], ranked: Sequence[Ranked]
) -> list[Ranked]:
    """Put candidates without any relation to the query last, in the order of `candidates`."""
    unrelated = {hit.candidate.memory_id: hit for hit in ranked if _is_unrelated(hit)}
    if not unrelated:
        return list(ranked)
    known = [hit for hit in ranked if hit.candidate.memory_id not in unrelated]
    farthest = max(hit.distance for hit in ranked)
    return known + [
        replace(unrelated[candidate.memory_id], distance=farthest)
        for candidate in candidates
        if candidate.memory_id in unrelated
    ]


def _is_unrelated(hit: Ranked) -> bool:
    has_words = hit.candidate.distance is not None or hit.candidate.matched > 0
    return not (has_words or hit.parts["subject"] or hit.parts["time"] or hit.distance == 0)


def by_distances(
    near: Mapping[str, float], rows: Mapping[str, Row], embedded: EmbeddedQuery
) -> Hits:
    """Return the hits with a row, ordered by the distance of the vectors alone."""
    hits = [
        SearchHit(
            rows[memory_id],
            distance,
            Ranking.VECTOR,
            vector_distance=distance,
            vectors_unsuited=embedded.is_unsuited or None,
        )
        for memory_id, distance in near.items()
        if memory_id in rows
    ]
    return Hits(hits, len(near) - len(hits))


def by_ranks(best: Mapping[str, Ranked], rows: Mapping[str, Row], embedded: EmbeddedQuery) -> Hits:
    """Return the hits with a row, ordered by all signals."""
    hits = [_ranked(rows[key], ranked, embedded) for key, ranked in best.items() if key in rows]
    return Hits(hits, len(best) - len(hits))


def _ranked(row: Row, ranked: Ranked, embedded: EmbeddedQuery) -> SearchHit:
    return SearchHit(
        row,
        ranked.distance,
        Ranking.HYBRID,
        vectors_unavailable=embedded.vector is None,
        vectors_unsuited=embedded.is_unsuited or None,
        vector_distance=ranked.candidate.distance,
        lexical_score=ranked.parts["words"],
        signals=ranked.parts,
    )


def to_json(engine: EngineName, hit: SearchHit, *, explains: bool) -> dict[str, Any]:
    """Return the JSON form of a `RetrievedMemory`."""
    answer: dict[str, Any] = {"memory": memory_json(engine, hit.row)}
    if hit.distance is not None:
        answer["distance"] = hit.distance
    if explains:
        answer["explanation"] = _explanation(hit).wire()
    return answer


def _explanation(hit: SearchHit) -> Explanation:
    return Explanation(
        ranking=hit.ranking,
        vectors_unavailable=hit.vectors_unavailable,
        vectors_unsuited=hit.vectors_unsuited,
        vector_distance=hit.vector_distance,
        lexical_score=hit.lexical_score,
        signals=hit.signals and {camel_name(name): part for name, part in hit.signals.items()},
        tokens=tokens_of(hit.row),
        event_time=hit.row.event_time,
        source_event=_source_event(hit.row),
    )


def _source_event(row: Row) -> SourceEvent | None:
    return None if row.source is None else SourceEvent(source=row.source, position=row.position)


def within(hits: Iterable[SearchHit], max_tokens: int | None) -> Iterator[SearchHit]:
    """Yield, in order, each hit that still fits into a number of tokens; none is cut.

    A hit that does not fit is skipped, because one long memory must not exclude all others.
    """
    left = max_tokens or math.inf
    for hit in hits:
        tokens = tokens_of(hit.row)
        if tokens <= left:
            left -= tokens
            yield hit


def tokens_of(row: Row) -> int:
    """Estimate the tokens of a memory in a prompt: of its fact, or else its structured content."""
    content = row.structured_content or {}
    return estimate_tokens(row.fact or json.dumps(content, ensure_ascii=False))
