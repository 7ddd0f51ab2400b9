"""Routes of the audit log of the whole service. Engines have a route for their own log."""

from fastapi import Response

from app.kernel.permissions import Permission
from app.platform.audit.schemas import AuditEvent, ListAuditEventsResponse
from app.platform.audit.service import AuditService
from app.web.answers import documented, ndjson
from app.web.context import Context
from app.web.demands import LIST, WORK, Demand
from app.web.paths import SERVICE
from app.web.query import Filter, Page
from app.web.routing import Router

router = Router(
    "audit",
    demands={
        "listAllAuditEvents": Demand(Permission.AUDIT_LIST_ALL, LIST),
        "exportAllAuditEvents": Demand(Permission.AUDIT_LIST_ALL, WORK, is_costly=True),
    },
)

_COLLECTION = SERVICE + "/auditEvents"


@router.get(_COLLECTION, summary="List all audit events", operation_id="listAllAuditEvents")
async def list_all(
    context: Context,
    page: Page,
    filter: Filter = None,  # noqa: A002 - the name on the wire
) -> ListAuditEventsResponse:
    """List the audit events of all engines and of no engine, newest first.

    Events of deleted engines are included. Filter as in an engine's list, and by `engine`, which is
    0 for events without one.
    """
    return await AuditService.of(context.resources).list_events(None, filter, page)


@router.get(
    _COLLECTION + ":export",
    summary="Export all audit events",
    operation_id="exportAllAuditEvents",
    response_class=Response,
    responses=documented(AuditEvent),
)
async def export_all(
    context: Context,
    filter: Filter = None,  # noqa: A002 - the name on the wire
) -> Response:
    """Export all audit events until now, oldest first, one event a line."""
    return await ndjson(AuditService.of(context.resources).export(None, filter))
