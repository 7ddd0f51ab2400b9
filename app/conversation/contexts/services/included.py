"""Selection of memory bank facts for a context: the best ones that fit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.adapters.concurrency import offloaded
from app.conversation.contexts.schemas import IncludeMemories
from app.conversation.strategies.service import WORK_PER_TEXT, Scale
from app.kernel.names import EngineName
from app.memory.retrieval.schemas import RetrieveMemoriesRequest, SimilaritySearchParams
from app.memory.retrieval.services.retrieval import RetrievalService
from app.platform.engines.logic.topics import MAX_FACT_CHARS

Memory = tuple[str, str]
"""Name and fact."""
_ROUNDING = 1
"""Tokens by which a whole may count less than the sum of its two parts."""


async def find(
    retrieval: RetrievalService,
    engine: EngineName,
    asked: IncludeMemories,
    query: str,
    scope: Mapping[str, str],
) -> list[Memory]:
    """Return the memories of a scope that match a query, best first; calls the embedding model.

    Must not be called inside a transaction.
    """
    request = RetrieveMemoriesRequest(
        scope=dict(scope),
        similarity_search_params=SimilaritySearchParams(
            search_query=query[:MAX_FACT_CHARS], top_k=asked.top_k
        ),
    )
    hits = (await retrieval.retrieve(engine, request)).response["retrievedMemories"]
    memories = [hit["memory"] for hit in hits]
    return [(memory["name"], memory["fact"]) for memory in memories if memory.get("fact")]


async def fitting(memories: Sequence[Memory], room: int | None, scale: Scale) -> list[Memory]:
    """Return the memories that fit, in their order; none is cut.

    A memory that does not fit is skipped, so a long one does not exclude all others.
    """
    length = sum(len(fact) + WORK_PER_TEXT for _, fact in memories)
    return await offloaded(length, _fitting, memories, room, scale)


def _fitting(memories: Sequence[Memory], room: int | None, scale: Scale) -> list[Memory]:
    if room is None:
        return list(memories)
    block = _Block(room, scale)
    kept = [memory for memory in memories if block.takes(memory[1])]
    # A counter that splits long texts may count more tokens in the whole than in its parts.
    while kept and scale.of_facts([fact for _, fact in kept]) > room:
        kept.pop()
    return kept


@dataclass
class _Block:
    """A growing block of facts.

    Each fact is counted once. Their sum may exceed the tokens of the block by one for each fact.
    The whole block is counted only if the sum does not decide whether it fits.

    Attributes:
        most: tokens of the facts so far; an upper bound unless `is_weighed`.
    """

    room: int
    scale: Scale
    facts: list[str] = field(default_factory=list)
    most: int = 0
    is_weighed: bool = True

    def takes(self, fact: str) -> bool:
        """Add a fact if it fits; return True if it was added."""
        tokens = self.scale.of_fact(fact)
        if self.facts and self.most + tokens <= self.room:
            return self._add(fact, self.most + tokens, is_weighed=False)
        if self._exact_tokens() + tokens - _ROUNDING > self.room:
            return False
        whole = self.scale.of_facts([*self.facts, fact])
        return whole <= self.room and self._add(fact, whole, is_weighed=True)

    def _exact_tokens(self) -> int:
        if not self.is_weighed:
            self.most, self.is_weighed = self.scale.of_facts(self.facts), True
        return self.most

    def _add(self, fact: str, most: int, *, is_weighed: bool) -> bool:
        self.facts.append(fact)
        self.most, self.is_weighed = most, is_weighed
        return True
