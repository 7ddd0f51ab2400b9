"""Warnings for operators about memories in languages that their embedder does not cover.

Search by words still matches such memories, so they are accepted. Search by meaning rarely matches
them, and without the warning the problem would stay unnoticed.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date

import structlog
from cachetools import LRUCache

from app.adapters.llm.embedders import ManagedEmbedder
from app.adapters.resources import Resources
from app.kernel.clock import Clock

log = structlog.get_logger()

_MAX_ENGINES = 10_000


@dataclass
class _LanguageCounts:
    """The day of an engine's last log entry, and the counts by language since then."""

    logged_on: date | None = None
    counts: Counter[str] = field(default_factory=Counter)


class UncoveredLanguages:
    """Uncovered languages seen by one process, logged once for each engine and UTC day.

    The log entry counts the facts since the last entry, and names their most frequent language.
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
        languages = Counter(filter(None, map(embedder.foreign_language, facts)))
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
