"""The contribution of a feature to the service; each has one `FEATURE` in its `feature.py`.

`app/process/features.py` lists all of them; main, worker and sweeps iterate over that list.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from app.adapters.db.examinations import CountedRows, Examination
from app.adapters.db.rewriting import TextsOf
from app.adapters.db.subjects import Erasure
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
from app.kernel.wire.base import WireModel
from app.settings.settings import Settings
from app.web.routing import Router

JobFunction = Callable[..., Awaitable[None]]
"""A coroutine function `(job, resources)` that runs an operation."""


@dataclass(frozen=True)
class Tick:
    """Periodic work of every worker.

    Attributes:
        name: unique.
        seconds: the interval, as the settings have it; longer on a distributed database.
        start: returns what runs at each tick. It decides itself whether another process has run.
    """

    name: str
    seconds: Callable[[Settings], float]
    start: Callable[[Resources], Callable[[], Awaitable[None]]]


@dataclass(frozen=True)
class Feature:
    """A feature of the service.

    Attributes:
        name: that of its folder.
        routers: its routes, with what these demand.
        kinds: of its operations.
        jobs: imports and returns what runs those that are not done within their request, by kind.
            Only a worker calls it, so that a server need not import what it never runs.
        ticks: what every worker does from time to time.
        sweeps: what the tick of the sweeps runs.
        children: removes what an engine holds of this feature.
        erasures: erase a scope from the tables of this feature.
        texts: what a scan for sensitive values rewrites in place.
        examinations: examine its tables for `memory-bank check`.
        counted: its tables whose rows count in the totals of engines.
        holds: whether an engine holds anything that its deletion needs `force` for.
        unembedded: counts the memories of an engine that wait for their vectors.
        waiting_kinds: kinds of operations that wait for a time, and fail when their engine goes.
        restored: makes what an archive lacks of this feature, when an engine has been restored.
        archived: what archives have of this feature.
        retries: how failed operations are retried, by kind; the requests of these kinds are kept.
        answers: the messages that its operations answer with, by the name in their `@type`.
        response_readers: by the kind of the operations whose answers they complete.
        gauges: refreshes metrics from the database, by the source that they stand for.
        checks: what it adds to `/readyz`, by name.
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
