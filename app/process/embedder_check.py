"""Three small calls of the configured embedder: a vector, a distance test and a large batch."""

import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from app.adapters.llm.managed import BatchSize, ManagedEmbedder
from app.adapters.llm.ports import Vectors

_QUERY = "Which drinks does she like?"
_NEAR = "Nora's favourite tea is jasmine."
_FAR = "The invoice of March was paid by bank transfer."


@dataclass
class EmbedderCheck:
    """A check of an embedder with its findings so far.

    Attributes:
        advice: recommended actions.
        is_passed: False once the embedder proves unusable with this configuration.
    """

    embedder: ManagedEmbedder
    advice: list[str] = field(default_factory=list)
    is_passed: bool = True

    def steps(self) -> Iterator[Callable[[], Awaitable[Sequence[str]]]]:
        """Yield the calls in order; each returns lines for people.

        Raises:
            ServiceError: as `Embedder.embed`.
        """
        yield self._vector
        yield self._meaning
        yield self._size

    async def _vector(self) -> Sequence[str]:
        vectors, cost = await self._embedded([_FAR])
        return [f"Vectors: {vectors.shape[1]:,} numbers. {cost}"]

    async def _meaning(self) -> Sequence[str]:
        prefixes = self.embedder.prefixes
        texts = [prefixes.query + _QUERY, prefixes.text + _NEAR, prefixes.text + _FAR]
        vectors, cost = await self._embedded(texts)
        near, far = np.linalg.norm(vectors[1:] - vectors[0], axis=1)
        if self.embedder.lexical_only:
            return [f"Meaning: it compares words, not meanings. {cost}"]
        compared = f"distances {near:.2f} and {far:.2f}"
        if near < far:
            return [f"Meaning: the text that answers a question is nearest ({compared}). {cost}"]
        self.is_passed = False
        self.advice.append(
            "Use a model that is made for search, or set the prefixes that yours expects"
            " (MEMORY_BANK_EMBEDDER_QUERY_PREFIX, MEMORY_BANK_EMBEDDER_TEXT_PREFIX)."
        )
        return [f"Meaning: another text is nearer than the answer ({compared}). {cost}"]

    async def _size(self) -> Sequence[str]:
        most = BatchSize()
        texts = [f"{_NEAR} {number}" for number in range(most.texts - 1)]
        _, cost = await self._embedded([*texts, f"{_FAR} " * (most.chars // len(_FAR))])
        takes = self.embedder.takes or most
        line = f"Texts at once: {takes.texts}. {cost}"
        if takes.chars < most.chars:
            line += f"\n  Only the first {takes.chars:,} characters of a text are embedded."
        return [line]

    async def _embedded(self, texts: Sequence[str]) -> tuple[Vectors, str]:
        """Return the vectors and a text with the number of texts and the seconds."""
        began = time.monotonic()
        vectors = await self.embedder.embed(texts)
        return vectors, f"(texts: {len(texts)}, {time.monotonic() - began:.1f} s)"
