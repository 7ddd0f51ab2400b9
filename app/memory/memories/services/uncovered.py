"""A hint for operators: memories in languages that their embedder does not understand.

Found by words they are, so nothing is refused; but hardly by meaning, which nobody would see.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date

import structlog

from app.adapters.llm.managed import ManagedEmbedder
from app.adapters.resources import Resources
from app.kernel.clock import Clock

log = structlog.get_logger()

_MAX_ENGINES = 10_000


@dataclass
class _Noted:
    """What was noted of an engine: the day of its last line, and what came since, by language."""

    told_on: date | None = None
    counts: Counter[str] = field(default_factory=Counter)


class UncoveredLanguages:
    """Those of one process: one line for each engine and UTC day.

    The line counts what came since the line before, and names the language that most of it is in.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._noted: OrderedDict[int, _Noted] = OrderedDict()

    @classmethod
    def of(cls, resources: Resources) -> "UncoveredLanguages":
        """Return those of the process."""
        found: UncoveredLanguages = resources.kept.setdefault(cls, cls(resources.clock))
        return found

    def note(self, engine_id: int, embedder: ManagedEmbedder | None, facts: Iterable[str]) -> None:
        """Note the facts of memories that an embedder of their engine is to embed."""
        if embedder is None:
            return
        found = Counter(filter(None, map(embedder.foreign_language, facts)))
        if not found:
            return
        noted = self._noted.setdefault(engine_id, _Noted())
        noted.counts += found
        today = self._clock.now().date()
        if noted.told_on != today:
            ((language, _),) = noted.counts.most_common(1)
            log.warning(
                "embedding.language_not_covered",
                engine=engine_id,
                model_id=embedder.model_id,
                language=language,
                count=noted.counts.total(),
            )
            self._noted[engine_id] = _Noted(today)
        self._noted.move_to_end(engine_id)
        if len(self._noted) > _MAX_ENGINES:
            self._noted.popitem(last=False)
