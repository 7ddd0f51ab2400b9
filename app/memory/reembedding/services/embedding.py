"""Facts as a model embeds them, apart from those that it refuses."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

from app.kernel.errors import FailedPrecondition, Reason, ServiceError
from app.memory.memories.services.embedding import EngineEmbedding
from app.memory.memories.store.vectors import Vector
from app.memory.reembedding.store.repository import Facts

_MOST_REFUSED = 5_000
"""Memories that a re-embedding passes over; a model that refuses more is not brought."""
_OF_TEXTS = (Reason.MODEL_REFUSED, Reason.MODEL_OUTPUT_INVALID)
"""Why a model embeds none of some texts, where it may be for one of them."""


@dataclass(frozen=True)
class Embedded:
    """What came of facts.

    Attributes:
        vectors: by memory, its fact, and how that was embedded.
        refused: the facts that have no vector since the model refuses them.
    """

    vectors: dict[str, tuple[str, Vector]]
    refused: Facts


@dataclass(frozen=True)
class FactEmbedding:
    """Embeds facts by one model."""

    embedding: EngineEmbedding
    model_id: str

    async def embedded(self, facts: Facts) -> Embedded:
        """Embed facts; one that the model refuses keeps none of the others from it.

        Raises:
            ServiceError: the model is away, or refuses whatever it is asked.
        """
        try:
            return await self._whole(facts)
        except ServiceError as error:
            if error.reason not in _OF_TEXTS:
                raise
        # Whoever refuses this, too, as with a key that is good no longer, refuses none of the
        # facts. It is another text each time, so that no cache answers it.
        await self.embedding.embedded(self.model_id, [f"Hello {secrets.token_hex(4)}"])
        return await self._in_halves(facts)

    async def _in_halves(self, facts: Facts) -> Embedded:
        """Embed facts that were refused together."""
        if len(facts) == 1:
            return Embedded({}, facts)
        listed, middle = list(facts.items()), len(facts) // 2
        first = await self._part(dict(listed[:middle]))
        second = await self._part(dict(listed[middle:]))
        return Embedded({**first.vectors, **second.vectors}, {**first.refused, **second.refused})

    async def _part(self, facts: Facts) -> Embedded:
        try:
            return await self._whole(facts)
        except ServiceError as error:
            if error.reason not in _OF_TEXTS:
                raise
            return await self._in_halves(facts)

    async def _whole(self, facts: Facts) -> Embedded:
        embedded = await self.embedding.embedded(self.model_id, list(facts.values()))
        vectors = {
            memory_id: (fact, Vector(row, self.model_id))
            for (memory_id, fact), row in zip(facts.items(), embedded, strict=True)
        }
        return Embedded(vectors, {})


class Refused:
    """The memories whose facts a model has refused, as long as they have these facts."""

    def __init__(self) -> None:
        self._facts: dict[str, bytes] = {}

    def __len__(self) -> int:
        return len(self._facts)

    @property
    def memory_ids(self) -> Sequence[str]:
        """Of all of them, whatever has become of them since."""
        return list(self._facts)

    def add(self, facts: Facts) -> None:
        """Remember what was refused.

        Raises:
            FailedPrecondition: that is too much.
        """
        self._facts |= {memory_id: _key(fact) for memory_id, fact in facts.items()}
        if len(self._facts) > _MOST_REFUSED:
            message = f"The embedding model refuses more than {_MOST_REFUSED} memories."
            raise FailedPrecondition(message, Reason.MODEL_REFUSED)

    def others(self, facts: Facts) -> Facts:
        """Return the facts that were not refused."""
        return {one: fact for one, fact in facts.items() if self._facts.get(one) != _key(fact)}


def _key(fact: str) -> bytes:
    return blake2b(fact.encode(), digest_size=16).digest()
