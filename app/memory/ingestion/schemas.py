"""Schemas of `memories:ingestEvents`. Source: wire specification, sections 9 and 3.2."""

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, ConfigDict, Field, ValidationError
from typing_extensions import override

from app.kernel.ids import scope_hash
from app.kernel.wire.archived import (
    ArchivedRow,
    Count,
    Digest,
    Moment,
    Past,
    Position,
    Retry,
    UtcOffset,
)
from app.kernel.wire.base import WireModel
from app.kernel.wire.content import Content
from app.kernel.wire.scalars import Timestamp, one_of
from app.kernel.wire.violations import invalid_fields
from app.memory.generation.schemas import DirectContentsSource, MetadataMergeStrategy
from app.memory.ingestion.store.repository import rule_of
from app.memory.ingestion.store.tables import StreamRow
from app.memory.memories.schemas.memories import RevisionFields, Scope
from app.memory.memories.schemas.metadata import Metadata
from app.platform.engines.logic.config import GenerationRule, GenerationTriggerConfig
from app.platform.operations.logic.states import OperationState
from app.platform.operations.store.tables import OperationRow
from app.platform.sessions.schemas.archived import of_today

DEFAULT_STREAM = "default"
"""Default stream id of requests with an absent or empty id."""
MAX_STREAM_ID_CHARS = 256

_OPTIONS = frozenset({*RevisionFields.model_fields, "metadata", "metadata_merge_strategy"})
# Only the last of these that was given applies.
_REVISION_LIFE = frozenset({"revisionTtl", "revisionExpireTime"})


def _check_stream_id(text: str) -> str:
    if not text.isprintable():
        raise ValueError("must have printable characters only")
    return text


StreamId = Annotated[str, AfterValidator(_check_stream_id)]


class IngestEventsRequest(RevisionFields):
    """Events for a stream, and when and how to turn them into memories."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "scope": {"user_id": "42"},
                    "streamId": "chat-7",
                    "directContentsSource": {
                        "events": [
                            {
                                "eventId": "e1",
                                "content": {
                                    "role": "user",
                                    "parts": [{"text": "I prefer a window seat."}],
                                },
                            }
                        ]
                    },
                    "generationTriggerConfig": {"generationRule": {"idleDuration": "300s"}},
                }
            ]
        }
    )

    scope: Scope
    stream_id: StreamId | None = Field(
        None,
        max_length=MAX_STREAM_ID_CHARS,
        description="Id of the stream; absent or empty: `default`.",
    )
    direct_contents_source: DirectContentsSource | None = Field(
        None,
        description="A conversation in the request; absent: the request only changes the rule"
        " of the waiting events.",
    )
    generation_trigger_config: GenerationTriggerConfig | None = Field(
        None,
        description="Trigger of generation from the events; absent: the bank's trigger; without"
        " any, events are processed at once.",
    )
    force_flush: bool | None = Field(None, description="True: process all waiting events at once.")
    metadata: Metadata | None = Field(
        None, description="The caller's own values, stored with each memory that is written."
    )
    metadata_merge_strategy: (
        Annotated[MetadataMergeStrategy, one_of(MetadataMergeStrategy)] | None
    ) = Field(
        None,
        description="Treatment of the metadata of a memory that is updated, as in"
        " `memories:generate`.",
    )

    @property
    def stream(self) -> str:
        """Id of the stream."""
        return self.stream_id or DEFAULT_STREAM

    def with_rule(self, rule: GenerationRule | None) -> Self:
        """Return a copy with a rule; None requests "at once" and overrides the bank's rule."""
        config = GenerationTriggerConfig(generation_rule=rule)
        return self.model_copy(update={"generation_trigger_config": config})

    def options(self) -> dict[str, Any]:
        """Return the request's fields for the generation, unchanged."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True, include=set(_OPTIONS))


def merged_options(stored: Mapping[str, Any], sent: Mapping[str, Any]) -> dict[str, Any]:
    """Merge a request's options into the stored ones; the last value of each option applies."""
    has_life = not _REVISION_LIFE.isdisjoint(sent)
    kept = {key: stored[key] for key in stored if not (has_life and key in _REVISION_LIFE)}
    return {**kept, **sent}


class IngestEventsResponse(WireModel):
    """The end of a stream's wait."""

    generate_memories_operation: str | None = Field(
        None,
        description="Full name of the operation that made memories from the events; absent: there"
        " were none to read.",
    )


class FlushStreamRequest(WireModel):
    """A stream to process at once, with all its waiting events."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"scope": {"user_id": "42"}, "streamId": "chat-7"}]}
    )

    scope: Scope
    stream_id: StreamId | None = Field(
        None,
        max_length=MAX_STREAM_ID_CHARS,
        description="Id of the stream; absent or empty: `default`.",
    )

    def as_ingestion(self) -> IngestEventsRequest:
        """Return a request without events that flushes the stream."""
        return IngestEventsRequest(scope=self.scope, stream_id=self.stream_id, force_flush=True)


class Stream(WireModel):
    """A stream of ingestion: its waiting events, the time of their processing, and its errors."""

    scope: dict[str, str] = Field(
        description="Scope of the memories that its events become.", examples=[{"user_id": "42"}]
    )
    stream_id: str = Field(
        description=f"Id within the scope; at most {MAX_STREAM_ID_CHARS} characters."
    )
    create_time: Timestamp = Field(description="First request on the stream.")
    last_arrival_time: Timestamp = Field(description="Arrival of the newest event.")
    oldest_pending_time: Timestamp | None = Field(
        None, description="Arrival of the oldest waiting event; absent without any."
    )
    pending_count: int = Field(description="Number of waiting events.", ge=0)
    pending_bytes: int = Field(description="Length of their contents as JSON, in bytes.", ge=0)
    aside_count: int = Field(
        description="Number of waiting events that were set aside after a failed generation.", ge=0
    )
    aside_until: Timestamp | None = Field(
        None, description="Next time at which some of these are tried again."
    )
    generation_rule: GenerationRule | None = Field(
        None, description="Rule of the latest request; absent: events are processed at once."
    )
    next_generate_time: Timestamp | None = Field(
        None, description="Due time of the operation, if that has not ended."
    )
    operation: str | None = Field(
        None, description="Name of the operation for the waiting events, while it is kept."
    )
    failure_count: int = Field(description="Number of failures in a row.", ge=0)
    retry_time: Timestamp | None = Field(
        None, description="End of the stream's pause after failures, unless it is flushed."
    )
    last_error: dict[str, Any] | None = Field(
        None, description="A google.rpc.Status: why the last operation failed, while it is kept."
    )

    @classmethod
    def from_row(
        cls,
        row: StreamRow,
        aside_count: int,
        current: OperationRow | None,
        failed: OperationRow | None,
    ) -> Self:
        """Build the wire form, with the stream's operation and the failed one before it."""
        is_open = current is not None and not OperationState(current.state).is_final
        last = failed if is_open else current
        return cls(
            scope=row.scope,
            stream_id=row.stream_id,
            create_time=row.create_time,
            last_arrival_time=row.last_arrival_time,
            oldest_pending_time=row.oldest_pending_time,
            pending_count=row.pending_count,
            pending_bytes=row.pending_bytes,
            aside_count=aside_count,
            aside_until=row.aside_time,
            generation_rule=rule_of(row),
            next_generate_time=current.due_time if current is not None and is_open else None,
            operation=None if current is None else current.name,
            failure_count=row.failure_count,
            retry_time=row.retry_time,
            last_error=None if last is None else last.error,
        )


class ListStreamsResponse(WireModel):
    """A page of streams, latest arrival first."""

    streams: list[Stream] = Field(description="The streams of the page.")
    next_page_token: str | None = Field(
        None, description="`pageToken` of the next page; absent on the last one."
    )


def _check_options(options: dict[str, Any]) -> dict[str, Any]:
    try:
        request = IngestEventsRequest.model_validate({"scope": {"any": ""}, **options})
    except ValidationError as error:
        refused = invalid_fields(error.errors(include_input=False))
        raise ValueError(f"must be fields of a request: {refused.message}") from None
    if len(stored := request.options()) != len(options):
        raise ValueError("must be fields of a request that a stream keeps")
    return stored


class ArchivedStream(ArchivedRow):
    """The columns of a stream in an archive."""

    scope_hash: Digest
    stream_id: Annotated[StreamId, Field(min_length=1, max_length=MAX_STREAM_ID_CHARS)]
    scope: Scope
    rule: GenerationRule | None
    options: Annotated[dict[str, Any], AfterValidator(_check_options)]
    create_time: Past
    last_arrival_time: Past
    oldest_pending_time: Past | None
    pending_count: Count
    pending_bytes: Count
    next_seq: Position
    flush_seq: Count
    failure_count: Count
    retry_time: Retry | None
    aside_time: Retry | None

    @override
    def contradictions(self) -> Iterable[tuple[str, str]]:
        if self.scope_hash != scope_hash(self.scope):
            yield "scope_hash", "must be the digest of scope"


class ArchivedStreamEvent(ArchivedRow):
    """The columns of a waiting event in an archive."""

    former: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"content": of_today}

    scope_hash: Digest
    stream_id: Annotated[StreamId, Field(min_length=1, max_length=MAX_STREAM_ID_CHARS)]
    seq: Position
    event_id: Annotated[str, Field(min_length=1, max_length=256)] | None
    event_time: Moment | None
    utc_offset: UtcOffset | None
    arrival_time: Past
    content: Content
    content_bytes: Count
    batch_limit: Position | None
    retry_time: Retry | None
