"""Contributions of features to the service; each has one `FEATURE` in its `feature.py`."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from app.adapters.db.subjects import Erasure, TextsOf
from app.adapters.resources import (
    Archived,
    Check,
    CountOfEngine,
    EndOfRestore,
    HoldsAnything,
    RemoveOfEngine,
    Resources,
    ResponseReader,
    Retry,
    Sweep,
)
from app.kernel.checks import CountedRows, Examination
from app.kernel.wire.base import WireModel
from app.settings.settings import Settings
from app.web.routing import Router

JobFunction = Callable[..., Awaitable[None]]
"""A coroutine function `(job, resources)` that runs an operation."""


@dataclass(frozen=True)
class Tick:
    """Periodic work of every worker.

    Attributes:
        seconds: the interval from the settings; longer on a distributed database.
        start: returns the function for each tick, which checks if another process has run.
    """

    name: str
    seconds: Callable[[Settings], float]
    start: Callable[[Resources], Callable[[], Awaitable[None]]]


@dataclass(frozen=True)
class Feature:
    """A feature of the service; `Registry` describes the hooks that it collects from all features.

    Attributes:
        jobs: imports and returns the functions that run operations outside a request, by kind.
            Only a worker calls it, to spare servers the import.
        examinations: examine its tables for `memory-bank check`.
        counted: its tables whose rows count in the totals of engines.
        retries: retries of failed operations, by kind; the requests of these kinds are kept.
        gauges: refreshes metrics from the database, by source.
        install: runs once for the resources of a process, before they serve.
    """

    name: str
    routers: Sequence[Router] = ()
    kinds: Sequence[str] = ()
    jobs: Callable[[], Mapping[str, JobFunction]] = dict
    ticks: Sequence[Tick] = ()
    sweeps: Sequence[Sweep] = ()
    children: RemoveOfEngine | None = None
    erasures: Sequence[Erasure] = ()
    texts: Sequence[TextsOf] = ()
    examinations: Sequence[Examination] = ()
    counted: Sequence[CountedRows] = ()
    holds: HoldsAnything | None = None
    unembedded: CountOfEngine | None = None
    waiting_kinds: Sequence[str] = ()
    restored: EndOfRestore | None = None
    archived: Archived | None = None
    retries: Mapping[str, Retry] = field(default_factory=dict)
    answers: Mapping[str, type[WireModel]] = field(default_factory=dict)
    response_readers: Mapping[str, Callable[[Resources], ResponseReader]] = field(
        default_factory=dict
    )
    gauges: Mapping[str, Callable[[Resources], Awaitable[None]]] = field(default_factory=dict)
    checks: Mapping[str, Callable[[Resources], Awaitable[Check]]] = field(default_factory=dict)
    install: Callable[[Resources], None] | None = None
