"""Output modes of a model: the best way of requesting a structure that its server accepts now."""

from collections import Counter
from collections.abc import Mapping, Sequence

import structlog
from prometheus_client import Gauge

from app.adapters.llm.breaker import now
from app.adapters.llm.provider import RequestFailed
from app.settings.settings import OutputMode

_log = structlog.get_logger(__name__)

_MOST_REFUSALS = 3
"""Refusals in a row, each followed by a mode that worked; a single one may have another cause."""
_IN_USE = Gauge(
    "memory_bank_model_mode",
    "1 if a model is asked for structures in this way at present, else 0.",
    ["model", "mode"],
)

Refusals = Mapping[OutputMode, RequestFailed]
"""The modes that a server refused for one question, in order, with the failures."""


class Ways:
    """The output modes of one model, the most reliable first.

    A mode that is refused three times in a row, while the next one works, rests for a while. Then
    one question tries it again.
    """

    def __init__(self, model_id: str, modes: Sequence[OutputMode], rest_seconds: float) -> None:
        self._model_id = model_id
        self._modes = tuple(modes)
        self.refused: Sequence[OutputMode] = ()
        """Modes that the server refused before the last answer."""
        self.latest: OutputMode | None = None
        """The mode of the last answer."""
        self._rest_seconds = rest_seconds
        self._refused: Counter[OutputMode] = Counter()
        self._until: dict[OutputMode, float] = {}
        self._show()

    @property
    def in_use(self) -> OutputMode:
        """The best mode that is not resting."""
        return next(mode for mode in self._modes if mode not in self._until)

    def order(self) -> Sequence[OutputMode]:
        """Return the modes for one question; one whose rest is over is included only this once."""
        time = now()
        modes = [mode for mode in self._modes if self._until.get(mode, time) <= time]
        for mode in self._until.keys() & set(modes):
            self._until[mode] = time + self._rest_seconds
        return modes

    def worked(self, mode: OutputMode, refusals: Refusals) -> None:
        """Record the mode that brought an answer, and the refused modes before it."""
        before = self.in_use
        self.latest, self.refused = mode, list(refusals)
        self._refused[mode] = 0
        self._until.pop(mode, None)
        for refused in refusals:
            self._refused[refused] += 1
            if self._refused[refused] >= _MOST_REFUSALS:
                self._until[refused] = now() + self._rest_seconds
        if self.in_use is not before:
            self._show()
            failed = refusals.get(before)
            _log.warning(
                "model.mode_changed",
                model=self._model_id,
                before=before.value,
                mode=self.in_use.value,
                **(failed.log_fields if failed else {}),
            )

    def _show(self) -> None:
        for mode in self._modes:
            _IN_USE.labels(self._model_id, mode.value).set(mode is self.in_use)
