"""Counts of the entries that models write; they show whether a model is too weak."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.kernel.wire.model_entries import EntriesReply, EntryTally
from app.memory.generation.logic.outcomes import Dropped
from app.memory.generation.services.generation import MODEL_ENTRIES


@dataclass
class EntryCounts:
    """The entries of all replies of one generation, by the name of their list."""

    tallies: dict[str, EntryTally] = field(default_factory=dict)

    def add(self, model_id: str, reply: EntriesReply) -> None:
        """Count the entries of a reply that is used."""
        for name, tally in reply.tallies.items():
            self.tallies[name] = self.tallies.get(name, EntryTally()) + tally
            readings = {
                "SOUND": tally.sound,
                "MENDED": tally.mended,
                "UNREADABLE": tally.unreadable,
            }
            for reading, number in readings.items():
                MODEL_ENTRIES.labels(model_id, name, reading).inc(number)

    def details(self) -> Mapping[str, Any]:
        """Return the metadata of the operation, without zeros."""
        mended = {name: tally.mended for name, tally in self.tallies.items() if tally.mended}
        lost = {name: tally.unreadable for name, tally in self.tallies.items() if tally.unreadable}
        counts = {"mendedEntryCounts": mended, "unreadableEntryCounts": lost}
        return {name: numbers for name, numbers in counts.items() if numbers}

    @property
    def dropped(self) -> list[Dropped]:
        """The lost entries, without text, since they could not be parsed."""
        lost = sum(tally.unreadable for tally in self.tallies.values())
        return [Dropped("", "", "UNREADABLE")] * lost
