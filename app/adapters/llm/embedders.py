"""The open embedders of a process: the configured one, and those that engines still use.

An engine's row names its embedder. This process caches the last value it has seen, so that a
request can embed before its transaction reads the row, and be right nearly always.
"""

from collections.abc import Sequence

from cachetools import LRUCache

from app.adapters.llm.managed import ManagedEmbedder

MAX_ENGINES = 100_000
"""Limit for engines whose model is cached; the oldest are evicted, and read again when needed."""


class Embedders:
    """Embedders, one of which is lexical only.

    Attributes:
        current: the one that the settings name.
        by_id: all that are open in this process, by model id.
        lengths: the length of each model's stored vectors, as far as this process knows it; it
            never changes.
    """

    def __init__(self, current: ManagedEmbedder, others: Sequence[ManagedEmbedder] = ()) -> None:
        self.current = current
        self.by_id = {embedder.model_id: embedder for embedder in (*others, current)}
        self.lengths: dict[str, int] = {}
        self._seen: LRUCache[int, str] = LRUCache(MAX_ENGINES)

    @property
    def by_words(self) -> ManagedEmbedder:
        """An embedder that knows words alone, and is always available."""
        return next(embedder for embedder in self.by_id.values() if embedder.lexical_only)

    def serving(self, engine_id: int, embedding_model: str | None) -> str:
        """Return the id of the model that serves an engine, and remember it.

        `embedding_model` is the value of its row. An engine without vectors has none yet: the
        configured embedder will serve it.
        """
        if embedding_model is None:
            # A restore of an earlier database also clears the model.
            self._seen.pop(engine_id, None)
            return self.current.model_id
        self._seen[engine_id] = embedding_model
        return embedding_model

    def seen(self, engine_id: int) -> str | None:
        """Return the model last seen to serve an engine, or None."""
        return self._seen.get(engine_id)

    async def close(self) -> None:
        """Close all embedders."""
        for embedder in self.by_id.values():
            await embedder.close()
