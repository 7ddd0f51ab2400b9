"""A cache of recent embeddings, keyed by a hash of the text."""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from cachetools import LRUCache
from typing_extensions import override

from app.adapters.llm.managed import ManagedEmbedder
from app.adapters.llm.ports import Vectors
from app.kernel.guard import refuse_inside_transaction


class CachedEmbedder(ManagedEmbedder):
    """An embedder that asks the inner one only for texts not in its cache, each once per call.

    Holds at most `entries` vectors and no text; evicts the least recently used.
    """

    def __init__(self, inner: ManagedEmbedder, entries: int) -> None:
        self.model_id = inner.model_id
        self.dimensions = inner.dimensions
        self.lexical_only = inner.lexical_only
        self.is_local = inner.is_local
        self.covers = inner.covers
        self.prefixes = inner.prefixes
        self._inner = inner
        self._kept: LRUCache[bytes, Vectors] = LRUCache(entries)

    @property
    @override
    def ready(self) -> bool:
        return self._inner.ready

    @override
    async def warm(self) -> None:
        await self._inner.warm()
        # The length of some embedders' vectors is known only after their first answer.
        self.dimensions = self._inner.dimensions

    @override
    async def close(self) -> None:
        await self._inner.close()

    @override
    async def embed(self, texts: Sequence[str]) -> Vectors:
        # Checked here as well, so that a mistake shows whether or not the text is cached.
        refuse_inside_transaction("Embedding")
        keys = [_key(text) for text in texts]
        # Read before the await below, during which other calls may evict these.
        known = {key: self._kept[key] for key in keys if key in self._kept}
        fresh = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if fresh:
            vectors = await self._inner.embed(list(fresh.values()))
            self.dimensions = self._inner.dimensions
            # Copies: a view would keep the whole batch alive for one row of it.
            known |= {key: row.copy() for key, row in zip(fresh, vectors, strict=True)}
        if self._kept.maxsize:
            self._kept.update(known)
        rows = [known[key] for key in keys]
        return np.stack(rows) if rows else np.empty((0, self.dimensions), np.float32)


def _key(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=16).digest()
