"""Retrieval: the memories of a scope, nearest to a query or newest first, and its profiles."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.core.clock import Clock
from app.core.names import EngineName
from app.core.paging import clamp_page_size, decode_token, encode_token, typed_key
from app.db.filters import read_filter
from app.db.session import Database
from app.engines import repository as engines
from app.engines.schemas import name_of
from app.llm.ports import Embedder
from app.memories import repository as memories
from app.memories.schemas import (
    DEFAULT_MEMORY_TYPE,
    Memory,
    metadata_filters,
    scope_hash,
    stored_type,
)
from app.memories.tables import MemoryRow
from app.resources import Resources
from app.retrieval import repository
from app.retrieval.repository import ScopeQuery, nothing
from app.retrieval.schemas import (
    MemoryProfile,
    RetrievedMemory,
    RetrieveMemoriesRequest,
    RetrieveMemoriesResponse,
    RetrieveProfilesRequest,
    RetrieveProfilesResponse,
    SimilaritySearchParams,
    SimpleRetrievalParams,
)
from app.settings import Settings

DEFAULT_COUNT = 3
MAX_COUNT = 100


@dataclass(frozen=True)
class RetrievalService:
    """Finds memories inside one scope."""

    db: Database
    clock: Clock
    embedder: Embedder
    settings: Settings

    @classmethod
    def of(cls, resources: Resources) -> "RetrievalService":
        """Build the service from the process's resources."""
        return cls(resources.db, resources.clock, resources.embedder, resources.settings)

    async def retrieve(
        self, name: EngineName, request: RetrieveMemoriesRequest
    ) -> RetrieveMemoriesResponse:
        """Return memories that have exactly the scope of the request."""
        query, seconds = self._query(name, request)
        if request.similarity_search_params is not None:
            return await self._nearest(name, query, seconds, request.similarity_search_params)
        return await self._newest(name, request, query, seconds)

    async def retrieve_profiles(
        self, name: EngineName, request: RetrieveProfilesRequest
    ) -> RetrieveProfilesResponse:
        """Return the profiles that have exactly the scope of the request."""
        digest, now = scope_hash(request.scope), self.clock.now()
        async with self.db.snapshot() as session:
            await engines.get(session, name)
            rows: list[MemoryRow] = []
            if self.db.reaches(request.scope):
                rows = await repository.find_profiles(session, name.engine, digest, now)
        return RetrieveProfilesResponse(profiles=_profiles(rows) or None)

    def _query(
        self, name: EngineName, request: RetrieveMemoriesRequest
    ) -> tuple[ScopeQuery, float | None]:
        """Check the filters before anything is paid for; return also the limit of the statement."""
        clause = read_filter(request.filter, memories.FILTER_FIELDS, self.settings)
        groups = memories.metadata_condition(metadata_filters(request.filter_groups))
        types = [stored_type(one) for one in request.memory_types or [DEFAULT_MEMORY_TYPE]]
        query = ScopeQuery(
            engine_id=name.engine,
            scope_hash=scope_hash(request.scope),
            memory_types=types,
            clause=clause.condition & groups if self.db.reaches(request.scope) else nothing(),
            now=self.clock.now(),
        )
        return query, clause.seconds

    async def _nearest(
        self,
        name: EngineName,
        query: ScopeQuery,
        seconds: float | None,
        params: SimilaritySearchParams,
    ) -> RetrieveMemoriesResponse:
        limit = clamp_page_size(params.top_k, DEFAULT_COUNT, self._max_count)
        (vector,) = await self.embedder.embed([params.search_query])
        async with self.db.snapshot(statement_seconds=seconds) as session:
            engine = name_of(await engines.get(session, name))
            found = await repository.find_nearest(
                session, query, self.embedder.model_id, vector, limit
            )
        return RetrieveMemoriesResponse(
            retrieved_memories=[
                RetrievedMemory(memory=Memory.from_row(engine, row), distance=distance)
                for row, distance in found
            ]
        )

    async def _newest(
        self,
        name: EngineName,
        request: RetrieveMemoriesRequest,
        query: ScopeQuery,
        seconds: float | None,
    ) -> RetrieveMemoriesResponse:
        """Return a page; a token only to a caller that asked for pages.

        The official client repeats a call that brought a token with a field that its own request
        refuses. Source: wire specification, section 7.3.
        """
        params = request.simple_retrieval_params
        pages = params is not None and bool(params.page_size or params.page_token)
        limit = self._page_size(params)
        bound = {
            "list": "retrieve",
            "engine": name.engine,
            "request": request.model_copy(update={"simple_retrieval_params": None}).wire(),
        }
        token = params.page_token if params is not None else None
        after = typed_key(decode_token(token, bound), datetime, str) if token else None
        async with self.db.snapshot(statement_seconds=seconds) as session:
            engine = name_of(await engines.get(session, name))
            rows = await repository.find_newest(session, query, limit + 1, after)
        last = rows[limit - 1] if pages and len(rows) > limit else None
        return RetrieveMemoriesResponse(
            retrieved_memories=[
                RetrievedMemory(memory=Memory.from_row(engine, row)) for row in rows[:limit]
            ],
            next_page_token=last and encode_token(bound, [last.create_time, last.memory_id]),
        )

    def _page_size(self, params: SimpleRetrievalParams | None) -> int:
        """Without parameters the whole scope is meant, as far as one answer goes."""
        if params is None:
            return self._max_count
        return clamp_page_size(params.page_size, DEFAULT_COUNT, self._max_count)

    @property
    def _max_count(self) -> int:
        return min(MAX_COUNT, self.settings.max_page_size)


def _profiles(rows: Iterable[MemoryRow]) -> dict[str, MemoryProfile]:
    """Put the fields of each schema together; of two values of a field the later row's counts.

    A null, which only a memory written by hand can have, takes the field away.
    """
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        content = row.structured_content or {}
        found.setdefault(content["schemaId"], {}).update(content["data"])
    return {
        schema_id: MemoryProfile(
            schema_id=schema_id,
            profile={name: value for name, value in fields.items() if value is not None},
        )
        for schema_id, fields in found.items()
    }
