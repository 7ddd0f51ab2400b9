"""Health and metrics without a key, on a separate port reachable only from the machine itself."""

from fastapi import FastAPI
from prometheus_client import REGISTRY
from starlette.middleware import Middleware

from app.adapters.resources import Resources
from app.web import errors, health
from app.web.auth import METRICS_PATH
from app.web.metrics import GaugeRefresh, get_metrics
from app.web.middleware import Faults, RequestLog
from app.web.unknown import Paths


def create_probes(resources: Resources, gauges: GaugeRefresh) -> FastAPI:
    """Build the application that serves only probes and metrics."""
    app = FastAPI(
        docs_url=None,
        openapi_url=None,
        redoc_url=None,
        redirect_slashes=False,
        # As in the main application: no request data is recorded elsewhere.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
        middleware=[Middleware(RequestLog), Middleware(Faults)],
    )
    app.state.resources = resources
    app.state.gauges = gauges
    app.state.registry = REGISTRY
    app.state.routes = health.router.routes
    app.state.paths = Paths([*health.PATHS, METRICS_PATH])
    errors.install(app)
    app.include_router(health.router)
    app.add_route(METRICS_PATH, get_metrics, methods=["GET"])
    return app
