"""Retrieval of the memories of a scope, nearest to a query or newest first, and its profiles."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any
from zoneinfo import ZoneInfo

from app.adapters.db.filters import read_filter
from app.adapters.db.lists import ReadRows, Slice
from app.adapters.resources import Resources
from app.kernel.ids import scope_hash
from app.kernel.names import EngineName
from app.kernel.paging import PageRequest, clamp_page_size
from app.kernel.ranking import Ranking
from app.language.dates import day_in
from app.memory.memories.schemas.memories import DEFAULT_MEMORY_TYPE, stored_type
from app.memory.memories.schemas.metadata import metadata_filters
from app.memory.memories.services.embedding import EmbeddedQuery, EngineEmbedding
from app.memory.memories.store import repository as memories
from app.memory.retrieval.logic.query import read
from app.memory.retrieval.schemas import (
    MemoryProfile,
    RetrieveMemoriesRequest,
    RetrieveProfilesRequest,
    RetrieveProfilesResponse,
    SimilaritySearchParams,
)
from app.memory.retrieval.services.search import (
    FastSearch,
    Hits,
    LargeScopeSearch,
    Row,
    ScopeIndexes,
    Search,
    SearchHit,
    SearchInTransaction,
    is_hot,
    to_json,
    within,
)
from app.memory.retrieval.store import fast_sql, repository
from app.memory.retrieval.store.nearest import ScopeQuery, all_of, nothing
from app.platform.engines.logic.config import MemoryBankConfig, search_language
from app.platform.engines.services.engine_cache import EngineCache
from app.platform.engines.store import repository as engines
from app.platform.engines.store.tables import EngineRow, config_of, name_of

DEFAULT_COUNT = 3
MAX_COUNT = 100


@dataclass(frozen=True)
class Retrieved:
    """The result of a retrieval; `response` is the JSON form of a `RetrieveMemoriesResponse`.

    `is_without_vectors` is True if the model could not embed the query, so only words count.
    """

    response: dict[str, Any]
    is_without_vectors: bool = False


async def retrieve(
    resources: Resources, name: EngineName, request: RetrieveMemoriesRequest
) -> Retrieved:
    """Return memories that have exactly the scope of the request."""
    query, seconds = _query(resources, name, request)
    if request.similarity_search_params is not None:
        params = request.similarity_search_params
        return await _similar(resources, name, request, params, query, seconds)
    return Retrieved(await _newest(resources, name, request, query, seconds))


async def retrieve_profiles(
    resources: Resources, name: EngineName, request: RetrieveProfilesRequest
) -> RetrieveProfilesResponse:
    """Return the profiles that have exactly the scope of the request."""
    digest, now = scope_hash(request.scope), resources.clock.now()
    async with resources.db.snapshot() as session:
        await engines.get(session, name)
        contents: list[dict[str, Any]] = []
        if resources.db.reaches(request.scope):
            contents = await repository.find_profile_contents(session, name.engine, digest, now)
    return RetrieveProfilesResponse(profiles=_profiles(contents) or None)


def _query(
    resources: Resources, name: EngineName, request: RetrieveMemoriesRequest
) -> tuple[ScopeQuery, float | None]:
    # The filters are checked before any paid call.
    clause = read_filter(request.filter, memories.FILTER_FIELDS, resources.settings)
    groups = memories.metadata_condition(metadata_filters(request.filter_groups))
    filters = all_of(clause.condition, groups)
    types = [stored_type(requested) for requested in request.memory_types or [DEFAULT_MEMORY_TYPE]]
    query = ScopeQuery(
        engine_id=name.engine,
        scope_hash=scope_hash(request.scope),
        memory_types=types,
        clause=filters if resources.db.reaches(request.scope) else nothing(),
        now=resources.clock.now(),
    )
    return query, clause.seconds


async def _similar(
    resources: Resources,
    name: EngineName,
    request: RetrieveMemoriesRequest,
    params: SimilaritySearchParams,
    query: ScopeQuery,
    seconds: float | None,
) -> Retrieved:
    embedding = EngineEmbedding.of(resources)
    embedded = await embedding.query(name.engine, params.search_query)
    known = _cached_engine(resources, name, query)
    if known is not None:
        retrieved = await _fast_similar(resources, known, request, params, query, embedded)
        if retrieved is not None:
            return retrieved
    count, most = _count(resources, params.top_k), resources.settings.tuning.max_page_bytes
    while True:
        index = await ScopeIndexes.of(resources).find(query, embedded.model_id)
        response = None
        async with resources.db.snapshot(statement_seconds=seconds) as session:
            row = await engines.get(session, name)
            if embedding.serving(row) == embedded.model_id:
                config = config_of(row)
                search = SearchInTransaction(query, embedded, count, most, session, index)
                hits = await _search(resources, search, request, config, params.search_query)
                response = _response(name_of(row), request, hits or Hits([], 0), config)
        if response is not None:
            EngineCache.of(resources).note(row)
            return Retrieved(response, is_without_vectors=embedded.vector is None)
        embedded = await embedding.query(name.engine, params.search_query)


async def _fast_similar(
    resources: Resources,
    engine: EngineRow,
    request: RetrieveMemoriesRequest,
    params: SimilaritySearchParams,
    query: ScopeQuery,
    embedded: EmbeddedQuery,
) -> Retrieved | None:
    index = await ScopeIndexes.of(resources).find(query, embedded.model_id)
    if not is_hot(resources.db, query, index) or embedded.model_id != engine.embedding_model:
        return None
    count, most = _count(resources, params.top_k), resources.settings.tuning.max_page_bytes
    larger = LargeScopeSearch.of(resources)
    search = FastSearch(query, embedded, count, most, resources.db, engine, larger, index)
    config = config_of(engine)
    hits = await _search(resources, search, request, config, params.search_query)
    if hits is None or not hits.hits:
        return None
    response = _response(name_of(engine), request, hits, config)
    return Retrieved(response, is_without_vectors=embedded.vector is None)


async def _search(
    resources: Resources,
    search: Search,
    request: RetrieveMemoriesRequest,
    config: MemoryBankConfig,
    text: str,
) -> Hits | None:
    similarity = config.similarity_search_config
    of_engine = similarity and similarity.ranking
    ranking = request.ranking or of_engine or resources.settings.ranking
    if ranking is Ranking.VECTOR and search.embedded.vector is not None:
        return await search.by_distance(search.embedded.vector)
    zone = config.time_zone and ZoneInfo(config.time_zone)
    today = day_in(zone or None, search.query.now)
    return await search.by_everything(text, read(text, today, search_language(config)))


async def _newest(
    resources: Resources,
    name: EngineName,
    request: RetrieveMemoriesRequest,
    query: ScopeQuery,
    seconds: float | None,
) -> dict[str, Any]:
    # A client that sends a token, perhaps an empty one, can send the next one. The official
    # client's pager cannot: after a response with a token, it repeats the request with a field
    # that its own request type refuses, and ends early.
    page = _page(resources, name, request)
    newest = None if page.after else await _fast_newest(resources, name, query, page)
    if newest is None:
        async with resources.db.snapshot(statement_seconds=seconds) as session:
            row = await engines.get(session, name)
            newest = row, await repository.find_newest(session, query, page)
        EngineCache.of(resources).note(row)
    engine, part = newest
    shown, more = page.cut(part)
    # Memories on the next page do not count as left out.
    hits = Hits([SearchHit(row) for row in shown], 0 if more else part.omitted)
    response = _response(name_of(engine), request, hits)
    return response if more is None else {**response, "nextPageToken": more}


async def _fast_newest(
    resources: Resources, name: EngineName, query: ScopeQuery, page: Slice
) -> tuple[EngineRow, ReadRows[Row]] | None:
    known = _cached_engine(resources, name, query)
    part = None if known is None else await fast_sql.find_newest(resources.db, known, query, page)
    return (known, part) if known is not None and part is not None else None


def _cached_engine(resources: Resources, name: EngineName, query: ScopeQuery) -> EngineRow | None:
    # Without filters, the caller has access to the whole scope of the query.
    return EngineCache.of(resources).find(name) if query.is_unfiltered else None


def _page(resources: Resources, name: EngineName, request: RetrieveMemoriesRequest) -> Slice:
    # Without parameters, the page is as large as a response can be.
    params = request.simple_retrieval_params
    size = _max_count(resources) if params is None else _count(resources, params.page_size)
    if params is None or params.page_token is None:
        return replace(repository.newest(size), max_bytes=resources.settings.tuning.max_page_bytes)
    asked = PageRequest(size, params.page_token, resources.settings.tuning.max_page_bytes)
    query = {
        "list": "retrieve",
        "engine": name.engine,
        "request": request.model_copy(update={"simple_retrieval_params": None}).wire(),
    }
    return Slice.of(asked, query, repository.NEWEST, size, is_descending=True)


def _count(resources: Resources, asked: int | None) -> int:
    return clamp_page_size(asked, DEFAULT_COUNT, _max_count(resources))


def _max_count(resources: Resources) -> int:
    return min(MAX_COUNT, resources.settings.tuning.max_page_size)


def _response(
    engine: EngineName,
    request: RetrieveMemoriesRequest,
    found: Hits,
    config: MemoryBankConfig | None = None,
) -> dict[str, Any]:
    most = None if config is None else _max_distance(request, config)
    hits = found.hits
    near = hits if most is None else [hit for hit in hits if (hit.distance or 0) <= most]
    kept = within(near, request.max_tokens)
    memories = [to_json(engine, hit, explains=request.explain) for hit in kept]
    response: dict[str, Any] = {"retrievedMemories": memories}
    if most is not None or found.omitted:
        response["omittedCount"] = len(hits) - len(near) + found.omitted
    return response


def _max_distance(request: RetrieveMemoriesRequest, config: MemoryBankConfig) -> float | None:
    for params in (request.similarity_search_params, config.similarity_search_config):
        if params is not None and params.max_distance is not None:
            return params.max_distance
    return None


def _profiles(contents: Iterable[dict[str, Any]]) -> dict[str, MemoryProfile]:
    # A null removes the field; only a memory written by hand can have one.
    by_schema: dict[str, dict[str, Any]] = {}
    for content in contents:
        by_schema.setdefault(content["schemaId"], {}).update(content["data"])
    return {
        schema_id: MemoryProfile(
            schema_id=schema_id,
            profile={name: value for name, value in fields.items() if value is not None},
        )
        for schema_id, fields in by_schema.items()
    }
