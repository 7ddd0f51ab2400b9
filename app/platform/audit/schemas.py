"""The wire form of the audit log; its methods are this service's own."""

from pydantic import Field

from app.kernel.wire.base import WireModel
from app.kernel.wire.scalars import Timestamp
from app.platform.audit.store import AuditEventRow, ServiceEventRow

_ENGINES = "/reasoningEngines/"


class AuditEvent(WireModel):
    """An audited action: caller, method, resource, time, address and result, without content."""

    name: str = Field(description="Name of the event, below its engine if it has one.")
    create_time: Timestamp = Field(description="Time at which the request or the operation ended.")
    caller: str | None = Field(
        None,
        description="Id of the API key; `jwt:` and the subject, of a token; `command-line`;"
        " absent: the service itself.",
    )
    method: str = Field(
        description="Method of the API, or the kind of the operation that has ended.",
        examples=["createMemory"],
    )
    resource: str | None = Field(
        None,
        description="Name of the method's target, or of the resource created; where a generation"
        " read a session of another engine, that engine, and in its own log the session. Path parts"
        " that cannot be an id are `?`.",
    )
    operation: str | None = Field(None, description="Name of the long-running operation.")
    address: str | None = Field(None, description="IP address of the caller.")
    request_id: str | None = Field(
        None, description="Id of the request, as in `x-request-id` and in the log."
    )
    result: str = Field(
        description="Name of the canonical code.", examples=["OK", "PERMISSION_DENIED"]
    )
    reason: str | None = Field(None, description="Reason of the error.")
    replayed: bool | None = Field(
        None, description="True: a repeated request that got its first response again."
    )
    surface: str | None = Field(
        None, description="Interface that sent the request; absent: the API itself."
    )

    @classmethod
    def from_row(cls, row: AuditEventRow | ServiceEventRow) -> "AuditEvent":
        """Build the wire form."""
        return cls(
            name=_name(row),
            create_time=row.create_time,
            caller=row.caller,
            method=row.method,
            resource=row.resource,
            operation=row.operation,
            address=row.address,
            request_id=row.request_id,
            result=row.result,
            reason=row.reason,
            replayed=row.replayed or None,
            surface=row.surface,
        )


def _name(row: AuditEventRow | ServiceEventRow) -> str:
    own = f"auditEvents/{row.event_id}"
    if not row.engine_id:
        return own
    location, below, _ = (row.resource or "").partition(_ENGINES)
    engine = f"reasoningEngines/{row.engine_id}"
    return f"{location}/{engine}/{own}" if below else f"{engine}/{own}"


class ListAuditEventsResponse(WireModel):
    """A page of events, newest first."""

    audit_events: list[AuditEvent] = Field(description="The events of this page.")
    next_page_token: str | None = Field(
        None, description="Token of the next page, for `pageToken`; absent on the last page."
    )
