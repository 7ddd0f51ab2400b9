"""Facts of the memory bank for a context: as many as there is room for, the best first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.adapters.llm.aside import done
from app.conversation.contexts.schemas import IncludeMemories
from app.conversation.strategies.services.scales import WORK_PER_TEXT, Scale
from app.kernel.names import EngineName
from app.memory.retrieval.schemas import RetrieveMemoriesRequest, SimilaritySearchParams
from app.memory.retrieval.services.retrieval import RetrievalService
from app.platform.engines.logic.config import MAX_FACT_CHARS

Memory = tuple[str, str]
"""Name and fact."""
_ROUNDING = 1
"""Tokens by which a whole may be less than its two parts."""


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
    length = sum(len(fact) + WORK_PER_TEXT for _, fact in found)
    return await done(length, _fitting, found, room, scale)


def _fitting(found: Sequence[Memory], room: int | None, scale: Scale) -> list[Memory]:
    if room is None:
        return list(found)
    block = _Block(room, scale)
    kept = [one for one in found if block.takes(one[1])]
    # A counter that takes a long text in pieces may find more in the whole than in its parts.
    while kept and scale.of_facts([fact for _, fact in kept]) > room:
        kept.pop()
    return kept


@dataclass
class _Block:
    """A block of facts as it grows.

    Each fact is weighed once. The whole is weighed only where the sum of its parts, which is a
    token more at each of them, leaves open whether it fits.

    Attributes:
        most: tokens of the facts so far, or somewhat more unless `is_weighed`.
    """

    room: int
    scale: Scale
    facts: list[str] = field(default_factory=list)
    most: int = 0
    is_weighed: bool = True

    def takes(self, fact: str) -> bool:
        """Add a fact, if there is room for it."""
        tokens = self.scale.of_fact(fact)
        if self.facts and self.most + tokens <= self.room:
            return self._add(fact, self.most + tokens, is_weighed=False)
        if self._weighed() + tokens - _ROUNDING > self.room:
            return False
        whole = self.scale.of_facts([*self.facts, fact])
        return whole <= self.room and self._add(fact, whole, is_weighed=True)

    def _weighed(self) -> int:
        if not self.is_weighed:
            self.most, self.is_weighed = self.scale.of_facts(self.facts), True
        return self.most

    def _add(self, fact: str, most: int, *, is_weighed: bool) -> bool:
        self.facts.append(fact)
        self.most, self.is_weighed = most, is_weighed
        return True
