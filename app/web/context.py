"""Request contexts for routes: the caller, the resources within its reach, the request id."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Annotated, Any

from fastapi import Depends, Header, Query, Request

from app.adapters.db.session import Session, noted
from app.adapters.inprocess import SURFACE
from app.adapters.resources import Resources
from app.kernel.audit import Auditor
from app.kernel.auth import Caller
from app.kernel.changes import IdempotencyKey, digest_of
from app.kernel.errors import InvalidArgument
from app.kernel.permissions import Permission
from app.web.admission import require

MAX_REQUEST_ID_CHARS = 128


@dataclass(frozen=True)
class RequestContext:
    """The caller of a request, and the resources of the process within the caller's reach."""

    resources: Resources
    caller: Caller

    def require(self, permission: Permission) -> None:
        """Check a permission that only some requests of a method need."""
        require(self.caller, permission)


async def _resources(request: Request) -> Resources:
    resources: Resources = request.app.state.resources
    return resources


ProcessResources = Annotated[Resources, Depends(_resources)]


async def _context(request: Request) -> RequestContext:
    resources: Resources = request.app.state.resources
    caller: Caller = request.state.caller
    before_commit = audit = None
    if request.state.demand.is_change:
        auditor: Auditor = request.app.state.gate.auditor
        before_commit = partial(_ended, request, auditor)
        audit = partial(_audit_row, request, auditor)
    db = resources.db.for_caller(caller, before_commit, audit)
    # The first part of the name in the audit log: "mcp" of "mcp/remember".
    surface = request.scope.get(SURFACE, "").partition("/")[0] or None
    return RequestContext(replace(resources, db=db, surface=surface), caller)


def _audit_row(request: Request, auditor: Auditor, names: Mapping[str, str]) -> dict[str, Any]:
    _log_operation(request, names)
    return auditor.columns(request.state.audited, names)


def _log_operation(request: Request, names: Mapping[str, str]) -> None:
    if "operation" in names:
        # Only its id: the rest of the name may hold an id chosen by a caller.
        request.state.logged["operation"] = names["operation"].rpartition("/")[2]


async def _ended(request: Request, auditor: Auditor, session: Session) -> None:
    # An earlier request may have made the change.
    request.state.is_replayed = "replayed" in noted(session)
    _log_operation(request, noted(session))
    await auditor.record(session, audited=request.state.audited)


Context = Annotated[RequestContext, Depends(_context)]


@dataclass(frozen=True)
class MutationContext(RequestContext):
    """The context of a request that makes changes."""

    request_id: str | None
    method: str
    path: str

    def once(
        self, body: Mapping[str, Any] | Callable[[], Mapping[str, Any]]
    ) -> IdempotencyKey | None:
        """Bind the caller's request id, if any, to the request: method, path and `body`.

        Pass a long body as a function: it is only called if there is a request id.
        """
        if self.request_id is None:
            return None
        body = body() if callable(body) else body
        return IdempotencyKey(
            caller=self.caller.identity,
            request_id=self.request_id,
            request_hash=digest_of([self.method, self.path, body]),
            keep=timedelta(seconds=self.resources.settings.idempotency_seconds),
        )


async def _mutation(
    request: Request,
    context: Context,
    request_id: Annotated[
        str | None,
        Query(
            alias="requestId",
            description="The same id with the same request within 24 hours gets the first"
            " response again, without a second execution. The id with another request: 409.",
            json_schema_extra={"maxLength": MAX_REQUEST_ID_CHARS},
        ),
    ] = None,
    idempotency_key: Annotated[
        str | None, Header(description="Header form of `requestId`.")
    ] = None,
) -> MutationContext:
    if request_id and idempotency_key and request_id != idempotency_key:
        raise InvalidArgument.of_field(
            "requestId", "differs from the Idempotency-Key header; send one of them."
        )
    # Generated clients send an empty id if they have none.
    chosen = request_id or idempotency_key or None
    if chosen is not None and not (chosen.isprintable() and len(chosen) <= MAX_REQUEST_ID_CHARS):
        raise InvalidArgument.of_field(
            "requestId", f"must have at most {MAX_REQUEST_ID_CHARS} printable characters."
        )
    return MutationContext(
        context.resources, context.caller, chosen, request.method, request.url.path
    )


Mutation = Annotated[MutationContext, Depends(_mutation)]
