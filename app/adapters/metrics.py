"""Metrics of the processes that serve one port together.

Each process keeps its values in its own files in a common folder, by the multiprocess mode of
prometheus_client. The process that receives a scrape adds the values up. A file belongs to a name,
not to a process id: the successor of a dead process continues its counts.
"""

import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Metric, values
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from typing_extensions import override

from app.adapters.logs import get_process_name
from app.settings.environment import environment

_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
_PARENT = "parent"
_ATTEMPTS = 5
"""Attempts to read the files; a file may vanish meanwhile, when its process has died."""
_M = TypeVar("_M", Gauge, Counter)


class _Files:
    """The place of the values: a folder; None: memory."""

    folder: Path | None = None
    of_all: ClassVar[set[str]] = set()


def of_all(kind: type[_M], name: str, documentation: str, labels: Sequence[str] = ()) -> _M:
    """Return a metric that is read from the database, so that the processes are not added up."""
    _Files.of_all.add(name)
    return kind(name, documentation, labels)


@contextmanager
def added_up() -> Iterator[None]:
    """Keep the values of all metrics made from now on in files that forked processes add up."""
    folder = tempfile.mkdtemp(prefix="memory-bank-metrics-")
    environment()[_FOLDER] = folder
    _Files.folder = Path(folder)
    # A process clears only its own labels; it needs no others.
    warnings.filterwarnings("ignore", "Clearing labels", UserWarning)
    # The library's multiprocess mode has no types.
    shared = values.MultiProcessValue(lambda: get_process_name() or _PARENT)  # type: ignore[no-untyped-call]

    def value(kind: str, name: str, *others: Any, **options: Any) -> Any:  # noqa: ANN401 - as there
        made = values.MutexValue if name in _Files.of_all else shared
        return made(kind, name, *others, **options)

    values.ValueClass = value
    try:
        yield
    finally:
        remove_folder()


def remove_folder() -> None:
    """Remove the folder of the values, if there is one."""
    if _Files.folder is not None:
        shutil.rmtree(_Files.folder, ignore_errors=True)


def forget_parent() -> None:
    """Remove the values of the parent process, which counts no events itself."""
    _remove(f"*_{_PARENT}.db")


def forget_gauges(name: str) -> None:
    """Remove the gauges of a process that has ended."""
    _remove(f"gauge_*_{name}.db")


def _remove(pattern: str) -> None:
    if _Files.folder is not None:
        for path in _Files.folder.glob(pattern):
            path.unlink(missing_ok=True)


def registry_of_port() -> CollectorRegistry:
    """Return the metrics of all processes that serve the port of the API."""
    if _Files.folder is None:
        return REGISTRY
    registry = CollectorRegistry()
    registry.register(_Sum(_Files.folder))
    return registry


class _Sum(Collector):
    """The sum over the processes; gauges are separate, with the process's name as a label."""

    def __init__(self, folder: Path) -> None:
        self._files = MultiProcessCollector(None, os.fspath(folder))  # type: ignore[no-untyped-call]

    @override
    def collect(self) -> Iterator[Metric]:
        yield from (metric for metric in REGISTRY.collect() if metric.name in _Files.of_all)
        for metric in self._read():
            metric.samples = [
                sample._replace(labels=_with_process(sample.labels)) for sample in metric.samples
            ]
            yield metric

    def _read(self) -> list[Metric]:
        for _ in range(_ATTEMPTS):
            with suppress(FileNotFoundError):
                return list(self._files.collect())  # type: ignore[no-untyped-call]
        return []


def _with_process(labels: dict[str, str]) -> dict[str, str]:
    return {"process" if name == "pid" else name: value for name, value in labels.items()}
