"""One search inside a scope: what is found, in which order, and why."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.adapters.db.session import Session
from app.adapters.llm.usage import estimated_tokens
from app.kernel.names import EngineName
from app.kernel.ranking import Ranking
from app.kernel.wire.base import camel_name
from app.memory.memories.schemas.fast_json import memory_json
from app.memory.memories.services.embedding import EmbeddedQuery
from app.memory.memories.store.records import StoredMemory
from app.memory.memories.store.tables import MemoryRow
from app.memory.retrieval.logic.asking import Asked
from app.memory.retrieval.logic.ranking import WEIGHTS, Candidate, Ranked, Weights, rank
from app.memory.retrieval.schemas import Explanation, SourceEvent
from app.memory.retrieval.store import nearest, repository
from app.memory.retrieval.store.candidates import Wanted, find_candidates
from app.memory.retrieval.store.nearest import ScopeIndex, ScopeQuery, Vector


@dataclass(frozen=True)
class Found:
    """A memory that was found; the attributes are as of the wire's explanation."""

    row: MemoryRow | StoredMemory
    distance: float | None = None
    ranking: Ranking | None = None
    vectors_unavailable: bool | None = None
    vector_distance: float | None = None
    lexical_score: float | None = None
    signals: Mapping[str, float] | None = None
    vectors_unsuited: bool | None = None


@dataclass(frozen=True)
class Search:
    """A search in a transaction.

    Attributes:
        session: of the transaction.
        query: which memories are searched.
        embedded: what is searched for.
        index: of the scope, where it has one.
        count: the most memories that are returned.
        weights: of the signals, where they are not the usual ones.
    """

    session: Session
    query: ScopeQuery
    embedded: EmbeddedQuery
    index: ScopeIndex | None
    count: int
    weights: Weights = WEIGHTS

    async def by_distance(self, vector: Vector) -> list[Found]:
        """Return the nearest memories; those without a vector are left out."""
        model_id = self.embedded.model_id
        found = await nearest.find_nearest(
            self.session, self.query, model_id, vector, self.count, index=self.index
        )
        return [found_by_distance(row, distance, self.embedded) for row, distance in found]

    async def by_everything(self, text: str, asked: Asked) -> list[Found]:
        """Return the best memories by meaning, words and signals: as many as there are."""
        embedded = self.embedded
        vector = None if embedded.is_lexical_only else embedded.vector
        wanted = Wanted(text, asked.language, embedded.model_id, vector)
        statistics, candidates = await find_candidates(self.session, self.query, wanted, self.index)
        ordered = rank(asked, statistics, candidates, self.weights)
        ranked = strangers_last(candidates, ordered)[: self.count]
        ids = [one.candidate.memory_id for one in ranked]
        rows = await repository.find_by_ids(self.session, self.query, ids)
        return [found_by_everything(rows[one.candidate.memory_id], one, embedded) for one in ranked]


def strangers_last(candidates: Sequence[Candidate], ranked: Sequence[Ranked]) -> list[Ranked]:
    """Put last what nothing connects with the query: in the order of `candidates`."""
    strangers = {one.candidate.memory_id: one for one in ranked if _is_stranger(one)}
    if not strangers:
        return list(ranked)
    known = [one for one in ranked if one.candidate.memory_id not in strangers]
    farthest = max(one.distance for one in ranked)
    return known + [
        replace(strangers[one.memory_id], distance=farthest)
        for one in candidates
        if one.memory_id in strangers
    ]


def _is_stranger(one: Ranked) -> bool:
    has_words = one.candidate.distance is not None or one.candidate.matched > 0
    return not (has_words or one.parts["subject"] or one.parts["time"] or one.distance == 0)


def found_by_distance(
    row: MemoryRow | StoredMemory, distance: float, embedded: EmbeddedQuery
) -> Found:
    """Return a memory in its place by the distance of the vectors alone."""
    return Found(
        row,
        distance,
        Ranking.VECTOR,
        vector_distance=distance,
        vectors_unsuited=embedded.is_unsuited or None,
    )


def found_by_everything(
    row: MemoryRow | StoredMemory, one: Ranked, embedded: EmbeddedQuery
) -> Found:
    """Return a memory in its place by all signals."""
    return Found(
        row,
        one.distance,
        Ranking.HYBRID,
        vectors_unavailable=embedded.vector is None,
        vectors_unsuited=embedded.is_unsuited or None,
        vector_distance=one.candidate.distance,
        lexical_score=one.parts["words"],
        signals=one.parts,
    )


def told(engine: EngineName, found: Found, *, explains: bool) -> dict[str, Any]:
    """Return the JSON form of a `RetrievedMemory`."""
    answer: dict[str, Any] = {"memory": memory_json(engine, found.row)}
    if found.distance is not None:
        answer["distance"] = found.distance
    if explains:
        answer["explanation"] = _explanation(found).wire()
    return answer


def _explanation(found: Found) -> Explanation:
    return Explanation(
        ranking=found.ranking,
        vectors_unavailable=found.vectors_unavailable,
        vectors_unsuited=found.vectors_unsuited,
        vector_distance=found.vector_distance,
        lexical_score=found.lexical_score,
        signals=found.signals and {camel_name(name): part for name, part in found.signals.items()},
        tokens=tokens_of(found.row),
        event_time=found.row.event_time,
        source_event=_source_event(found.row),
    )


def _source_event(row: MemoryRow | StoredMemory) -> SourceEvent | None:
    return None if row.source is None else SourceEvent(source=row.source, position=row.position)


def within(found: Iterable[Found], max_tokens: int | None) -> Iterator[Found]:
    """Yield, in their order, each that still fits into a number of tokens; none is cut.

    One that does not fit is passed over, so that a long memory does not keep out all the others.
    """
    left = max_tokens or math.inf
    for one in found:
        tokens = tokens_of(one.row)
        if tokens <= left:
            left -= tokens
            yield one


def tokens_of(row: MemoryRow | StoredMemory) -> int:
    """Estimate what a memory takes of a prompt: its fact, or else its structured content."""
    content = row.structured_content or {}
    return estimated_tokens(row.fact or json.dumps(content, ensure_ascii=False))
