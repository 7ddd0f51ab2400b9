"""The embedders that a process has open: the one of its settings, and those that engines still use.

What serves an engine is written in its row. What this process has last seen there is kept here, so
that a request can embed before its transaction reads the row, and be right nearly always.
"""

from collections import OrderedDict
from collections.abc import Sequence

from app.adapters.llm.managed import ManagedEmbedder

_MAX_ENGINES = 100_000


class Embedders:
    """Embedders by the ids of their models; `current` is the one that the settings name.

    One of them is lexical only.
    """

    def __init__(self, current: ManagedEmbedder, others: Sequence[ManagedEmbedder] = ()) -> None:
        self.current = current
        self._by_id = {one.model_id: one for one in (*others, current)}
        self._seen: OrderedDict[int, str] = OrderedDict()
        self._lengths: dict[str, int] = {}

    @property
    def by_words(self) -> ManagedEmbedder:
        """One that knows words alone, and is always there."""
        return next(one for one in self._by_id.values() if one.lexical_only)

    @property
    def model_ids(self) -> Sequence[str]:
        """The ids of all models that are open here."""
        return sorted(self._by_id)

    def find(self, model_id: str) -> ManagedEmbedder | None:
        """Return the embedder of a model, if it is open here."""
        return self._by_id.get(model_id)

    def serving(self, engine_id: int, embedding_model: str | None) -> str:
        """Return the id of the model that serves an engine, as its row has it, and remember it.

        An engine without vectors has none yet: the one of the settings will serve it.
        """
        if embedding_model is None:
            # Also after a database was restored to an earlier day.
            self._seen.pop(engine_id, None)
            return self.current.model_id
        self._seen[engine_id] = embedding_model
        self._seen.move_to_end(engine_id)
        if len(self._seen) > _MAX_ENGINES:
            self._seen.popitem(last=False)
        return embedding_model

    def seen(self, engine_id: int) -> str | None:
        """Return the model that was last seen to serve an engine, if any was."""
        return self._seen.get(engine_id)

    def length_of(self, model_id: str) -> int | None:
        """Return the length of a model's stored vectors, where this process knows it."""
        return self._lengths.get(model_id)

    def note_length(self, model_id: str, dimensions: int) -> None:
        """Remember the length of a model's stored vectors; it never changes."""
        self._lengths[model_id] = dimensions

    async def close(self) -> None:
        """Close all of them."""
        for one in self._by_id.values():
            await one.close()
