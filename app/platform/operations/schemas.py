"""The wire form of operations.

Source: google.longrunning.Operation; the metadata types are those of the Memory Bank API.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from app.kernel.wire.base import Empty, WireModel
from app.kernel.wire.scalars import Timestamp, format_timestamp
from app.platform.operations.logic.states import OperationState
from app.platform.operations.store.tables import OperationRow


class OperationTimes(WireModel):
    """The times of an operation."""

    create_time: Timestamp = Field(description="When it was asked for.")
    update_time: Timestamp = Field(description="When it last changed.")


class OperationMetadata(WireModel):
    """The account of an operation's work. Each method adds fields of its own."""

    model_config = ConfigDict(alias_generator=to_camel, extra="allow")

    generic_metadata: OperationTimes = Field(description="Its times.")
    validate_only: bool | None = Field(
        None, description="True: it is a preview, and writes nothing."
    )
    author: str | None = Field(None, description="Id of the model that wrote, or `engine`.")
    prompt_version: str | None = Field(
        None, description="Version of the prompts that the model was given."
    )
    model_call_count: int | None = Field(None, description="Requests to models, from 0.")
    input_token_count: int | None = Field(None, description="Tokens sent to models.")
    output_token_count: int | None = Field(None, description="Tokens that models wrote.")
    model_milliseconds: int | None = Field(
        None, description="Time of the requests together, in milliseconds."
    )
    pending_event_count: int | None = Field(
        None, description="Ingested events that wait in the stream."
    )
    undone_operation: str | None = Field(
        None, description="Full name of the operation that is undone."
    )
    retried_operation: str | None = Field(
        None, description="Full name of the failed operation that is run again."
    )


class OperationError(WireModel):
    """The reason that an operation failed: a google.rpc.Status."""

    code: int = Field(description="Number of the canonical code, 1 to 16.", examples=[3])
    message: str = Field(description="Explanation for people.")
    details: list[dict[str, Any]] | None = Field(
        None, description="ErrorInfo first, then further details, each by its `@type`."
    )


class AnsweredEmpty(Empty):
    """Nothing but the end of the work."""


class Operation(WireModel):
    """A long-running operation. When done, it has either `response` or `error`."""

    name: str = Field(description="Full name of the operation.")
    metadata: dict[str, Any] = Field(description="What it says of its work.")
    done: bool = Field(False, description="False: it waits or runs; ask again later.")
    response: dict[str, Any] | None = Field(
        None,
        description="What the work gave, by its `@type`; absent until it is done, or if it failed.",
    )
    error: dict[str, Any] | None = Field(None, description="Why it failed; absent: it has not.")

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
