"""The wire form of `memories:generate`. Source: wire specification, section 8."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, model_validator
from typing_extensions import override

from app.kernel.ids import scope_hash
from app.kernel.names import WILDCARD, EngineName, SessionName
from app.kernel.wire.archived import ArchivedRow, Digest, Ending
from app.kernel.wire.base import WireModel
from app.kernel.wire.content import Content
from app.kernel.wire.scalars import (
    Timestamp,
    TimeZone,
    ZonedTimestamp,
    format_timestamp,
    one_of,
)
from app.memory.memories.schemas.memories import (
    Fact,
    NamedMemory,
    RevisionFields,
    Scope,
    StructuredContent,
)
from app.memory.memories.schemas.metadata import Metadata
from app.platform.engines.logic.topics import MemoryTopicId, MemoryTopicIds

MAX_DIRECT_MEMORIES = 5
MAX_EVENT_ID_CHARS = 256
MAX_EVENTS = 2_000
# If no model reads files, their bytes are not stored, not even temporarily.
_FILE_BYTES = {"parts": {"__all__": {"inline_data": {"data"}}}}
_FILE_BYTES_OF_REQUEST = {
    "direct_contents_source": {"events": {"__all__": {"content": _FILE_BYTES}}}
}


class MetadataMergeStrategy(StrEnum):
    """The treatment of a memory's metadata when generation updates it."""

    METADATA_MERGE_STRATEGY_UNSPECIFIED = "METADATA_MERGE_STRATEGY_UNSPECIFIED"
    """The same as `OVERWRITE`."""
    OVERWRITE = "OVERWRITE"
    MERGE = "MERGE"
    REQUIRE_EXACT_MATCH = "REQUIRE_EXACT_MATCH"


class ContentEvent(WireModel):
    """A turn of a conversation."""

    content: Content = Field(description="Content of the turn.")
    event_id: str | None = Field(
        None,
        max_length=MAX_EVENT_ID_CHARS,
        description="Id that the caller chose; a stream takes an event of the same id once.",
    )
    event_time: ZonedTimestamp | None = Field(
        None,
        description="Time of the turn. Its offset is the speaker's time zone, and so determines"
        ' the day of "today"; an offset of zero is ignored.',
    )

    def kept_content(self, *, keeps_files: bool) -> dict[str, Any]:
        """Return the stored JSON form of the content."""
        return self.content.model_dump(
            mode="json",
            by_alias=True,
            exclude_none=True,
            exclude=None if keeps_files else _FILE_BYTES,
        )


class DirectContentsSource(WireModel):
    """A conversation in the request."""

    events: list[ContentEvent] = Field(
        max_length=MAX_EVENTS,
        description="The turns, the oldest first; their texts have a greatest length in all,"
        " `MEMORY_BANK_MAX_GENERATION_CHARS`. Sessions and streams have none.",
    )


class DirectMemory(WireModel):
    """A fact in the request."""

    fact: Fact = Field(description="Statement to remember, in one or a few sentences; not blank.")
    topics: MemoryTopicIds | None = Field(
        None, description="Topics that the fact is about; absent: none."
    )


class DirectMemoriesSource(WireModel):
    """Facts in the request: they skip extraction, but are consolidated."""

    direct_memories: list[DirectMemory] = Field(
        min_length=1,
        max_length=MAX_DIRECT_MEMORIES,
        description="The facts, which are stored unchanged unless they are already known.",
    )


class VertexSessionSource(WireModel):
    """A stored session, of this engine or of another one in its project and location."""

    session: str = Field(description="Name of the session; project and location may be left out.")
    start_time: Timestamp | None = Field(None, description="Events before this time do not count.")
    end_time: Timestamp | None = Field(None, description="Events from this time on do not count.")

    def name_beside(self, engine: EngineName) -> SessionName:
        """Parse the name; project and location default to the engine's."""
        field = "vertexSessionSource.session"
        anywhere = f"projects/{WILDCARD}/locations/{WILDCARD}/"
        prefix = "" if self.session.startswith("projects/") else anywhere
        name = SessionName.parse(prefix + self.session, field)
        return SessionName(name.engine.beside(engine), name.session)


class GenerateMemoriesRequest(RevisionFields):
    """The source, the scope and the options of a generation.

    Exactly one of `directContentsSource`, `directMemoriesSource` and `vertexSessionSource` is
    required, and `scope` with the first two.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "scope": {"user_id": "42"},
                    "directContentsSource": {
                        "events": [
                            {
                                "content": {
                                    "role": "user",
                                    "parts": [{"text": "I prefer a window seat."}],
                                }
                            }
                        ]
                    },
                }
            ],
        }
    )

    direct_contents_source: DirectContentsSource | None = Field(
        None, description="A conversation in the request; one of three sources."
    )
    direct_memories_source: DirectMemoriesSource | None = Field(
        None, description="Facts in the request; one of three sources."
    )
    vertex_session_source: VertexSessionSource | None = Field(
        None,
        description="A session, perhaps of another engine in the same project and location; one of"
        " three sources.",
    )
    scope: Scope | None = Field(
        None,
        description="Exact key of the collection that the memories belong to. Required, unless"
        " the source is a session: then absent means its `user_id`.",
    )
    disable_consolidation: bool | None = Field(
        None, description="True: every result becomes a new memory."
    )
    validate_only: bool | None = Field(
        None,
        description="True: do the work, but write nothing; respond with the changes and their"
        " reasons.",
    )
    metadata: Metadata | None = Field(
        None, description="The caller's own values, stored with each memory that is written."
    )
    metadata_merge_strategy: Annotated[MetadataMergeStrategy, one_of(MetadataMergeStrategy)] = (
        Field(
            MetadataMergeStrategy.METADATA_MERGE_STRATEGY_UNSPECIFIED,
            description="Treatment of the metadata of a memory that is updated. `OVERWRITE` (also"
            " when absent): these values replace it. `MERGE`: they are added."
            " `REQUIRE_EXACT_MATCH`: only memories with equal metadata are updated.",
        )
    )
    allowed_topics: MemoryTopicIds | None = Field(
        None, description="Limits the configured topics to these."
    )
    time_zone: TimeZone | None = Field(
        None,
        description="Time zone of relative dates; absent: the offset of each event's time, if it"
        " has one other than zero, else the bank's zone.",
        examples=["Europe/Berlin"],
    )
    reread_events: bool | None = Field(
        None,
        description="True: read events again that earlier generations have read. This restores"
        " facts that were deleted or corrected since; preview it with `validateOnly`.",
    )

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        sources = (
            self.direct_contents_source,
            self.direct_memories_source,
            self.vertex_session_source,
        )
        if sum(source is not None for source in sources) != 1:
            raise ValueError(
                "must have exactly one of directContentsSource, directMemoriesSource and"
                " vertexSessionSource"
            )
        if self.scope is None and self.vertex_session_source is None:
            raise ValueError("scope is required")
        return self

    def queued(
        self,
        scope: Mapping[str, str],
        now: datetime,
        session_time: datetime | None,
        *,
        keeps_files: bool,
        is_told: bool,
    ) -> dict[str, Any]:
        """Return the JSON form of the `QueuedGeneration` of `now`, with the effective scope."""
        form = self.model_dump(
            mode="json",
            by_alias=True,
            exclude_none=True,
            exclude=None if keeps_files else _FILE_BYTES_OF_REQUEST,
        )
        form["requestTime"] = format_timestamp(now)
        if session_time is not None:
            form["sessionTime"] = format_timestamp(session_time)
        if is_told:
            form["isTold"] = True
        return {**form, "scope": dict(scope)}


class ReadTo(WireModel):
    """The place of an event in its session.

    `last_seq` is the number of the session's last event when the first round was read.
    """

    timestamp: Timestamp
    seq: int
    last_seq: int


class QueuedGeneration(GenerateMemoriesRequest):
    """A request as it is queued for a worker."""

    request_time: Timestamp | None = None
    """Time of the request; one that a former release queued has none."""
    session_time: Timestamp | None = None
    """Creation time of the session that is the source; a session created anew is another one."""
    is_told: bool = False
    """True if an agent sent the facts by a tool, as it was told them."""
    read_to: ReadTo | None = None
    """The last event that earlier rounds have read; None: this is the first round."""
    answered: dict[str, Any] | None = None
    """The response of the earlier rounds."""


class GeneratedMemory(WireModel):
    """A change that a generation made."""

    memory: NamedMemory = Field(description="The memory that it changed.")
    action: str = Field(description="`CREATED`, `UPDATED` or `DELETED`.")
    previous_revision: str | None = Field(
        None, description="Full name of the previous revision; absent: there is none."
    )


class PlannedContent(WireModel):
    """The content of a memory before or after a planned change."""

    fact: str | None = Field(None, description="Statement that is remembered.")
    topics: list[MemoryTopicId] | None = Field(None, description="Topics that the fact is about.")
    structured_content: StructuredContent | None = Field(
        None, description="One field of a profile, in place of a fact."
    )


class PlannedMemoryChange(WireModel):
    """A change that a generation would make."""

    action: str = Field(description="`CREATED`, `UPDATED` or `DELETED`.")
    reason: str = Field(description="Reason for the change.")
    memory: NamedMemory | None = Field(None, description="The memory; absent: a new one.")
    etag: str | None = Field(None, description="Version of the memory that was planned for.")
    before: PlannedContent | None = Field(
        None, description="Its content in that version; absent if that is no longer known."
    )
    after: PlannedContent | None = Field(
        None, description="Its content after the change; absent: it would be deleted."
    )
    extracted_memories: list[dict[str, Any]] | None = Field(
        None, description="Extracted memories from which the change would be made."
    )


class DroppedFact(WireModel):
    """A fact that would become no memory."""

    fact: str = Field(description="The fact as it was extracted.")
    quote: str = Field(description="Text that the model quoted as its source.")
    reason: str = Field(description="Reason for dropping the fact.", examples=["FOREIGN_NUMBER"])
    detail: str | None = Field(None, description="The number or date that has no source.")
    memory: NamedMemory | None = Field(
        None, description="With the reason `OLDER`: the memory with a later time."
    )


class DroppedField(WireModel):
    """A statement about a profile's field that would change nothing."""

    schema_id: str = Field(description="Profile that the statement is about.")
    field: str = Field(description="Field that the statement is about.")
    quote: str = Field(description="Text that was named as its source.")
    reason: str = Field(description="Reason for dropping it.", examples=["BAD_VALUE"])
    memory: NamedMemory | None = Field(
        None, description="With the reason `OLDER`: the memory with a later time."
    )


class RefusedDecision(WireModel):
    """A decision of the model that would not be carried out."""

    fact: str = Field(description="The fact that the decision is about.")
    action: str = Field(description="Change that the model decided on.")
    reason: str = Field(description="Reason of the refusal.", examples=["UNKNOWN_MEMORY"])
    memory: NamedMemory | None = Field(None, description="The memory that it named, if one.")
    text: str | None = Field(None, description="The text that it would have written.")


class GenerateMemoriesResponse(WireModel):
    """The changes of a generation, or the planned changes of a preview."""

    author: str | None = Field(
        None, description="Id of the model that wrote the facts, or `engine`; absent: no change."
    )
    generated_memories: list[GeneratedMemory] | None = Field(
        None, description="The changes, in order; absent: none."
    )
    planned_changes: list[PlannedMemoryChange] | None = Field(
        None, description="Only in a preview: the changes, in order; absent: none."
    )
    dropped_facts: list[DroppedFact] | None = Field(
        None, description="Only in a preview: facts that would become no memory; absent: none."
    )
    dropped_fields: list[DroppedField] | None = Field(
        None,
        description="Only in a preview: statements about fields of profiles that would change"
        " nothing; absent: none.",
    )
    refused_decisions: list[RefusedDecision] | None = Field(
        None,
        description="Only in a preview: decisions that would not be carried out; absent: none.",
    )
    withdrawn: bool | None = Field(
        None, description="True: the texts of this preview were erased together with their subject."
    )


class ArchivedReadLine(ArchivedRow):
    """The columns of a line that was read, in an archive."""

    scope_hash: Digest
    digest: Annotated[bytes, Field(min_length=16, max_length=16)]
    scope: Scope
    expire_time: Ending

    @override
    def contradictions(self) -> Iterable[tuple[str, str]]:
        if self.scope_hash != scope_hash(self.scope):
            yield "scope_hash", "must be the digest of scope"
