"""Progress of a scan, stored in the metadata of its operation (pure)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

PROGRESS = "progress"
"""Metadata field of a running scan."""


@dataclass(frozen=True)
class BatchResults:
    """Results of a batch: counts by table and kind, and names of affected resources."""

    counts: Mapping[str, Mapping[str, int]]
    names: Sequence[str] = ()


@dataclass(frozen=True)
class ScanProgress:
    """Position and results of a scan.

    Attributes:
        after: key of the last scanned row in the table; empty: no row is scanned yet.
        counts: number of sensitive values, by table and kind.
        names: names of resources with sensitive values, up to a limit.
        has_more_names: True if the limit has cut `names`.
    """

    step: int = 0
    after: tuple[str, ...] = ()
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    has_more_names: bool = False

    @classmethod
    def of(cls, details: Mapping[str, Any]) -> "ScanProgress":
        """Read the progress from the metadata of an operation."""
        kept = dict(details.get(PROGRESS, {}))
        for name in ("after", "names"):
            kept[name] = tuple(kept.get(name, ()))
        return cls(**kept)

    def details(self) -> dict[str, Any]:
        """Return the progress as metadata."""
        return {PROGRESS: vars(self) | {"after": list(self.after), "names": list(self.names)}}

    def with_batch(
        self, results: BatchResults, after: Sequence[str] | None, most_names: int
    ) -> "ScanProgress":
        """Return the progress after a batch; if `after` is None, the next table follows."""
        counts = {table: dict(kinds) for table, kinds in self.counts.items()}
        for table, kinds in results.counts.items():
            sums = counts.setdefault(table, {})
            for kind, number in kinds.items():
                sums[kind] = sums.get(kind, 0) + number
        names = tuple(dict.fromkeys((*self.names, *results.names)))
        return replace(
            self,
            step=self.step + (after is None),
            after=tuple(after or ()),
            counts=counts,
            names=names[:most_names],
            has_more_names=self.has_more_names or len(names) > most_names,
        )
