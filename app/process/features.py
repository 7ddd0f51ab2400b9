"""The list of all features of the service, the upper layers first.

The removal of an engine uses the same order: rows with references must be removed before the rows
that they refer to.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import get_args

from app.adapters.resources import Resources
from app.artifacts.readers.feature import FEATURE as READERS
from app.artifacts.tasks.feature import FEATURE as TASKS
from app.conversation.contexts.feature import FEATURE as CONTEXTS
from app.conversation.costs.feature import FEATURE as COSTS
from app.conversation.recall.feature import FEATURE as RECALL
from app.conversation.summaries.feature import FEATURE as SUMMARIES
from app.kernel.wire.base import WireModel
from app.memory.bulk.feature import FEATURE as BULK
from app.memory.erasures.feature import FEATURE as ERASURES
from app.memory.finding.feature import FEATURE as FINDING
from app.memory.generation.feature import FEATURE as GENERATION
from app.memory.ingestion.feature import FEATURE as INGESTION
from app.memory.memories.feature import FEATURE as MEMORIES
from app.memory.reembedding.feature import FEATURE as REEMBEDDING
from app.memory.retention.feature import FEATURE as RETENTION
from app.memory.retrieval.feature import FEATURE as RETRIEVAL
from app.memory.revisions.feature import FEATURE as REVISIONS
from app.memory.scans.feature import FEATURE as SCANS
from app.memory.transfer.feature import FEATURE as TRANSFER
from app.memory.undo.feature import FEATURE as UNDO
from app.platform.access.feature import FEATURE as ACCESS
from app.platform.audit.feature import FEATURE as AUDIT
from app.platform.engines.feature import FEATURE as ENGINES
from app.platform.limits.feature import FEATURE as LIMITS
from app.platform.operations.feature import FEATURE as OPERATIONS
from app.platform.operations.logic.states import Answered, type_url
from app.platform.processes.feature import FEATURE as PROCESSES
from app.platform.sessions.feature import FEATURE as SESSIONS
from app.platform.upkeep.feature import FEATURE as UPKEEP
from app.platform.usage.feature import FEATURE as USAGE
from app.surfaces.console.feature import FEATURE as CONSOLE
from app.surfaces.mcp.feature import FEATURE as MCP
from app.surfaces.tools.feature import FEATURE as TOOLS
from app.web.demands import Demand
from app.web.feature import Feature, JobFunction

FEATURES = (
    CONSOLE,
    MCP,
    TOOLS,
    TASKS,
    READERS,
    CONTEXTS,
    SUMMARIES,
    ERASURES,
    SCANS,
    FINDING,
    COSTS,
    RECALL,
    TRANSFER,
    REEMBEDDING,
    UNDO,
    RETRIEVAL,
    GENERATION,
    RETENTION,
    BULK,
    REVISIONS,
    MEMORIES,
    INGESTION,
    SESSIONS,
    OPERATIONS,
    AUDIT,
    UPKEEP,
    PROCESSES,
    LIMITS,
    ENGINES,
    USAGE,
    ACCESS,
)


class RosterError(RuntimeError):
    """Two features register the same name, or a registration has no counterpart."""


def check(features: Sequence[Feature]) -> None:
    """Raise RosterError unless registered names are unique and every demand has a route."""
    for kind, names in (
        ("name", ((feature, [feature.name]) for feature in features)),
        ("kind", ((feature, feature.kinds) for feature in features)),
        ("tick", ((feature, [tick.name for tick in feature.ticks]) for feature in features)),
        ("sweep", ((feature, [sweep.name for sweep in feature.sweeps]) for feature in features)),
        ("erasure of", ((feature, _erased(feature)) for feature in features)),
        ("gauge", ((feature, feature.gauges) for feature in features)),
        ("check", ((feature, feature.checks) for feature in features)),
        ("retry", ((feature, feature.retries) for feature in features)),
        ("answer", ((feature, feature.answers) for feature in features)),
        ("archived kind", ((feature, _archived(feature)) for feature in features)),
        ("response reader", ((feature, feature.response_readers) for feature in features)),
        ("method", ((feature, _methods(feature)) for feature in features)),
    ):
        _check_unique(kind, names)
    for feature in features:
        for router in feature.routers:
            if unused := router.demands.keys() - {route.method for route in router.admitted}:
                raise RosterError(f"{feature.name}: demands without a route: {sorted(unused)}.")


def _methods(feature: Feature) -> set[str]:
    # A method may have several paths.
    return {route.method for router in feature.routers for route in router.admitted}


def _erased(feature: Feature) -> list[str]:
    return [table for erasure in feature.erasures for table in erasure.tables]


def _archived(feature: Feature) -> Iterable[str]:
    return feature.archived.rows if feature.archived is not None else ()


def _check_unique(kind: str, registered: Iterable[tuple[Feature, Iterable[str]]]) -> None:
    owners: dict[str, list[str]] = {}
    for feature, names in registered:
        for name, count in Counter(list(names)).items():
            owners.setdefault(name, []).extend([feature.name] * count)
    for name, features in owners.items():
        if len(features) > 1:
            raise RosterError(f"The {kind} {name!r} is registered by {' and '.join(features)}.")


check(FEATURES)


def answers(features: Sequence[Feature]) -> Mapping[str, type[WireModel]]:
    """Return the types of the responses of operations, by `@type`.

    Raises:
        RosterError: the described types differ from the types that operations can return.
    """
    described = {name: answer for feature in features for name, answer in feature.answers.items()}
    names = get_args(Answered)
    if unlike := described.keys() ^ set(names):
        raise RosterError(f"Messages are answered or described, not both: {sorted(unlike)}.")
    return {type_url(name): described[name] for name in names}


ANSWERS = answers(FEATURES)


def demands() -> Mapping[str, Demand]:
    """Return the demands of all methods of the API, by operation id."""
    return {
        method: demand
        for feature in FEATURES
        for router in feature.routers
        for method, demand in router.demands.items()
    }


def jobs() -> Mapping[str, JobFunction]:
    """Import the functions that run operations, by kind; raise RosterError for undeclared kinds."""
    found: dict[str, JobFunction] = {}
    for feature in FEATURES:
        run = feature.jobs()
        if unnamed := run.keys() - set(feature.kinds):
            raise RosterError(f"{feature.name}: jobs of kinds it does not name: {sorted(unnamed)}.")
        found |= run
    return found


def register(resources: Resources) -> Resources:
    """Fill the registry of a process's resources and return them; idempotent."""
    registry = resources.registry
    sweeps = (sweep for feature in FEATURES for sweep in feature.sweeps)
    registry.sweeps = tuple(sorted(sweeps, key=lambda sweep: sweep.order))
    registry.children = tuple(
        feature.children for feature in FEATURES if feature.children is not None
    )
    registry.erasures = tuple(erasure for feature in FEATURES for erasure in feature.erasures)
    registry.texts = tuple(text for feature in FEATURES for text in feature.texts)
    registry.kinds = tuple(sorted(kind for feature in FEATURES for kind in feature.kinds))
    registry.holders = tuple(feature.holds for feature in FEATURES if feature.holds is not None)
    registry.unembedded = next(
        (feature.unembedded for feature in FEATURES if feature.unembedded is not None), None
    )
    registry.restored = tuple(
        feature.restored for feature in FEATURES if feature.restored is not None
    )
    registry.archived = tuple(
        feature.archived for feature in FEATURES if feature.archived is not None
    )
    registry.answers = ANSWERS
    registry.waiting_kinds = tuple(kind for feature in FEATURES for kind in feature.waiting_kinds)
    for feature in FEATURES:
        registry.retries.update(feature.retries)
        for kind, reader in feature.response_readers.items():
            registry.response_readers[kind] = reader(resources)
        for name, check_ready in feature.checks.items():
            registry.checks[name] = partial(check_ready, resources)
        if feature.install is not None:
            feature.install(resources)
    return resources
