"""Liveness and readiness probes, the only routes without a key, and the port for these alone."""

import asyncio

from fastapi import APIRouter, FastAPI
from prometheus_client import REGISTRY
from pydantic import BaseModel, Field
from starlette.middleware import Middleware

from app.adapters.db.readiness import STANDBY, Readiness
from app.adapters.resources import Check, Resources
from app.kernel.errors import Reason, ServiceError, Unavailable
from app.language.heads import MODEL_ID
from app.web import errors
from app.web.auth import METRICS_PATH
from app.web.context import ProcessResources
from app.web.errors import ERROR_RESPONSES, Paths
from app.web.metrics import GaugeRefresh, get_metrics
from app.web.middleware import Faults, RequestLog

router = APIRouter(tags=["service"])

PATHS = ("/healthz", "/readyz")
_READY = "ok"
_DEGRADED = "degraded"
_CHECK_SECONDS = 5.0
"""Time limit for the checks of features; without an answer, their state is unknown."""


class Health(BaseModel):
    """The response to a probe."""

    status: str = Field(
        examples=[_READY],
        description="`ok`; `degraded`: a standby serves reads, and writes fail; any other state"
        " is an error response.",
    )
    checks: dict[str, str] = Field(
        default_factory=dict,
        examples=[{"database": _READY}],
        description="State of each part, by name: `ok`, or the problem.",
    )


@router.head(PATHS[0], include_in_schema=False)
@router.get(
    PATHS[0],
    summary="Liveness",
    operation_id="getHealth",
    responses={503: ERROR_RESPONSES[503]},
)
async def get_health(resources: ProcessResources) -> Health:
    """Return 200 while the process responds and its worker, if it has one, looks for work."""
    if not resources.registry.is_working():
        seconds = resources.settings.tuning.worker_hung_seconds
        message = f"The worker has not looked for work for {seconds:g} seconds."
        raise Unavailable(message, Reason.NOT_READY, retry_after_seconds=1)
    return Health(status=_READY)


@router.head(PATHS[1], include_in_schema=False)
@router.get(
    PATHS[1],
    summary="Readiness",
    operation_id="getReadiness",
    responses={503: ERROR_RESPONSES[503]},
)
async def get_readiness(resources: ProcessResources) -> Health:
    """Return 200 if the database (schema and writes) and the embedder work, else 503.

    `workers` counts workers with a heartbeat within 30 seconds; 0 causes a 503 only if
    `MEMORY_BANK_REQUIRE_WORKER` is set. The status `degraded` is also 200: the primary is
    unavailable, a standby serves reads, and a balancer must still send them. The check `degraded`
    lists nodes of a distributed database that do not respond; engines of other nodes are served.
    """
    checks = {
        **await _readiness(resources).checks(),
        "embedder": _READY if resources.embedder.ready else "loading",
    }
    if checks["database"] == STANDBY and resources.embedder.ready:
        return Health(status=_DEGRADED, checks=checks)
    if any(state != _READY for state in checks.values()):
        raise _not_ready(checks)
    added = {**_clock_check(resources), **await _feature_checks(resources)}
    if lost := await _readiness(resources).lost_nodes():
        added["degraded"] = Check(lost, is_passed=True)
    checks |= {name: check.state for name, check in added.items()}
    if not all(check.is_passed for check in added.values()):
        raise _not_ready(checks)
    model = resources.embedder.model_id
    note = " (lexical only)" if resources.embedder.lexical_only else ""
    is_judged = resources.models.default is not None or model == MODEL_ID
    # `model` names the embedder as well: it was the only model when the field was introduced.
    models = {
        "embedder": model + note,
        "languages": resources.embedder.languages,
        "model": model + note,
        "writer": resources.models.writer + ("" if is_judged else " (rules alone)"),
    }
    return Health(status=_READY, checks={**checks, **models})


def _not_ready(checks: dict[str, str]) -> Unavailable:
    return Unavailable("Not ready.", Reason.NOT_READY, metadata=checks, retry_after_seconds=1)


def _clock_check(resources: Resources) -> dict[str, Check]:
    # Requests use the database's clock in any case.
    skew = resources.skew
    if skew.found is None:
        return {}
    if skew.is_too_large:
        return {"clock": Check(str(skew), is_passed=not resources.registry.needs_right_clock)}
    return {"clock": Check(_READY, is_passed=True)}


async def _feature_checks(resources: Resources) -> dict[str, Check]:
    checks = resources.registry.checks
    try:
        async with asyncio.timeout(_CHECK_SECONDS):
            return {name: await check() for name, check in checks.items()}
    except (ServiceError, TimeoutError):
        return dict.fromkeys(checks, Check("unknown", is_passed=False))


def _readiness(resources: Resources) -> Readiness:
    readiness: Readiness | None = resources.kept.get(Readiness)
    if readiness is None:
        readiness = resources.kept[Readiness] = Readiness(resources.db, resources.clock)
    return readiness


def create_probes(resources: Resources, gauges: GaugeRefresh) -> FastAPI:
    """Build the application that serves only probes and metrics, for a port of this machine."""
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
    app.state.routes = router.routes
    app.state.paths = Paths([*PATHS, METRICS_PATH])
    errors.install(app)
    app.include_router(router)
    app.add_route(METRICS_PATH, get_metrics, methods=["GET"])
    return app
