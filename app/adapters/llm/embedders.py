"""Embedders: the port, the base of those that compute in this process, a cache, and the open ones.

An engine's row names its embedder. A process caches the last value it has seen, so that a request
can embed before its transaction reads the row, and be right nearly always.
"""

import asyncio
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from typing import Protocol

import numpy as np
from cachetools import LRUCache
from typing_extensions import override

from app.adapters.allocator import give_back
from app.adapters.llm.ports import Prefixes, Vectors
from app.kernel.guard import refuse_inside_transaction
from app.kernel.text import CODES, NAMES
from app.language.search_languages import foreign_language

_LEAST_CHARS = 200
"""No text is made shorter than this: whatever the server refuses, it is not the length."""
SUCCESSORS = {"all-MiniLM-L6-v2/fp32": "all-MiniLM-L6-v2/int8"}
"""Former models, each with the one whose vectors are searched and stored beside its own: recall@10
by vectors alone on LoCoMo is .469 for questions by int8 over texts by fp32, .475 for fp32 alone and
.472 for int8 alone."""
MAX_ENGINES = 100_000
"""Limit for engines whose model is cached; the oldest are evicted, and read again when needed."""
_PORTION = 8
"""Texts per portion. Small, so that a query waits briefly behind a long ingest."""
_PORTION_CHARS = 1_000
"""Characters after which a portion takes no further text, for the same reason."""
_MAX_CHARS = 16_384
"""Characters read of one text, so that no single text keeps a thread busy for long."""
_MANY = 128
"""Texts from which on a list leaves megabytes behind that are worth a millisecond to give back."""


@dataclass(frozen=True)
class BatchSize:
    """The most that an embedding server takes at once.

    Attributes:
        texts: their vectors of 3,072 numbers each take about a megabyte as text.
        chars: of each text; vendors refuse more than about 8,000 tokens.
    """

    texts: int = 16
    chars: int = 8_000

    def less_than(self, batch: Sequence[str]) -> "BatchSize | None":
        """Return what to try when a batch is refused; None: it cannot be the size."""
        if len(batch) > 1:
            return replace(self, texts=(len(batch) + 1) // 2)
        chars = len(batch[0]) * 2 // 3
        return replace(self, chars=chars) if chars >= _LEAST_CHARS else None


class ManagedEmbedder(Protocol):
    """The port that turns texts into vectors whose Euclidean distance measures similarity."""

    model_id: str
    """The name of the model and its version; vectors of different ids are not comparable."""
    dimensions: int
    lexical_only: bool
    """True if the vectors know words but no meaning."""
    prefixes: Prefixes = Prefixes()
    """For the caller to put before a text, whose role it knows; `embed` adds none."""
    is_local: bool = False
    """True if its input stays in this process; false unless an embedder says so."""
    takes: BatchSize | None = None
    """The most that its server takes at once; None: it has none."""
    covers: tuple[str, ...] | None = None
    """The languages that it understands, as ISO 639-1 codes. None: it is not known to lack one."""

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, in order. Must not be called inside a transaction."""
        ...

    @property
    def languages(self) -> str:
        """A description, for people, of what searches by its vectors understand."""
        if self.lexical_only:
            return f"words alone, in every language ({self.model_id})"
        if self.covers is None:
            return f"what its model does ({self.model_id})"
        known = ", ".join(NAMES.get(code, code).capitalize() for code in self.covers)
        # Behind the slash of a local model is its precision, which tells people nothing here.
        name = self.model_id.partition("/")[0] if self.is_local else self.model_id
        return f"{known} ({name}); in other languages they find mainly by words"

    def foreign_language(self, text: str) -> str | None:
        """Return the code of a text's language if the model is known not to understand it."""
        if self.covers is None:
            return None
        name = foreign_language(text, {NAMES.get(code, code) for code in self.covers})
        return None if name is None else CODES[name]

    @property
    def ready(self) -> bool:
        """True if the next `embed` answers without loading anything first."""
        ...

    async def warm(self) -> None:
        """Load the model off the event loop. Idempotent."""
        ...

    async def close(self) -> None:
        """Wait for running computations, and release the threads."""
        ...


class Embedders:
    """Embedders, one of which is lexical only.

    Attributes:
        current: the embedder that the settings name.
        by_id: all that are open in this process, by model id; an open successor also by the id of
            the former model.
        lengths: the length of each model's stored vectors, as far as known; it never changes.
    """

    def __init__(self, current: ManagedEmbedder, others: Sequence[ManagedEmbedder] = ()) -> None:
        self.current = current
        self.by_id = {embedder.model_id: embedder for embedder in (*others, current)}
        for former, successor in SUCCESSORS.items():
            if successor in self.by_id:
                self.by_id[former] = CachedEmbedder(self.by_id[successor], 0, former)
        self.lengths: dict[str, int] = {}
        self._seen: LRUCache[int, str] = LRUCache(MAX_ENGINES)

    @property
    def by_words(self) -> ManagedEmbedder:
        """An embedder that knows words alone, and is always available."""
        return next(embedder for embedder in self.by_id.values() if embedder.lexical_only)

    @property
    def names(self) -> list[str]:
        """The ids that a caller may choose, sorted: without the ids of former models."""
        return sorted({embedder.model_id for embedder in self.by_id.values()} - SUCCESSORS.keys())

    def serving(self, engine_id: int, embedding_model: str | None) -> str:
        """Return the id of the model that serves an engine, by its row, and remember it."""
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


class CachedEmbedder(ManagedEmbedder):
    """A cache of at most `entries` vectors before another embedder; `model_id` is its own name."""

    def __init__(self, inner: ManagedEmbedder, entries: int, model_id: str | None = None) -> None:
        self.model_id = model_id or inner.model_id
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


class ThreadedEmbedder(ManagedEmbedder):
    """An embedder that computes in its own threads; a subclass computes a few texts at a time.

    Other calls are served between the portions of a long list.
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
