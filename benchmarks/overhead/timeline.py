"""CPU time of this process, split by the transactions that the service opens."""

from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from inspect import currentframe
from time import process_time

from typing_extensions import override

from app.adapters.db.session import Database, Session
from app.adapters.llm.embedders import ManagedEmbedder
from app.adapters.llm.ports import Vectors

_FIRST = "before the first"


@dataclass(frozen=True)
class Spent:
    """Milliseconds: in all, and by who opened a transaction those inside it and after it."""

    total: float
    phases: dict[str, tuple[float, float]]


class Timeline:
    """The milliseconds since `start`, in each transaction and after it, by who opened it.

    Postgres computes in processes of its own, which are not counted; nor is what is `spared`.
    """

    def __init__(self) -> None:
        self._spared = 0.0
        self.start()

    def start(self) -> None:
        """Forget what was, and count from here."""
        self._inside: dict[str, float] = defaultdict(float)
        self._after: dict[str, float] = defaultdict(float)
        self._began = self._since = self._now()
        self._last = _FIRST

    def stop(self) -> "Spent":
        """End the last stretch; return what was spent since the start."""
        self._after[self._last] += self._lap()
        phases = {name: (self._inside[name], spent) for name, spent in self._after.items()}
        return Spent(self._since - self._began, phases)

    @asynccontextmanager
    async def spared(self) -> AsyncIterator[None]:
        """Do not count the block, which is a model's."""
        began = process_time()
        try:
            yield
        finally:
            self._spared += process_time() - began

    @asynccontextmanager
    async def within(self, opener: str) -> AsyncIterator[None]:
        """Count a transaction."""
        self._after[self._last] += self._lap()
        self._last = opener
        try:
            yield
        finally:
            self._inside[opener] += self._lap()

    def _now(self) -> float:
        return (process_time() - self._spared) * 1000

    def _lap(self) -> float:
        before, self._since = self._since, self._now()
        return self._since - before


class TimedDatabase(Database):
    """The database, with every transaction on the timeline."""

    def __init__(self, inner: Database, timeline: Timeline) -> None:
        super().__init__(inner.engine)
        self._timeline = timeline

    @override
    @asynccontextmanager
    async def transaction(self, *, writes_vectors: bool = True) -> AsyncIterator[Session]:
        async with (
            self._timeline.within(_opener()),
            super().transaction(writes_vectors=writes_vectors) as session,
        ):
            yield session

    @override
    @asynccontextmanager
    async def snapshot(self, *, statement_seconds: float | None = None) -> AsyncIterator[Session]:
        async with (
            self._timeline.within(_opener()),
            super().snapshot(statement_seconds=statement_seconds) as session,
        ):
            yield session


def _opener() -> str:
    """Return the name of the function whose `async with` opens the transaction."""
    frame = currentframe()
    while frame is not None:
        if frame.f_globals["__name__"] not in {__name__, "contextlib"}:
            return frame.f_code.co_qualname
        frame = frame.f_back
    raise AssertionError


class SparedEmbedder(ManagedEmbedder):
    """An embedder whose CPU time is not counted."""

    def __init__(self, inner: ManagedEmbedder, timeline: Timeline) -> None:
        self.model_id = inner.model_id
        self.dimensions = inner.dimensions
        self.lexical_only = inner.lexical_only
        self._inner = inner
        self._timeline = timeline

    @property
    @override
    def ready(self) -> bool:
        return self._inner.ready

    @override
    async def warm(self) -> None:
        await self._inner.warm()

    @override
    async def close(self) -> None:
        await self._inner.close()

    @override
    async def embed(self, texts: Sequence[str]) -> Vectors:
        async with self._timeline.spared():
            return await self._inner.embed(texts)
