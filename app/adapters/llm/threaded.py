"""The base of embedders that compute in this process: off the event loop, in fair portions."""

import asyncio
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from typing_extensions import override

from app.adapters.allocator import give_back
from app.adapters.llm.managed import ManagedEmbedder
from app.adapters.llm.ports import Vectors
from app.kernel.guard import refuse_inside_transaction

_PORTION = 8
"""Texts per portion. Small, so that a query waits briefly behind a long ingest."""
_PORTION_CHARS = 1_000
"""Characters after which a portion takes no further text, for the same reason."""
_MAX_CHARS = 16_384
"""Characters read of one text, so that no single text keeps a thread busy for long."""

_MANY = 128
"""Texts from which on a list leaves megabytes behind that are worth a millisecond to give back."""


class ThreadedEmbedder(ManagedEmbedder):
    """An embedder that computes in its own threads; a subclass computes a few texts at a time.

    A long list takes at most one portion per thread at a time, so that other calls are served
    between its portions and not after it.
    """

    is_local = True

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="embed")

    @property
    @override
    def ready(self) -> bool:
        return True

    @override
    async def warm(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._executor, self._load)

    @override
    async def close(self) -> None:
        await asyncio.to_thread(self._executor.shutdown)

    @override
    async def embed(self, texts: Sequence[str]) -> Vectors:
        refuse_inside_transaction("Embedding")
        cut = [text[:_MAX_CHARS] for text in texts]
        portions = list(_portions(cut))
        vectors: list[Vectors] = [np.empty((0, self.dimensions), np.float32)]
        run = partial(asyncio.get_running_loop().run_in_executor, self._executor)
        for at in range(0, len(portions), self._threads):
            side_by_side = portions[at : at + self._threads]
            vectors += await asyncio.gather(*(run(self._compute, part) for part in side_by_side))
        if len(texts) >= _MANY:
            await run(give_back)
        return np.concatenate(vectors)

    def _load(self) -> object:
        """Load the needs of `_compute`. Runs in a thread of the embedder."""

    @abstractmethod
    def _compute(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text. Runs in several threads at once."""


def _portions(texts: Sequence[str]) -> Iterator[list[str]]:
    """Yield texts in portions, in order."""
    portion: list[str] = []
    chars = 0
    for text in texts:
        portion.append(text)
        chars += len(text)
        if len(portion) == _PORTION or chars >= _PORTION_CHARS:
            yield portion
            portion, chars = [], 0
    if portion:
        yield portion
