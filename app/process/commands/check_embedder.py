"""Embed a few texts with the configured embedder, and print what to set.

The status is 0 if searches can use it, else 1.
"""

import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from typing_extensions import override

from app.adapters.llm.embedders import BatchSize, ManagedEmbedder
from app.adapters.llm.factory import choose_embedder
from app.adapters.llm.ports import Vectors
from app.adapters.terminal import fail, read_settings
from app.process.checked_models import ModelCheck, run_check
from app.settings.settings import EmbedderChoice, Settings

_NOT_USED = (
    "MEMORY_BANK_EMBEDDER is {choice}, so MEMORY_BANK_EMBEDDING_MODEL is not used. Set"
    " MEMORY_BANK_EMBEDDER=http."
)
_QUERY = "Which drinks does she like?"
_NEAR = "Nora's favourite tea is jasmine."
_FAR = "The invoice of March was paid by bank transfer."


def run() -> None:
    settings = read_settings(log_level="ERROR")
    if settings.embedding_model is not None and settings.embedder is not EmbedderChoice.HTTP:
        fail(_NOT_USED.format(choice=settings.embedder))
    run_check(lambda: _check(settings), settings.embedding_base_url)


async def _check(settings: Settings) -> None:
    embedder = choose_embedder(settings.model_copy(update={"model_max_attempts": 1}))
    try:
        is_remote = settings.embedder is EmbedderChoice.HTTP
        address = settings.embedding_base_url if is_remote else None
        await _EmbedderCheck(embedder).show(embedder.model_id, address)
    finally:
        await embedder.close()


@dataclass
class _EmbedderCheck(ModelCheck):
    """A vector, a test of distances and a large batch."""

    embedder: ManagedEmbedder

    @override
    def steps(self) -> Iterator[Callable[[], Awaitable[Sequence[str]]]]:
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
        began = time.monotonic()
        vectors = await self.embedder.embed(texts)
        return vectors, f"(texts: {len(texts)}, {time.monotonic() - began:.1f} s)"
