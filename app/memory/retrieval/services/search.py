"""A search in one scope: two ways to read it, one order, and the explanation of the hits."""

import asyncio
import json
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from cachetools import LRUCache
from typing_extensions import override

from app.adapters.db.lists import FEW
from app.adapters.db.session import Database, Session
from app.adapters.resources import Resources
from app.kernel.errors import ServiceError
from app.kernel.names import EngineName
from app.kernel.ranking import Ranking
from app.kernel.wire.base import camel_name
from app.language.spans import AskedTime
from app.language.tokens import estimate_tokens
from app.memory.memories.schemas.fast_json import memory_json
from app.memory.memories.services.embedding import EmbeddedQuery
from app.memory.memories.store.columns import MemoryRecord
from app.memory.memories.store.tables import MemoryRow
from app.memory.retrieval.logic.query import RetrievalQuery
from app.memory.retrieval.logic.ranking import (
    Ranked,
    RankingCandidate,
    Statistics,
    best_of,
    moment_of,
)
from app.memory.retrieval.schemas import Explanation, SourceEvent
from app.memory.retrieval.store import candidates, fast_sql, indexes, nearest, repository
from app.memory.retrieval.store.candidates import CandidateQuery
from app.memory.retrieval.store.indexes import IndexKey
from app.memory.retrieval.store.nearest import ScopeIndex, ScopeQuery, Vector
from app.platform.engines.store.tables import EngineRow

_LIFE_SECONDS = 30.0
_MAX_LARGER = 10_000


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


class ScopeIndexes:
    """A cache of all indexes, refreshed twice a minute; an outdated entry only slows searches."""

    def __init__(self, db: Database, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._db = db
        self._monotonic = monotonic
        self._read_at: float | None = None
        self._known: Mapping[IndexKey, ScopeIndex] = {}
        self._reading: asyncio.Task[None] | None = None

    @classmethod
    def of(cls, resources: Resources) -> "ScopeIndexes":
        """Return the shared instance of the process."""
        kept = resources.kept.get(cls)
        if not isinstance(kept, cls):
            # The cache covers all engines, so it must not use the access of this request's caller.
            kept = resources.kept[cls] = cls(resources.db.of_service())
        return kept

    async def find(self, query: ScopeQuery, model_id: str) -> ScopeIndex | None:
        """Return the known index for a model's vectors in the scope; not within a transaction."""
        now = self._monotonic()
        if self._read_at is None or now - self._read_at >= _LIFE_SECONDS:
            # Set before the read, so that concurrent requests do not read too.
            self._read_at = now
            # In the background: the request must not wait for the nodes of other engines.
            self._reading = asyncio.create_task(self.read())
        return self._known.get(IndexKey(query.engine_id, query.scope_hash, model_id))

    async def read(self) -> None:
        """Read all indexes now; keep the cached ones while the database is unavailable."""
        self._read_at = self._monotonic()
        try:
            self._known = await self._db.read_all(indexes.list_ready)
        except ServiceError:
            return


def is_hot(db: Database, query: ScopeQuery, index: ScopeIndex | None) -> bool:
    """Return True if the hot statements can serve a query."""
    # The nodes of a cluster get the settings for a scope's index only from a session.
    return query.is_unfiltered and not (index is not None and db.is_distributed)


class LargeScopeSearch:
    """Scopes that this process recently found too large for the statement for small scopes.

    A scope that has shrunk stays listed; searches in it take the general statement.
    """

    def __init__(self) -> None:
        self.known: LRUCache[tuple[int, bytes], None] = LRUCache(_MAX_LARGER)

    @classmethod
    def of(cls, resources: Resources) -> "LargeScopeSearch":
        """Return the instance of the process."""
        kept: LargeScopeSearch = resources.kept.setdefault(cls, cls())
        return kept

    async def find_candidates(
        self, db: Database, query: ScopeQuery, wanted: CandidateQuery, index: ScopeIndex | None
    ) -> tuple[Statistics, list[RankingCandidate]]:
        """Return the scope's statistics and candidates, for a query without filters."""
        scope = (query.engine_id, query.scope_hash)
        if index is None and scope not in self.known:
            small = await fast_sql.find_if_small(db, query, wanted)
            if small is not None:
                return small
            self.known[scope] = None
        return await fast_sql.find_candidates(db, query, wanted, index)


@dataclass(frozen=True)
class Search(ABC):
    """A search in one scope; the subclasses differ in how they read it, with equal results.

    The methods return None if the search has to be repeated in a transaction. At most `count`
    memories are returned, with at most `max_bytes` in total.
    """

    query: ScopeQuery
    embedded: EmbeddedQuery
    count: int
    max_bytes: int

    async def by_distance(self, vector: Vector) -> Hits | None:
        """Return the nearest memories; memories without a vector are left out."""
        near = await self.find_nearest(vector)
        rows = await self.read(list(near))
        return None if rows is None else _by_distances(near, rows, self.embedded)

    async def by_everything(self, text: str, asked: RetrievalQuery) -> Hits | None:
        """Return the best memories by meaning, words and signals, up to `count`."""
        # Vectors without meaning do not select candidates.
        vector = None if self.embedded.is_lexical_only else self.embedded.vector
        wanted = CandidateQuery(text, asked.language, self.embedded.model_id, vector)
        if asked.time.events:
            spans = await self._bounded(asked.time, wanted)
            asked = replace(asked, time=replace(asked.time, spans=spans))
            # The words of an event would find it again.
            wanted = replace(wanted, text=asked.time.topic)
        best = best_of(asked, *await self.find_candidates(wanted), self.count)
        rows = await self.read(list(best))
        if rows is None:
            return None
        hits = [_ranked(rows[key], hit, self.embedded) for key, hit in best.items() if key in rows]
        return Hits(hits, len(best) - len(hits))

    async def _bounded(self, time: AskedTime, wanted: CandidateQuery) -> tuple[str, ...]:
        """Return the spans of a query within the days of its events, which their words find."""
        found = [
            await self.find_candidates(replace(wanted, text=event.text, vector=None))
            for event in time.events
        ]
        return time.bounded([moment_of(*each) for each in found])

    @abstractmethod
    async def find_nearest(self, vector: Vector) -> Mapping[str, float]:
        """Return the distances of the nearest memories by id, nearest first."""

    @abstractmethod
    async def find_candidates(
        self, wanted: CandidateQuery
    ) -> tuple[Statistics, list[RankingCandidate]]:
        """Return the scope's statistics of the query's terms, and the candidates."""

    @abstractmethod
    async def read(self, memory_ids: Sequence[str]) -> Mapping[str, Row] | None:
        """Return memories by id: the first, with at most `max_bytes` in total."""


@dataclass(frozen=True)
class SearchInTransaction(Search):
    """The reference: any filter, and the index of the scope, if it has one."""

    session: Session
    index: ScopeIndex | None

    @override
    async def find_nearest(self, vector: Vector) -> Mapping[str, float]:
        model_id = self.embedded.model_id
        return await nearest.find_nearest(
            self.session, self.query, model_id, vector, self.count, index=self.index
        )

    @override
    async def find_candidates(
        self, wanted: CandidateQuery
    ) -> tuple[Statistics, list[RankingCandidate]]:
        return await candidates.find_candidates(self.session, self.query, wanted, self.index)

    @override
    async def read(self, memory_ids: Sequence[str]) -> Mapping[str, Row]:
        return await repository.find_by_ids(self.session, self.query, memory_ids, self.max_bytes)


@dataclass(frozen=True)
class FastSearch(Search):
    """The fast statements, without filters, based on a cached engine row.

    It returns None without hits, or if the engine or a memory has changed in the meantime.
    """

    db: Database
    engine: EngineRow
    larger: LargeScopeSearch
    index: ScopeIndex | None

    @override
    async def by_distance(self, vector: Vector) -> Hits | None:
        if self.index is not None or self.count > FEW:
            return await super().by_distance(vector)
        read = await fast_sql.read_nearest(
            self.db, self.engine, self.query, vector, self.count, self.max_bytes
        )
        return None if read is None else _by_distances(*read, self.embedded)

    @override
    async def find_nearest(self, vector: Vector) -> Mapping[str, float]:
        model_id = self.embedded.model_id
        return await fast_sql.find_nearest(
            self.db, self.query, model_id, vector, self.count, index=self.index
        )

    @override
    async def find_candidates(
        self, wanted: CandidateQuery
    ) -> tuple[Statistics, list[RankingCandidate]]:
        return await self.larger.find_candidates(self.db, self.query, wanted, self.index)

    @override
    async def read(self, memory_ids: Sequence[str]) -> Mapping[str, Row] | None:
        return await fast_sql.find_by_ids(
            self.db, self.engine, self.query, memory_ids, self.max_bytes
        )


def _by_distances(
    near: Mapping[str, float], rows: Mapping[str, Row], embedded: EmbeddedQuery
) -> Hits:
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


def _ranked(row: Row, ranked: Ranked, embedded: EmbeddedQuery) -> SearchHit:
    signals = ranked.parts
    return SearchHit(
        row,
        ranked.distance,
        Ranking.HYBRID,
        vectors_unavailable=embedded.vector is None,
        vectors_unsuited=embedded.is_unsuited or None,
        vector_distance=ranked.candidate.distance,
        lexical_score=signals["words"],
        signals=signals,
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
    row, source = hit.row, None
    if row.source is not None:
        source = SourceEvent(source=row.source, position=row.position)
    return Explanation(
        ranking=hit.ranking,
        vectors_unavailable=hit.vectors_unavailable,
        vectors_unsuited=hit.vectors_unsuited,
        vector_distance=hit.vector_distance,
        lexical_score=hit.lexical_score,
        signals=hit.signals and {camel_name(name): part for name, part in hit.signals.items()},
        tokens=tokens_of(row),
        event_time=row.event_time,
        source_event=source,
    )


def within(hits: Iterable[SearchHit], max_tokens: int | None) -> Iterator[SearchHit]:
    """Yield, in order, each hit that still fits into a number of tokens; none is cut."""
    # A hit that does not fit is skipped, because one long memory must not exclude all others.
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
