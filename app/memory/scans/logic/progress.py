"""Progress of a scan, as the metadata of its operation keep it (pure)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

PROGRESS = "progress"
"""Field of the metadata of a running scan."""


@dataclass(frozen=True)
class Found:
    """Results of a batch: values by table and kind, and the names of what holds them."""

    counts: Mapping[str, Mapping[str, int]]
    names: Sequence[str] = ()


@dataclass(frozen=True)
class ScanProgress:
    """Progress of a scan: the place up to which it has come, and its results.

    Attributes:
        step: position of the table that is being scanned.
        after: key of the last row that was scanned in it; empty: none yet.
        names: of what holds values, as many as are told.
    """

    step: int = 0
    after: tuple[str, ...] = ()
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    has_more_names: bool = False

    @classmethod
    def of(cls, details: Mapping[str, Any]) -> "ScanProgress":
        """Return the progress that the metadata of an operation keep."""
        kept = dict(details.get(PROGRESS, {}))
        for name in ("after", "names"):
            kept[name] = tuple(kept.get(name, ()))
        return cls(**kept)

    def details(self) -> dict[str, Any]:
        """Return the metadata."""
        return {PROGRESS: vars(self) | {"after": list(self.after), "names": list(self.names)}}

    def with_batch(
        self, found: Found, after: Sequence[str] | None, most_names: int
    ) -> "ScanProgress":
        """Return the progress after a batch; without a key to go on, the next table is due."""
        counts = {table: dict(kinds) for table, kinds in self.counts.items()}
        for table, kinds in found.counts.items():
            sums = counts.setdefault(table, {})
            for kind, number in kinds.items():
                sums[kind] = sums.get(kind, 0) + number
        names = tuple(dict.fromkeys((*self.names, *found.names)))
        return replace(
            self,
            step=self.step + (after is None),
            after=tuple(after or ()),
            counts=counts,
            names=names[:most_names],
            has_more_names=self.has_more_names or len(names) > most_names,
        )
