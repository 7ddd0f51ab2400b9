"""Creates the bank of memories for the tools of a request."""

from collections.abc import Mapping

from starlette.requests import Request

from app.adapters.inprocess import InProcess
from app.adapters.logs import request_id as id_of_request
from app.adapters.resources import Resources
from app.kernel.auth import EngineDirectory
from app.kernel.errors import (
    Aborted,
    DeadlineExceeded,
    FailedPrecondition,
    Internal,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    Reason,
    ResourceExhausted,
    ServiceError,
    Unauthenticated,
    Unavailable,
)
from app.kernel.names import EngineName
from app.surfaces.api import Api, ApiRefusal
from app.surfaces.tools.bank import Bank
from app.web.headers import address_of

_ERRORS: Mapping[int, type[ServiceError]] = {
    400: InvalidArgument,
    401: Unauthenticated,
    403: PermissionDenied,
    404: NotFound,
    409: Aborted,
    412: FailedPrecondition,
    429: ResourceExhausted,
    503: Unavailable,
    504: DeadlineExceeded,
}


async def check_engine(request: Request, engine: EngineName) -> None:
    """Check that the caller of a request may access the named engine.

    Raises:
        NotFound: it does not exist in this project and location, or the caller has no access.
    """
    directory: EngineDirectory = request.app.state.gate.directory
    location = await directory.location_of(engine.engine, request.state.caller.reach)
    if location is None or not engine.is_named(f"{location}/reasoningEngines/{engine.engine}"):
        raise NotFound.of(f"reasoningEngines/{engine.engine}")


def open_bank(
    request: Request,
    engine: str,
    scope: Mapping[str, str],
    surface: str,
    *,
    request_id: str | None = None,
    session: str | None = None,
    exclude_recent: int = 0,
) -> Bank:
    """Return the bank that a tool uses on behalf of a request's caller.

    Args:
        request: the caller's request.
        engine: the path of the engine.
        scope: the scope of the memories.
        surface: the names of the interface and the tool in the audit log.
        request_id: the caller's request id, if a repeated call shall be idempotent.
        session: the current conversation, if the application named it.
        exclude_recent: the number of its newest events that are not searched.
    """
    resources: Resources = request.app.state.resources
    calls = InProcess(
        application=request.app,
        caller=request.state.caller,
        surface=surface,
        host=request.headers.get("host", ""),
        address=address_of(request.scope),
        request_id=id_of_request() or "",
        is_given_up=request.is_disconnected,
    )
    wait = resources.settings.tuning.mcp_wait_seconds
    return Bank(Api(calls, calls.host), engine, scope, wait, request_id, session, exclude_recent)


def as_service_error(refused: ApiRefusal) -> ServiceError:
    """Convert a refusal of the API to an error of the request that called it."""
    metadata: dict[str, str] = {}
    delay = None
    for detail in refused.details:
        metadata.update(detail["metadata"] or {})
        if detail["retryDelay"] is not None:
            delay = float(str(detail["retryDelay"]).removesuffix("s"))
    error = _ERRORS.get(refused.status, Internal)
    return error(
        refused.message,
        Reason(refused.reason or Reason.INTERNAL),
        metadata=metadata,
        retry_after_seconds=delay,
    )
