"""Facts of the memory bank for a context: as many as there is room for, the best first."""

from collections.abc import Iterable, Mapping, Sequence

from app.contexts.schemas import IncludeMemories
from app.core.names import EngineName
from app.engines.config import MAX_FACT_CHARS
from app.llm.aside import done
from app.retrieval.schemas import RetrieveMemoriesRequest, SimilaritySearchParams
from app.retrieval.service import RetrievalService
from app.summaries.material import Scale

Memory = tuple[str, str]
"""Name and fact."""


async def find(
    retrieval: RetrievalService,
    engine: EngineName,
    asked: IncludeMemories,
    query: str,
    scope: Mapping[str, str],
) -> list[Memory]:
    """Return the memories of a scope that suit a query, best first. Asks the embedding model.

    Must not be called inside a transaction.
    """
    request = RetrieveMemoriesRequest(
        scope=dict(scope),
        similarity_search_params=SimilaritySearchParams(
            search_query=query[:MAX_FACT_CHARS], top_k=asked.top_k
        ),
    )
    found = (await retrieval.retrieve(engine, request)).response["retrievedMemories"]
    memories = [one["memory"] for one in found]
    return [(one["name"], one["fact"]) for one in memories if one.get("fact")]


async def fitting(found: Sequence[Memory], room: int | None, scale: Scale) -> list[Memory]:
    """Return, in their order, each memory for which there is still room; none is cut.

    One that does not fit is passed over, so that a long one does not keep out all the others.
    """
    return await done(sum(len(fact) for _, fact in found), _fitting, found, room, scale)


def _fitting(found: Iterable[Memory], room: int | None, scale: Scale) -> list[Memory]:
    kept: list[Memory] = []
    for one in found:
        facts = [fact for _, fact in [*kept, one]]
        if room is None or scale.of_facts(facts) <= room:
            kept.append(one)
    return kept
