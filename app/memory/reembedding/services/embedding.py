"""Embedding of facts by a model, with separate treatment of refused facts."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

from app.kernel.errors import FailedPrecondition, Reason, ServiceError
from app.memory.memories.services.embedding import EngineEmbedding
from app.memory.memories.store.vectors import Vector
from app.memory.reembedding.store.repository import Facts

MOST_REFUSED = 5_000
"""Maximum number of memories that a re-embedding skips; with more, it fails."""
_OF_TEXTS = (Reason.MODEL_REFUSED, Reason.MODEL_OUTPUT_INVALID)
"""Error reasons of a batch that a single text may have caused."""


@dataclass(frozen=True)
class Embedded:
    """The result of embedding facts.

    Attributes:
        vectors: the embedded fact and its vector, by memory.
        refused: the facts without a vector because the model refuses them.
    """

    vectors: dict[str, tuple[str, Vector]]
    refused: Facts


@dataclass(frozen=True)
class FactEmbedding:
    """Embedding of facts by one model."""

    embedding: EngineEmbedding
    model_id: str

    async def embedded(self, facts: Facts) -> Embedded:
        """Embed facts; a refused fact does not affect the others.

        Raises:
            ServiceError: the model is unavailable, or refuses every text.
        """
        try:
            return await self._embed_all(facts)
        except ServiceError as error:
            if error.reason not in _OF_TEXTS:
                raise
        # If the model refuses this text too, such as with an invalid key, the facts are not the
        # cause. The text is random, so it is never cached.
        await self.embedding.embedded(self.model_id, [f"Hello {secrets.token_hex(4)}"])
        return await self._in_halves(facts)

    async def _in_halves(self, facts: Facts) -> Embedded:
        """Embed facts of a refused batch in halves, to find the refused ones."""
        if len(facts) == 1:
            return Embedded({}, facts)
        listed, middle = list(facts.items()), len(facts) // 2
        first = await self._embed_part(dict(listed[:middle]))
        second = await self._embed_part(dict(listed[middle:]))
        return Embedded({**first.vectors, **second.vectors}, {**first.refused, **second.refused})

    async def _embed_part(self, facts: Facts) -> Embedded:
        try:
            return await self._embed_all(facts)
        except ServiceError as error:
            if error.reason not in _OF_TEXTS:
                raise
            return await self._in_halves(facts)

    async def _embed_all(self, facts: Facts) -> Embedded:
        embedded = await self.embedding.embedded(self.model_id, list(facts.values()))
        vectors = {
            memory_id: (fact, Vector(row, self.model_id))
            for (memory_id, fact), row in zip(facts.items(), embedded, strict=True)
        }
        return Embedded(vectors, {})


class RefusedFact:
    """Memories with facts that a model has refused; a changed fact no longer counts."""

    def __init__(self) -> None:
        self._facts: dict[str, bytes] = {}

    def __len__(self) -> int:
        return len(self._facts)

    @property
    def memory_ids(self) -> Sequence[str]:
        """Ids of all refused memories, in any current state."""
        return list(self._facts)

    def add(self, facts: Facts) -> None:
        """Add refused facts.

        Raises:
            FailedPrecondition: the model refuses too many facts.
        """
        self._facts |= {memory_id: _key(fact) for memory_id, fact in facts.items()}
        if len(self._facts) > MOST_REFUSED:
            message = f"The embedding model refuses more than {MOST_REFUSED} memories."
            raise FailedPrecondition(message, Reason.MODEL_REFUSED)

    def others(self, facts: Facts) -> Facts:
        """Return the facts that were not refused."""
        return {
            memory_id: fact
            for memory_id, fact in facts.items()
            if self._facts.get(memory_id) != _key(fact)
        }


def _key(fact: str) -> bytes:
    return blake2b(fact.encode(), digest_size=16).digest()
