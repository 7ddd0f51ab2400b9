"""The HTTP application: the routes of all features, the error handlers and the middleware."""

import re
from functools import partial
from typing import Any

from fastapi import APIRouter, FastAPI, Security
from fastapi.openapi.utils import get_openapi
from fastapi.security import APIKeyHeader, HTTPBearer
from starlette.middleware import Middleware
from starlette.types import ASGIApp

from app.adapters.db.readiness import ping
from app.adapters.db.size import DatabaseSize
from app.adapters.metrics import registry_of_port
from app.adapters.resources import Resources
from app.kernel.release import RELEASE
from app.platform.access.services.access import AccessService, open_tokens
from app.platform.access.services.lookups import MetricsReaders
from app.platform.audit.service import AuditService
from app.platform.engines.services.engine_cache import Directory, RestoringEngines
from app.platform.limits.services.limits import LimitService
from app.process.features import FEATURES, register
from app.process.operation_types import with_operation_types
from app.settings.settings import Settings
from app.surfaces.mcp import paths
from app.surfaces.mcp.paths import McpPaths
from app.web import docs, errors, health, metrics, unserved
from app.web.admission import Gate
from app.web.answers import Answers
from app.web.auth import Authentication
from app.web.body import BodyPace, BodyRoutes, JsonBody
from app.web.docs import tidied
from app.web.errors import REWRITTEN, Paths
from app.web.headers import Dispatch, Late, Mount, nowhere
from app.web.metrics import DATABASE, GaugeRefresh, Refresher
from app.web.middleware import Faults, Hosts, NoNul, Origins, PlainBody, RequestLog
from app.web.paths import CanonicalPath
from app.web.query import QueryNames
from app.web.routing import AdmittedRoute

_ROUTERS: tuple[APIRouter, ...] = (
    health.router,
    metrics.router,
    docs.router,
    docs.home_router,
    *(router for feature in FEATURES for router in feature.routers),
    unserved.router,
)
_ROUTES = [route for router in _ROUTERS for route in router.routes]
# Paths with a verb come first, because a route with an id at its end would match them too.
_ADMITTED = sorted(
    (route for route in _ROUTES if isinstance(route, AdmittedRoute)),
    key=lambda route: ":" not in route.path,
)
_DOCUMENT: dict[str, Any] = {}
_DESCRIPTION = """\
A self-hosted memory service for AI agents that speaks the Memory Bank API.

Paths are documented under `/v1beta1/projects/{project}/locations/{location}`. `/v1` is an alias of
`/v1beta1`, and `memoryBanks` of `reasoningEngines`. The `projects/.../locations/...` part is
optional. Fields are accepted in camelCase and in snake_case. Send the API key as
`Authorization: Bearer KEY` or as `x-goog-api-key: KEY`.
"""


def create_app(resources: Resources) -> FastAPI:
    """Build the application on a process's resources."""
    settings = resources.settings
    app = FastAPI(
        title="Open Memory Bank",
        version=RELEASE,
        description=_DESCRIPTION,
        docs_url=None,
        openapi_url=None,
        redoc_url=None,
        redirect_slashes=False,
        # Records of failed requests would contain request bodies, and the search for a collector
        # costs time in every request.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
        middleware=_middleware(settings),
        dependencies=[
            Security(HTTPBearer(auto_error=False)),
            Security(APIKeyHeader(name="x-goog-api-key", auto_error=False)),
        ],
    )
    app.state.resources = resources
    app.state.gauges = _gauges(resources)
    app.state.registry = registry_of_port()
    tokens = open_tokens(settings, resources.clock)
    readers = MetricsReaders.of(resources)
    app.state.authenticator = AccessService(resources.db, resources.clock, tokens, readers)
    app.state.gate = _gate(resources)
    register(resources)
    errors.install(app)
    for router in _ROUTERS:
        app.include_router(router)
    app.mount(docs.ASSETS_PATH, docs.assets())
    app.state.routes = _ROUTES
    served = [getattr(route, "path", "") for route in _ROUTES]
    app.state.paths = Paths([*served, docs.ASSETS_FORM, *REWRITTEN])
    app.router.middleware_stack = Dispatch(_ADMITTED, app.router.middleware_stack)
    app.openapi = lambda: openapi(app)  # type: ignore[method-assign]  # as FastAPI's guide has it
    return app


def _middleware(settings: Settings) -> list[Middleware]:
    pace = BodyPace(settings.tuning.body_seconds, settings.tuning.body_min_bytes_per_second)
    return [
        Middleware(RequestLog),
        Middleware(Hosts, settings.allowed_hosts),
        Middleware(Origins, settings.cors_origins),
        Middleware(Faults),
        Middleware(Mount, docs.CONSOLE, Late(_console) if settings.console else nowhere),
        Middleware(NoNul),
        Middleware(Mount, paths.METADATA_PATH, paths.document(settings)),
        Middleware(McpPaths, settings),
        Middleware(CanonicalPath),
        Middleware(QueryNames),
        Middleware(Authentication),
        Middleware(Answers),
        Middleware(PlainBody),
        Middleware(JsonBody, settings.max_body_bytes, pace, _bodies()),
    ]


def _console() -> ASGIApp:
    # Imported late, because the templates take a second to compile.
    from app.surfaces.console.app import Console  # noqa: PLC0415 - costly import

    return Console()


def create_metrics_app(resources: Resources) -> FastAPI:
    """Build the application that serves health and metrics without a key."""
    return health.create_probes(resources, _gauges(resources))


def _bodies() -> BodyRoutes:
    """Return the routes that read their bodies themselves, and those that replace characters."""
    streamed = [form for route in _ADMITTED if route.demand.is_streamed for form in _forms(route)]
    said = [
        (re.compile("|".join(_forms(route))), route.demand.said)
        for route in _ADMITTED
        if route.demand.said
    ]
    return BodyRoutes(re.compile("|".join(streamed)), said)


def _forms(route: AdmittedRoute) -> list[str]:
    path = re.sub(r"\\{\w+\\}", "[^/]+", re.escape(route.path))
    return [f"{method} .*{path}" for method in route.methods or ()]


def _gate(resources: Resources) -> Gate:
    return Gate(
        directory=Directory(resources.db, RestoringEngines.of(resources)),
        limits=LimitService(resources.db, resources.clock, resources.settings),
        auditor=AuditService.of(resources),
        audits_reads=resources.settings.audit_reads,
    )


def _gauges(resources: Resources) -> GaugeRefresh:
    refreshers = {
        source: partial(refresh, resources)
        for feature in FEATURES
        for source, refresh in feature.gauges.items()
    }
    of_database: dict[str, Refresher] = {
        # The pool comes first, because the other refreshers use connections themselves.
        "pool": resources.db.show_pool,
        DATABASE: partial(ping, resources.db),
        "size": DatabaseSize(resources.db, resources.clock).refresh,
    }
    return GaugeRefresh(resources.clock, {**of_database, **refreshers})


def openapi(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document; it is cached, since all applications have the same routes."""
    if not _DOCUMENT:
        document = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        _DOCUMENT.update(tidied(with_operation_types(document)))
    return _DOCUMENT
