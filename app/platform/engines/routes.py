"""Routes of engines. Source: wire specification, sections 3.2 and 12."""

from fastapi import Response

from app.kernel.permissions import Permission
from app.kernel.wire.base import Empty
from app.platform.audit.schemas import AuditEvent, ListAuditEventsResponse
from app.platform.audit.service import AuditService
from app.platform.engines.schemas import (
    ListReasoningEnginesResponse,
    ReasoningEngine,
    ReasoningEngineRequest,
)
from app.platform.engines.services.engines import EngineService
from app.platform.engines.store import repository
from app.platform.operations.schemas import (
    BatchRetryOperationsRequest,
    GroupFailuresResponse,
    ListOperationsResponse,
    Operation,
)
from app.platform.operations.services import batch_retry
from app.platform.operations.services.operations import OperationService, retried_kinds
from app.web.answers import documented, ndjson
from app.web.context import Context, Mutation
from app.web.demands import LIST, WORK, Demand, change
from app.web.headers import NODES_AWAY, IfMatch, etag_of
from app.web.names import EnginePath, LocationPath
from app.web.paths import ENGINE, PREFIX
from app.web.query import Filter, Page, UpdateMask
from app.web.routing import Router

router = Router(
    "engines",
    demands={
        "createReasoningEngine": change(Permission.ENGINES_CREATE),
        "listReasoningEngines": Demand(Permission.ENGINES_LIST, LIST),
        "getReasoningEngine": Demand(Permission.ENGINES_GET, even_restoring=True),
        "updateReasoningEngine": change(Permission.ENGINES_UPDATE),
        "validateReasoningEngine": Demand(Permission.ENGINES_UPDATE),
    },
)
children = Router(
    demands={
        "listOperations": Demand(Permission.OPERATIONS_LIST, LIST),
        # And permission to generate; other kinds are left out without permission for their method.
        "batchRetryOperations": change(Permission.OPERATIONS_LIST, WORK, is_costly=True),
        "groupFailures": Demand(Permission.OPERATIONS_LIST, LIST),
        "listAuditEvents": Demand(Permission.AUDIT_LIST, LIST),
        "exportAuditEvents": Demand(Permission.AUDIT_LIST, WORK, is_costly=True),
    },
)
"""Listings below an engine, of features that do not know engines."""

_COLLECTION = PREFIX + "/reasoningEngines"


@router.post(_COLLECTION, summary="Create an engine", operation_id="createReasoningEngine")
async def create_engine(
    context: Mutation, location: LocationPath, body: ReasoningEngineRequest | None = None
) -> Operation:
    """Create an engine, with the configuration of its memory bank."""
    request = body or ReasoningEngineRequest()
    service = EngineService.of(context.resources)
    row = await service.create(
        location, request, context.once(request.sent()), context.caller.reach
    )
    return Operation.from_row(row)


@router.get(_COLLECTION, summary="List engines", operation_id="listReasoningEngines")
async def list_engines(
    context: Context,
    response: Response,
    location: LocationPath,
    page: Page,
    filter: Filter = None,  # noqa: A002 - the name on the wire
) -> ListReasoningEnginesResponse:
    """List the engines of a location, newest first; filter by `display_name`, `labels.k`, times.

    While nodes of a distributed database do not respond, their engines are missing, and the header
    `x-memory-bank-nodes-away` names the nodes.
    """
    service = EngineService.of(context.resources)
    listing, away = await service.list_reachable(location, context.caller.reach, filter, page)
    if away:
        response.headers[NODES_AWAY] = ", ".join(sorted(away))
    return listing


@router.get(ENGINE, summary="Get an engine", operation_id="getReasoningEngine")
async def get_engine(context: Context, name: EnginePath) -> ReasoningEngine:
    """Return an engine with its configuration."""
    async with context.resources.db.snapshot() as session:
        return ReasoningEngine.from_row(await repository.get(session, name, even_restoring=True))


@children.get(
    ENGINE + "/operations",
    summary="List operations",
    operation_id="listOperations",
    tags=["operations"],
)
async def list_operations(
    context: Context,
    engine: EnginePath,
    page: Page,
    filter: Filter = None,  # noqa: A002 - the name on the wire
) -> ListOperationsResponse:
    """List the operations of an engine, newest first, even after the engine was deleted.

    Filter by `name` (or id), `done`, `state`, `retried`, `kind`, `error.code`,
    `error.reason`, `author`, `caller`, `create_time`, `update_time`, `source.session`, `scope` and
    `scope."key"`, all as in `metadata` and `error`, except `retried`: `retried=true` finds the
    failed operations of which a retry has succeeded, or a retry of a retry and so on.
    `retried=false` finds all other operations: also a failed one whose retry waits, has failed, was
    cancelled or has been deleted.
    `scope."user_id"="42"` finds the operations that name this value among their scopes;
    `source.session="123"` finds those that made memories of this session.
    """
    listing = await OperationService.of(context.resources).list_operations(engine, filter, page)
    if not listing.operations and not page.token:
        await _check_engine(context, engine)
    return listing


@children.get(
    ENGINE + "/operations:groupFailures",
    summary="Count failed operations in groups",
    operation_id="groupFailures",
    tags=["operations"],
)
async def group_failures(
    context: Context,
    engine: EnginePath,
    filter: Filter = None,  # noqa: A002 - the name on the wire
) -> GroupFailuresResponse:
    """Count the failed operations of an engine by reason, model and hour of their end.

    The filter has the fields of the list of operations; `retried=false` leaves out the
    failures of which a retry has succeeded. Only the newest 10,000 matches are counted.
    """
    groups = await OperationService.of(context.resources).group_failures(engine, filter)
    if not groups.operation_count:
        await _check_engine(context, engine)
    return groups


@children.post(
    ENGINE + "/operations:batchRetry",
    summary="Retry failed operations",
    operation_id="batchRetryOperations",
    tags=["operations"],
)
async def batch_retry_operations(
    context: Mutation, engine: EnginePath, body: BatchRetryOperationsRequest
) -> Operation:
    """Run the requests of failed operations again, each as a new operation of the caller.

    The operations are chosen at once: those that match `filter`, whose request is kept, which were
    not retried before, and of kinds whose own method the caller may call. A worker then retries
    each as `:retry` does. One that is refused, for example since its request was erased meanwhile,
    is counted and concerns no other. With `validateOnly` they are counted, and nothing runs.
    """
    context.require(Permission.MEMORIES_GENERATE)
    once = context.once(body.sent())
    row = await batch_retry.start(
        context.resources,
        repository.locked(engine),
        body,
        once,
        caller=context.caller,
        kinds=retried_kinds(context.resources, context.caller),
    )
    return Operation.from_row(row)


async def _check_engine(context: Context, engine: EnginePath) -> None:
    async with context.resources.db.snapshot() as session:
        await repository.get(session, engine)


@children.get(
    ENGINE + "/auditEvents",
    summary="List audit events",
    operation_id="listAuditEvents",
    tags=["audit"],
)
async def list_audit_events(
    context: Context,
    engine: EnginePath,
    page: Page,
    filter: Filter = None,  # noqa: A002 - the name on the wire
) -> ListAuditEventsResponse:
    """List the audit events of an engine, newest first.

    Filter by `caller`, `method`, `resource`, `operation`, `result`, `reason`, `address`,
    `request_id` and `create_time`.
    """
    async with context.resources.db.snapshot() as session:
        await repository.get(session, engine)
    return await AuditService.of(context.resources).list_events(engine.engine, filter, page)


@children.get(
    ENGINE + "/auditEvents:export",
    summary="Export audit events",
    operation_id="exportAuditEvents",
    tags=["audit"],
    response_class=Response,
    responses=documented(AuditEvent),
)
async def export_audit_events(
    context: Context,
    engine: EnginePath,
    filter: Filter = None,  # noqa: A002 - the name on the wire
) -> Response:
    """Export the audit events of an engine until now, oldest first, one event a line."""
    async with context.resources.db.snapshot() as session:
        await repository.get(session, engine)
    return await ndjson(AuditService.of(context.resources).export(engine.engine, filter))


@router.patch(ENGINE, summary="Update an engine", operation_id="updateReasoningEngine")
async def update_engine(
    context: Mutation,
    name: EnginePath,
    body: ReasoningEngineRequest | None = None,
    if_match: IfMatch = None,
    update_mask: UpdateMask = None,
) -> Operation:
    """Change the masked fields; without a mask, the fields sent."""
    request = body or ReasoningEngineRequest()
    etag = etag_of(if_match, request.etag)
    once = context.once({"body": request.sent(), "mask": update_mask, "etag": etag})
    row = await EngineService.of(context.resources).update(name, request, update_mask, etag, once)
    return Operation.from_row(row)


@router.post(
    ENGINE + ":validate",
    summary="Validate an engine's update",
    operation_id="validateReasoningEngine",
)
async def validate_engine(
    context: Context,
    name: EnginePath,
    body: ReasoningEngineRequest | None = None,
    update_mask: UpdateMask = None,
) -> Empty:
    """Check the body of an update without a change; return nothing, or the error of the update."""
    request = body or ReasoningEngineRequest()
    await EngineService.of(context.resources).validate(name, request, update_mask)
    return Empty()
