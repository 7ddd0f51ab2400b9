"""The wire form of operations.

Source: google.longrunning.Operation; the metadata types are those of the Memory Bank API.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from app.kernel.wire.base import WireModel
from app.kernel.wire.scalars import format_timestamp
from app.platform.operations.logic.states import OperationState
from app.platform.operations.store.tables import OperationRow


class Operation(WireModel):
    """A long-running operation. When done, it has either `response` or `error`."""

    name: str
    metadata: dict[str, Any] = Field(
        description="What the work reports, and of every operation: `genericMetadata` (its times);"
        " `kind`; `state` (`PENDING`, `RUNNING`, `SUCCEEDED`, `FAILED` or `CANCELLED`);"
        " `attemptCount`, the runs since the work last got on (0: it was done within its request,"
        " or has not run); `startTime` of its first run, if it ran apart from its request;"
        " `caller`, the id of the key that asked for it, `jwt:` with the subject of a token, or"
        " `command-line` (absent: the service itself)."
    )
    done: bool = False
    response: dict[str, Any] | None = None
    error: dict[str, Any] | None = Field(None, description="A google.rpc.Status.")

    @classmethod
    def from_row(cls, row: OperationRow, response: Mapping[str, Any] | None = None) -> "Operation":
        """Build the wire form; `response` replaces the stored one, which holds names only."""
        return cls(
            name=row.name,
            metadata={**row.details, **_of_every(row)},
            done=OperationState(row.state).is_final,
            response=dict(response or row.response) if row.response is not None else None,
            error=row.error,
        )


def _of_every(row: OperationRow) -> dict[str, Any]:
    """Return the metadata that every operation has, whatever its kind."""
    told: dict[str, Any] = {
        "kind": row.kind,
        "state": row.state,
        "attemptCount": row.attempts,
        "genericMetadata": {
            "createTime": format_timestamp(row.create_time),
            "updateTime": format_timestamp(row.update_time),
        },
    }
    if row.start_time is not None:
        told["startTime"] = format_timestamp(row.start_time)
    if row.caller is not None:
        told["caller"] = row.caller
    return told


class ListOperationsResponse(WireModel):
    """A page of operations, newest first."""

    operations: list[Operation]
    next_page_token: str | None = None
