"""The wire form of operations. Source: google.longrunning.Operation; the Memory Bank API."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from app.kernel.auth import only_one
from app.kernel.wire.archived import ArchivedRow, Ending, KindName, Past, StoredId, Text
from app.kernel.wire.base import Empty, WireModel
from app.kernel.wire.scalars import Timestamp, format_timestamp
from app.platform.operations.logic.states import OperationState
from app.platform.operations.store.tables import OperationRow


class OperationTimes(WireModel):
    """The times of an operation."""

    create_time: Timestamp = Field(description="Time of the request for it.")
    update_time: Timestamp = Field(description="Time of its last change.")


class OperationSourceEvents(WireModel):
    """The first and the last event that a generation read, by time."""

    first: str = Field(description="Full name of the first event.")
    last: str = Field(description="Full name of the last event.")


class OperationSource(WireModel):
    """The origin of the memories that an operation writes."""

    session: str | None = Field(
        None,
        description="Full name of the session; removed when the session is deleted or expires.",
    )
    events: OperationSourceEvents | None = Field(
        None, description="Events of the session that were read; absent: none yet."
    )
    stream: str | None = Field(None, description="Id of the stream of ingested events.")
    direct_events: int | None = Field(None, description="Number of events in the request.")
    direct_memories: int | None = Field(None, description="Number of memories in the request.")


def given(count: int) -> dict[str, Any]:
    """Return the metadata of an operation that writes memories as they were given."""
    return {"source": OperationSource(direct_memories=count).wire()}


class OperationMetadata(WireModel):
    """The account of an operation's work. Each method adds fields of its own."""

    model_config = ConfigDict(alias_generator=to_camel, extra="allow")

    generic_metadata: OperationTimes = Field(description="Times of the operation.")
    validate_only: bool | None = Field(
        None, description="True: it is a preview and writes nothing."
    )
    source: OperationSource | None = Field(
        None,
        description="Origin of the memories that it writes; absent: it writes none, their origin is"
        " a session of another engine, or a former release did the work.",
    )
    scope: dict[str, str] | None = Field(
        None,
        description="The pairs that all its scopes have; absent: they have none in common.",
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
    created_count: int | None = Field(None, description="Memories that it created; absent: none.")
    updated_count: int | None = Field(None, description="Memories that it updated; absent: none.")
    deleted_count: int | None = Field(
        None, description="Memories that it deleted or erased; absent: none."
    )
    pending_event_count: int | None = Field(
        None, description="Ingested events that wait in the stream."
    )
    undone_operation: str | None = Field(
        None, description="Full name of the operation that is undone."
    )
    undone_by: str | None = Field(
        None,
        description="Full name of the newest operation that was to undo it, which may have failed;"
        " absent: there is none.",
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
    """An empty result: the work has ended."""


class Operation(WireModel):
    """A long-running operation. When done, it has either `response` or `error`."""

    name: str = Field(description="Full name of the operation.")
    metadata: dict[str, Any] = Field(
        description="Report of the work, with fields of its method. Every operation has"
        " `genericMetadata` (its times); `kind`; `state` (`PENDING`, `RUNNING`, `SUCCEEDED`,"
        " `FAILED` or `CANCELLED`); `attemptCount`, the runs since the last progress (0: it ran"
        " within its request, or has not run); `startTime` of its first run, if it ran outside"
        " its request; `caller`, the id of the key that requested it, `jwt:` with the subject of"
        " a token, or `command-line` (absent: the service itself); `scope`, the pairs that all its"
        " scopes have (absent: there are none). `source` is the origin of the memories that it"
        " writes: `session` and `events` (`first`, `last`), `stream`, `directEvents` or"
        " `directMemories`."
    )
    done: bool = Field(False, description="False: it waits or runs; poll again later.")
    response: dict[str, Any] | None = Field(
        None,
        description="Result of the work, by its `@type`; absent until it is done, or if it failed.",
    )
    error: dict[str, Any] | None = Field(
        None, description="Error of the work; absent: it has not failed."
    )

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
    of_all: dict[str, Any] = {
        "kind": row.kind,
        "state": row.state,
        "attemptCount": row.attempts,
        "genericMetadata": {
            "createTime": format_timestamp(row.create_time),
            "updateTime": format_timestamp(row.update_time),
        },
    }
    if row.start_time is not None:
        of_all["startTime"] = format_timestamp(row.start_time)
    if row.caller is not None:
        of_all["caller"] = row.caller
    if row.scopes and (scope := only_one(row.scopes)) is not None:
        of_all["scope"] = scope
    return of_all


class ListOperationsResponse(WireModel):
    """A page of operations, newest first."""

    operations: list[Operation] = Field(description="The operations of this page.")
    next_page_token: str | None = Field(
        None, description="Token of the next page, for `pageToken`; absent on the last page."
    )


class FailureGroup(WireModel):
    """Operations that failed for the same reason, with the same model, within the same hour."""

    reason: str | None = Field(
        None, description="Reason of the error, as `error.reason` in filters; absent: it has none."
    )
    author: str | None = Field(
        None, description="Id of the model, as `author` in filters; absent: no model was needed."
    )
    start_time: Timestamp = Field(
        description="Beginning of the hour, in UTC, within which the operations ended."
    )
    operation_count: int = Field(description="Number of these operations.")


class GroupFailuresResponse(WireModel):
    """The failed operations of an engine in groups."""

    failure_groups: list[FailureGroup] = Field(
        description="The groups, the newest hour first, and the largest group first within an"
        " hour; at most 100."
    )
    operation_count: int = Field(
        description="Number of the operations in all groups, also in those beyond the first 100."
    )
    is_capped: bool | None = Field(
        None, description="True: more than 10,000 match, and only the newest were counted."
    )


class RetryOperationRequest(WireModel):
    """Options of a retry."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"validateOnly": True}]})

    validate_only: bool | None = Field(
        None,
        description="True: run a preview, which writes nothing; only for generations. The failed"
        " operation keeps its request, and can still be retried.",
    )


class BatchRetryOperationsRequest(WireModel):
    """The failed operations to run again."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"filter": "error.reason=MODEL_UNAVAILABLE", "validateOnly": True}]
        }
    )

    filter: str | None = Field(
        None,
        description="An AIP-160 filter with the fields of the list of operations; absent: all"
        " failed operations.",
    )
    validate_only: bool | None = Field(
        None, description="True: only count the operations; nothing runs."
    )


class BatchRetryOperationsResponse(WireModel):
    """The effect of a retry of many operations."""

    retry_count: int = Field(
        description="Number of operations that were queued again; with `validateOnly`, that would"
        " be."
    )
    refused_counts: dict[str, int] | None = Field(
        None,
        description="Operations that could not run again, by the reason of the error, such as"
        " `REQUEST_NOT_KEPT`; absent: none.",
    )
    is_capped: bool | None = Field(
        None,
        description="True: more than 10,000 match, of which the oldest are taken; send the request"
        " again for the others.",
    )


class QueuedBatchRetry(WireModel):
    """A retry of many operations for a worker, which has the reach of the caller."""

    operations: list[str]
    is_capped: bool
    engines: list[int] | None = None
    conditions: dict[str, list[str]]


class StoredEntry(BaseModel):
    """A part of a stored answer: what is read of it; the rest is returned as it is."""

    model_config = ConfigDict(extra="allow", alias_generator=to_camel)


class _Named(StoredEntry):
    name: str


class _Changed(StoredEntry):
    memory: _Named


class StoredAnswer(StoredEntry):
    """A stored answer: what undo reads of it, whatever its kind."""

    type_url: Text = Field(alias="@type")
    generated_memories: list[_Changed] = []
    undone_memories: list[_Changed] = []
    memories: list[_Named] = []


class _StoredDetail(StoredEntry):
    type_url: Text = Field(alias="@type")


def _check_reason(details: list[_StoredDetail]) -> list[_StoredDetail]:
    if not isinstance((details[0].model_extra or {}).get("reason"), str):
        raise ValueError("must begin with a detail that has a reason")  # noqa: TRY004 - pydantic reads ValueError
    return details


class _StoredError(BaseModel):
    """An error as it is stored: a google.rpc.Status whose first detail has the reason."""

    code: int = Field(ge=1, le=16)
    message: str
    details: Annotated[list[_StoredDetail], Field(min_length=1), AfterValidator(_check_reason)]


class _StoredDetails(OperationMetadata):
    """The account of an operation as it is stored, without its times."""

    type_url: str = Field(alias="@type", pattern=r"^type\.googleapis\.com/[A-Za-z0-9.]{1,200}$")
    generic_metadata: OperationTimes | None = None  # type: ignore[assignment]  # added to answers


class ArchivedOperation(ArchivedRow):
    """The columns of an operation in an archive; it has ended, or a worker would take it."""

    untouched: ClassVar[frozenset[str]] = frozenset({"response", "error", "details", "scopes"})

    operation_id: StoredId
    memory_id: StoredId | None
    kind: KindName
    state: Literal["SUCCEEDED", "FAILED", "CANCELLED"]
    response: StoredAnswer | None
    error: _StoredError | None
    details: _StoredDetails
    create_time: Past
    update_time: Past
    start_time: Past | None
    remove_time: Ending | None
    attempts: int = Field(ge=0, le=1_000_000)
    scopes: dict[str, list[str]] | None
