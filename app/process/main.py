"""The HTTP application: every router, the error handlers, and the middleware around them."""

from functools import partial
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI, Security
from fastapi.openapi.utils import get_openapi
from fastapi.security import APIKeyHeader, HTTPBearer
from starlette.middleware import Middleware

from app.adapters.db.readiness import ping
from app.adapters.resources import Resources, ResponseReader
from app.artifacts.readers.routes import router as readers
from app.artifacts.tasks.routes import router as tasks
from app.conversation.contexts.routes import router as contexts
from app.conversation.costs.routes import router as costs
from app.conversation.recall.routes import router as recall
from app.conversation.summaries.routes import router as summaries
from app.conversation.summaries.services.queue import Watch
from app.memory.bulk.routes import router as bulk
from app.memory.bulk.services.bulk import BATCH_CREATE, BulkService
from app.memory.generation.routes import router as generation
from app.memory.generation.services.generation import PREVIEW
from app.memory.generation.services.previews import read_preview
from app.memory.ingestion.routes import router as ingestion
from app.memory.ingestion.services import metrics as ingestion_metrics
from app.memory.memories.routes import router as memories
from app.memory.memories.services.memories import MemoryService
from app.memory.reembedding.routes import router as reembedding
from app.memory.reembedding.services import metrics as reembedding_metrics
from app.memory.retention.routes import router as retention
from app.memory.retrieval.routes import router as retrieval
from app.memory.revisions.routes import router as revisions
from app.memory.undo.routes import router as undo
from app.platform.access.routes import router as keys
from app.platform.access.services.access import AccessService
from app.platform.access.services.remembered import MetricsReaders
from app.platform.access.services.tokens import TokenService
from app.platform.audit.routes import router as audit
from app.platform.audit.service import AuditService
from app.platform.engines.routes import children as engine_children
from app.platform.engines.routes import router as engines
from app.platform.engines.services.directory import Directory
from app.platform.limits.services.limits import LimitService
from app.platform.operations.routes import router as operations
from app.platform.operations.services import metrics as operation_metrics
from app.platform.sessions.routes import router as sessions
from app.platform.sessions.services.sessions import SessionService
from app.platform.usage.routes import router as usage
from app.settings.settings import Settings
from app.web import docs, errors, health, home, metrics
from app.web.admission import Gate
from app.web.auth import Authentication
from app.web.body import JsonBody
from app.web.dispatch import Dispatch
from app.web.document import tidied
from app.web.encodings import PlainBody
from app.web.hosts import Hosts
from app.web.incoming import Pace
from app.web.metrics import DATABASE, GaugeRefresh
from app.web.middleware import Faults, RequestLog
from app.web.origins import Origins
from app.web.paths import CanonicalPath
from app.web.probes import create_probes
from app.web.query import QueryNames
from app.web.routing import AdmittedRoute
from app.web.unknown import REWRITTEN, Paths
from app.web.unserved import router as unserved

# Routes with a verb come before those whose last part is any id.
_ROUTERS = (
    health.router,
    metrics.router,
    docs.router,
    home.router,
    keys,
    audit,
    engine_children,
    usage,
    reembedding,
    undo,
    operations,
    retrieval,
    generation,
    ingestion,
    retention,
    bulk,
    revisions,
    memories,
    contexts,
    summaries,
    costs,
    recall,
    sessions,
    readers,
    tasks,
    engines,
    unserved,
)
_WITH_MEMORY = ("memories.create", "memories.update", "memories.rollback")
_DESCRIPTION = """\
A self-hosted memory service for AI agents that speaks the Memory Bank API.

Paths are documented under `/v1beta1/projects/{project}/locations/{location}`; `/v1` works alike,
the `projects/.../locations/...` part may be left out, and `memoryBanks` stands for
`reasoningEngines`. Fields are accepted in camelCase and in snake_case. Send the API key as
`Authorization: Bearer KEY` or as `x-goog-api-key: KEY`.
"""


def create_app(resources: Resources) -> FastAPI:
    """Build the application over a process's resources."""
    settings = resources.settings
    app = FastAPI(
        title="Open Memory Bank",
        version=version("open-memory-bank"),
        description=_DESCRIPTION,
        docs_url=None,
        openapi_url=None,
        redoc_url=None,
        redirect_slashes=False,
        # Its records of failed requests would hold what was sent, and its look for a receiver
        # costs every request.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
        middleware=_middleware(settings),
        dependencies=[
            Security(HTTPBearer(auto_error=False)),
            Security(APIKeyHeader(name="x-goog-api-key", auto_error=False)),
        ],
    )
    app.state.resources = resources
    app.state.gauges = _gauges(resources)
    tokens = TokenService.of(settings, resources.clock)
    readers = MetricsReaders.of(resources)
    app.state.authenticator = AccessService(resources.db, resources.clock, tokens, readers)
    app.state.gate = _gate(resources)
    resources.response_readers.update(_readers(resources))
    _watch_events(resources)
    errors.install(app)
    for router in _ROUTERS:
        app.include_router(router)
    app.mount(docs.ASSETS_PATH, docs.assets())
    app.state.routes = [route for router in _ROUTERS for route in router.routes]
    served = [route.path for route in app.state.routes]
    app.state.paths = Paths([*served, docs.ASSETS_FORM, *REWRITTEN])
    dispatch = Dispatch(
        (route for route in app.state.routes if isinstance(route, AdmittedRoute)),
        app.router.middleware_stack,
    )
    app.router.middleware_stack = dispatch
    app.openapi = lambda: openapi(app)  # type: ignore[method-assign]  # as FastAPI's guide has it
    return app


def _middleware(settings: Settings) -> list[Middleware]:
    """Return what every request passes, the outermost first."""
    pace = Pace(settings.body_seconds, settings.body_min_bytes_per_second)
    return [
        Middleware(RequestLog),
        Middleware(Hosts, settings.allowed_hosts),
        Middleware(Origins, settings.cors_origins),
        Middleware(Faults),
        Middleware(CanonicalPath),
        Middleware(QueryNames),
        Middleware(Authentication),
        Middleware(PlainBody),
        Middleware(JsonBody, settings.max_body_bytes, pace),
    ]


def create_metrics_app(resources: Resources) -> FastAPI:
    """Build what is served beside the application, without a key: health and metrics."""
    return create_probes(resources, _gauges(resources))


def _readers(resources: Resources) -> dict[str, ResponseReader]:
    """Name what fills the answers of operations, by the kinds of those whose answers need it."""
    return {
        **dict.fromkeys(_WITH_MEMORY, MemoryService.of(resources).read_response),
        BATCH_CREATE: BulkService.of(resources).read_response,
        "sessions.create": SessionService.of(resources).read_response,
        PREVIEW: partial(read_preview, clock=resources.clock),
    }


def _watch_events(resources: Resources) -> None:
    """Have summaries follow the events of sessions; once, however many applications there are."""
    watch = Watch(resources.settings)
    resources.event_listeners[:] = [watch.appended]
    resources.event_erasers[:] = [watch.erased]


def _gate(resources: Resources) -> Gate:
    """Build what stands before every route."""
    return Gate(
        directory=Directory(resources.db),
        limits=LimitService(resources.db, resources.clock, resources.settings),
        auditor=AuditService.of(resources),
        audits_reads=resources.settings.audit_reads,
    )


def _gauges(resources: Resources) -> GaugeRefresh:
    """Name whose gauges are read from the database when the metrics are asked for."""
    refreshers = {
        "operations": operation_metrics.refresh,
        "ingestion": ingestion_metrics.refresh,
        "embedding": reembedding_metrics.refresh,
    }
    bound = {source: partial(refresh, resources) for source, refresh in refreshers.items()}
    return GaugeRefresh(resources.clock, {DATABASE: partial(ping, resources.db), **bound})


def openapi(app: FastAPI) -> dict[str, Any]:
    """Return the document of the API."""
    if app.openapi_schema is None:
        found = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        app.openapi_schema = tidied(found)
    return app.openapi_schema
