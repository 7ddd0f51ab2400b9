"""Embeddings by the model that serves an engine. Nothing here may run in a transaction.

The serving model is looked up before a request's transaction and again inside it. If it was
replaced in between, a search embeds again, and the fact of a write is embedded a moment later.
"""

import asyncio
import collections
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date

import structlog
from cachetools import LRUCache
from prometheus_client import Counter, Histogram

from app.adapters import tracing
from app.adapters.db.session import Database, Session
from app.adapters.llm.embedders import Embedders, ManagedEmbedder
from app.adapters.llm.ports import Vectors
from app.adapters.resources import Resources
from app.kernel.clock import Clock
from app.kernel.errors import (
    BadGateway,
    DeadlineExceeded,
    Reason,
    ResourceExhausted,
    ServiceError,
    Unavailable,
)
from app.memory.memories.store.vectors import Vector
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import check_length
from app.platform.engines.store.tables import EngineRow

log = structlog.get_logger()

_SECONDS = Histogram(
    "memory_bank_embedding_seconds",
    "Time that a model took to embed the texts of one call.",
    ["model"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
_LEXICAL = Counter(
    "memory_bank_searches_lexical_total",
    "Searches by words alone, because the model could not embed the query.",
)
_MAX_ENGINES = 10_000
"""Maximum engines of which a process counts the languages that no embedder covers."""
AWAY = (Unavailable, DeadlineExceeded, ResourceExhausted)
"""Temporary failures of a model; a write is kept, and its fact is embedded later."""


@dataclass(frozen=True)
class EmbeddedQuery:
    """The embedding of a query.

    Attributes:
        model_id: the model of the vectors that the query is compared with.
        vector: of unit length; None if there is none, and `trouble` has the reason.
        is_lexical_only: True if the vectors represent words but no meaning.
        is_unsuited: True if the query is in a language that the model does not understand.
    """

    model_id: str
    vector: Vectors | None
    is_lexical_only: bool = False
    trouble: Reason | None = None
    is_unsuited: bool = False


@dataclass
class _LanguageCounts:
    logged_on: date | None = None
    counts: collections.Counter[str] = field(default_factory=collections.Counter)


class UncoveredLanguages:
    """Counts facts in languages that their embedder does not cover, as a warning for operators.

    Search by words still matches such facts, so they are accepted. Search by meaning rarely does.
    There is one log entry for each engine and UTC day.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._noted: LRUCache[int, _LanguageCounts] = LRUCache(_MAX_ENGINES)

    @classmethod
    def of(cls, resources: Resources) -> "UncoveredLanguages":
        """Return the shared instance of the process."""
        kept: UncoveredLanguages = resources.kept.setdefault(cls, cls(resources.clock))
        return kept

    def note(self, engine_id: int, embedder: ManagedEmbedder | None, facts: Iterable[str]) -> None:
        """Count the facts that an engine's embedder is about to embed."""
        if embedder is None:
            return
        languages = collections.Counter(filter(None, map(embedder.foreign_language, facts)))
        if not languages:
            return
        counted = self._noted.setdefault(engine_id, _LanguageCounts())
        counted.counts += languages
        today = self._clock.now().date()
        if counted.logged_on != today:
            ((language, _),) = counted.counts.most_common(1)
            log.warning(
                "embedding.language_not_covered",
                engine=engine_id,
                model_id=embedder.model_id,
                language=language,
                count=counted.counts.total(),
            )
            self._noted[engine_id] = _LanguageCounts(today)


@dataclass(frozen=True)
class EngineEmbedding:
    """Embedding of facts and queries by the model that serves an engine."""

    db: Database
    embedders: Embedders
    query_seconds: float
    """Maximum time that a search or a single fact waits for the model."""
    uncovered: UncoveredLanguages

    @classmethod
    def of(cls, resources: Resources) -> "EngineEmbedding":
        """Build the instance from the process's resources."""
        return cls(
            resources.db,
            resources.embedders,
            resources.settings.tuning.embedding_query_seconds,
            UncoveredLanguages.of(resources),
        )

    async def fact(self, engine_id: int, fact: str | None) -> Vector | None:
        """Return the vector of a fact, as `facts` does, or None."""
        if fact is None:
            return None
        # A request waits here, so the embedding is postponed before its client times out.
        return (await self.facts(engine_id, [fact], self.query_seconds)).get(fact)

    async def facts(
        self, engine_id: int, facts: Sequence[str], seconds: float | None = None
    ) -> dict[str, Vector]:
        """Return the vectors of facts that become memories, as `vectors` does."""
        if not facts:
            return {}
        model_id = await self.model_of(engine_id)
        self.uncovered.note(engine_id, self.embedders.by_id.get(model_id), facts)
        return await self.vectors(engine_id, facts, seconds)

    async def vectors(
        self, engine_id: int, facts: Sequence[str], seconds: float | None = None
    ) -> dict[str, Vector]:
        """Return the vector of each fact, or {} while the model returns no usable answer.

        `seconds` limits the wait; None leaves the limit to the model's own settings.

        Raises:
            FailedPrecondition: the model refuses, or the length of its vectors has changed.
        """
        if not facts:
            return {}
        model_id = await self.model_of(engine_id)
        try:
            async with asyncio.timeout(seconds):
                vectors = await self.embedded(model_id, facts)
        except TimeoutError:
            log.warning("embedding.put_off", model_id=model_id, reason=Reason.MODEL_TIMEOUT)
            return {}
        except (*AWAY, BadGateway) as error:
            # A response without vectors also counts as an outage: the fact is written without one.
            log.warning("embedding.put_off", model_id=model_id, reason=error.reason)
            return {}
        return {fact: Vector(row, model_id) for fact, row in zip(facts, vectors, strict=True)}

    async def query(self, engine_id: int, text: str) -> EmbeddedQuery:
        """Embed a query; if the model fails, return a query without a vector, never an error.

        After reading the engine, the caller checks that `serving` returns the same model. Otherwise
        it calls again.
        """
        model_id = await self.model_of(engine_id)
        embedder = self.embedders.by_id.get(model_id)
        is_lexical = embedder is not None and embedder.lexical_only
        is_unsuited = embedder is not None and embedder.foreign_language(text) is not None
        try:
            async with asyncio.timeout(self.query_seconds):
                vector = await self.embedded_query(model_id, text)
        except TimeoutError:
            trouble = Reason.MODEL_TIMEOUT
        except ServiceError as error:
            trouble = error.reason
        else:
            return EmbeddedQuery(model_id, vector, is_lexical, is_unsuited=is_unsuited)
        _LEXICAL.inc()
        log.warning("embedding.query_failed", model_id=model_id, reason=trouble)
        return EmbeddedQuery(model_id, None, is_lexical, trouble, is_unsuited)

    def serving(self, engine: EngineRow) -> str:
        """Return and remember the id of the serving model in an engine row that was just read."""
        return self.embedders.serving(engine.engine_id, engine.embedding_model)

    async def current(self, session: Session, engine_id: int) -> str:
        """Read and remember the id of the model that serves an engine."""
        return self.embedders.serving(engine_id, await engines.find_model(session, engine_id))

    async def embedded(self, model_id: str, texts: Sequence[str]) -> Vectors:
        """Return one unit vector by a model for each stored text, in order.

        Raises:
            Unavailable: the model is unavailable or not open here; `AWAY` lists similar failures.
            FailedPrecondition: the model refuses, or the length of its vectors has changed.
            BadGateway: the model's response contains no vectors.
        """
        embedder = self._open(model_id)
        return await self._embedded(embedder, [embedder.prefixes.text + text for text in texts])

    async def embedded_query(self, model_id: str, text: str) -> Vectors:
        """Return the unit vector of a search text by a model; it fails as `embedded` does."""
        embedder = self._open(model_id)
        vector: Vectors = (await self._embedded(embedder, [embedder.prefixes.query + text]))[0]
        return vector

    def _open(self, model_id: str) -> ManagedEmbedder:
        embedder = self.embedders.by_id.get(model_id)
        if embedder is None:
            raise Unavailable(
                f"The embedding model {model_id} is not open here.", Reason.MODEL_UNAVAILABLE
            )
        return embedder

    async def _embedded(self, embedder: ManagedEmbedder, texts: Sequence[str]) -> Vectors:
        with (
            _SECONDS.labels(embedder.model_id).time(),
            tracing.span("embed", model=embedder.model_id, texts=len(texts)),
        ):
            vectors = await embedder.embed(texts)
        await self.check_length(embedder.model_id, embedder.dimensions)
        return vectors

    async def check_length(self, model_id: str, dimensions: int) -> None:
        """Raise FailedPrecondition unless a model's vectors are as long as its stored ones."""
        known = self.embedders.lengths.get(model_id)
        if known is None:
            async with self.db.snapshot() as session:
                known = await engines.find_length(session, model_id)
            if known is not None:
                self.embedders.lengths[model_id] = known
        check_length(model_id, known, dimensions)

    async def model_of(self, engine_id: int) -> str:
        """Return the id of the model that serves an engine, as it was last seen."""
        seen = self.embedders.seen(engine_id)
        if seen is not None:
            return seen
        async with self.db.snapshot() as session:
            return await self.current(session, engine_id)
