"""Liveness and readiness, for probes. The only routes without a key."""

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
    """What a probe is told."""

    status: str = Field(examples=[_READY])
    checks: dict[str, str] = Field(default_factory=dict, examples=[{"database": _READY}])


@router.head(PATHS[0], include_in_schema=False)
@router.get(PATHS[0], summary="Liveness", operation_id="getHealth")
async def get_health() -> Health:
    """Answer as long as the process can."""
    return Health(status=_READY)


@router.head(PATHS[1], include_in_schema=False)
@router.get(
    PATHS[1],
    summary="Readiness",
    operation_id="getReadiness",
    responses={503: ERROR_RESPONSES[503]},
)
async def get_readiness(resources: ProcessResources) -> Health:
    """Answer 200 when the database with its schema, writes and the embedder work, else 503."""
    checks = {
        **await _readiness(resources).checks(),
        "embedder": _READY if resources.embedder.ready else "loading",
    }
    if any(state != _READY for state in checks.values()):
        raise Unavailable("Not ready.", Reason.NOT_READY, metadata=checks, retry_after_seconds=1)
    model = resources.embedder.model_id
    note = " (lexical only)" if resources.embedder.lexical_only else ""
    # `model` is the embedder's, too: there was no other when it got its name.
    told = {
        "embedder": model + note,
        "languages": resources.embedder.languages,
        "model": model + note,
        "writer": resources.models.writer,
    }
    return Health(status=_READY, checks={**checks, **_clock_check(resources), **told})


def _clock_check(resources: Resources) -> dict[str, str]:
    """Return how right the process's clock is: what is served goes by the database's anyway."""
    skew = resources.skew
    if skew.found is None:
        return {}
    return {"clock": str(skew) if skew.is_too_large else _READY}


def _readiness(resources: Resources) -> Readiness:
    found: Readiness | None = resources.kept.get(Readiness)
    if found is None:
        found = resources.kept[Readiness] = Readiness(resources.db, resources.clock)
    return found
