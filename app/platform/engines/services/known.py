"""Engines as this process has read them last, for statements that make sure of it themselves."""

from collections import OrderedDict
from dataclasses import dataclass

from app.adapters.resources import Resources
from app.kernel.names import WILDCARD, EngineName
from app.platform.engines.store.tables import EngineRow

_MAX_KNOWN = 10_000
_MAX_WEIGHT = 32 * 1024 * 1024
"""Of all together, in characters of their configurations."""
_LARGEST = 256 * 1024
"""Of one. A configuration has as many bytes as a request at most, 8 MiB unless set otherwise."""
_VALUE = 8
"""What a value adds that has no characters."""


@dataclass(frozen=True)
class _Known:
    row: EngineRow
    weight: int


class KnownEngines:
    """The engines that one process has written to lately.

    What it returns may have changed: who uses it asks in the same statement whether the engine
    still has this version. It holds so many engines, and so much of their configurations; one whose
    configuration alone is very large is not known, and read each time.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[int, _Known] = OrderedDict()
        self._weight = 0

    @classmethod
    def of(cls, resources: Resources) -> "KnownEngines":
        """Return those of the process."""
        found: KnownEngines = resources.kept.setdefault(cls, cls())
        return found

    def find(self, name: EngineName) -> EngineRow | None:
        """Return an engine that lies where its name says, if it is known."""
        known = self._known.get(name.engine)
        if known is None:
            return None
        row = known.row
        is_there = name.parent.project in {row.project, WILDCARD}
        return row if is_there and name.parent.location in {row.location, WILDCARD} else None

    def note(self, row: EngineRow) -> None:
        """Remember an engine as it was just read."""
        before = self._known.pop(row.engine_id, None)
        if before is not None:
            self._weight -= before.weight
        # Measured once: it is noted by many a request.
        is_same = before is not None and before.row.version == row.version
        weight = before.weight if before is not None and is_same else _weight(row)
        if weight > _LARGEST:
            return
        self._known[row.engine_id] = _Known(row, weight)
        self._weight += weight
        while len(self._known) > _MAX_KNOWN or self._weight > _MAX_WEIGHT:
            _, oldest = self._known.popitem(last=False)
            self._weight -= oldest.weight


def _weight(row: EngineRow) -> int:
    """Return about how large what users have set is; above `_LARGEST`, only that it is larger."""
    left: list[object] = [row.bank_config, row.labels, row.encryption_spec]
    left += [row.display_name, row.description]
    weight = 0
    while left and weight <= _LARGEST:
        value = left.pop()
        if isinstance(value, dict):
            left += [*value, *value.values()]
        elif isinstance(value, list):
            left += value
        weight += len(value) if isinstance(value, str) else _VALUE
    return weight
