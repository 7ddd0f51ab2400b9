"""The metric with the release of a process."""

from prometheus_client import Gauge

from app.adapters.db.revisions import wanted_revision
from app.kernel.release import RELEASE

_BUILD = Gauge(
    "memory_bank_build_info",
    "1, for the release and schema of this process, and its kind: api or worker.",
    ["version", "schema", "kind"],
)


def show_build(kind: str) -> None:
    """Set the metric. Blocking: it reads the schema's revision from files."""
    _BUILD.labels(RELEASE, wanted_revision(), kind).set(1)
