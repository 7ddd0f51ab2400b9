"""Engines as this process has read them last, for statements that make sure of it themselves."""

from collections import OrderedDict

from app.core.names import WILDCARD, EngineName
from app.engines.tables import EngineRow
from app.resources import Resources

_MAX_KNOWN = 10_000


class KnownEngines:
    """The engines that one process has written to lately.

    What it returns may have changed: who uses it asks in the same statement whether the engine
    still has this version.
    """

    def __init__(self) -> None:
        self._rows: OrderedDict[int, EngineRow] = OrderedDict()

    @classmethod
    def of(cls, resources: Resources) -> "KnownEngines":
        """Return those of the process."""
        found: KnownEngines = resources.kept.setdefault(cls, cls())
        return found

    def find(self, name: EngineName) -> EngineRow | None:
        """Return an engine that lies where its name says, if it is known."""
        row = self._rows.get(name.engine)
        if row is None:
            return None
        is_there = name.parent.project in {row.project, WILDCARD}
        return row if is_there and name.parent.location in {row.location, WILDCARD} else None

    def note(self, row: EngineRow) -> None:
        """Remember an engine as it was just read."""
        self._rows[row.engine_id] = row
        self._rows.move_to_end(row.engine_id)
        if len(self._rows) > _MAX_KNOWN:
            self._rows.popitem(last=False)
