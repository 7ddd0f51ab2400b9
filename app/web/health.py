"""Liveness and readiness probes, the only routes without a key."""

from fastapi import APIRouter
from pydantic import BaseModel, Field

from app.adapters.db.readiness import Readiness
from app.adapters.resources import Resources
from app.kernel.errors import Reason, Unavailable
from app.web.context import ProcessResources
from app.web.errors import ERROR_RESPONSES

router = APIRouter(tags=["service"])

PATHS = ("/healthz", "/readyz")
_READY = "ok"


class Health(BaseModel):
    """The answer to a probe."""

    status: str = Field(examples=[_READY])
    checks: dict[str, str] = Field(default_factory=dict, examples=[{"database": _READY}])


@router.head(PATHS[0], include_in_schema=False)
@router.get(PATHS[0], summary="Liveness", operation_id="getHealth")
async def get_health() -> Health:
    """Return 200 while the process can answer."""
    return Health(status=_READY)


@router.head(PATHS[1], include_in_schema=False)
@router.get(
    PATHS[1],
    summary="Readiness",
    operation_id="getReadiness",
    responses={503: ERROR_RESPONSES[503]},
)
async def get_readiness(resources: ProcessResources) -> Health:
    """Return 200 if the database (schema and writes) and the embedder work, else 503."""
    checks = {
        **await _readiness(resources).checks(),
        "embedder": _READY if resources.embedder.ready else "loading",
    }
    if any(state != _READY for state in checks.values()):
        raise Unavailable("Not ready.", Reason.NOT_READY, metadata=checks, retry_after_seconds=1)
    model = resources.embedder.model_id
    note = " (lexical only)" if resources.embedder.lexical_only else ""
    # `model` is the embedder's as well: it was the only model when the field got its name.
    models = {
        "embedder": model + note,
        "languages": resources.embedder.languages,
        "model": model + note,
        "writer": resources.models.writer,
    }
    return Health(status=_READY, checks={**checks, **_clock_check(resources), **models})


def _clock_check(resources: Resources) -> dict[str, str]:
    """Return the accuracy of the process's clock; requests use the database's clock anyway."""
    skew = resources.skew
    if skew.found is None:
        return {}
    return {"clock": str(skew) if skew.is_too_large else _READY}


def _readiness(resources: Resources) -> Readiness:
    readiness: Readiness | None = resources.kept.get(Readiness)
    if readiness is None:
        readiness = resources.kept[Readiness] = Readiness(resources.db, resources.clock)
    return readiness
