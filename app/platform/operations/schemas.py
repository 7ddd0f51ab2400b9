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

    name: str = Field(description="Full name of the operation.")
    metadata: dict[str, Any] = Field(description="`genericMetadata` and what the work reports.")
    done: bool = Field(False, description="False: it waits or runs; ask again later.")
    response: dict[str, Any] | None = Field(
        None,
        description="What the work gave, by its `@type`; absent until it is done, or if it failed.",
    )
    error: dict[str, Any] | None = Field(None, description="A google.rpc.Status.")

    @classmethod
    def from_row(cls, row: OperationRow, response: Mapping[str, Any] | None = None) -> "Operation":
        """Build the wire form; `response` replaces the stored one, which holds names only."""
        times = {
            "createTime": format_timestamp(row.create_time),
            "updateTime": format_timestamp(row.update_time),
        }
        return cls(
            name=row.name,
            metadata={**row.details, "genericMetadata": times},
            done=OperationState(row.state).is_final,
            response=dict(response or row.response) if row.response is not None else None,
            error=row.error,
        )


class ListOperationsResponse(WireModel):
    """A page of operations, newest first."""

    operations: list[Operation] = Field(description="The operations of this page.")
    next_page_token: str | None = Field(
        None, description="Token of the next page, for `pageToken`; absent on the last page."
    )
