"""The wire form of `memories:generate`. Source: wire specification, section 8."""

from enum import StrEnum
from typing import Annotated, Any, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from app.engines.config import MemoryTopicIds
from app.memories.schemas import Fact, Metadata, RevisionFields, Scope
from app.wire.base import WireModel
from app.wire.content import Content
from app.wire.scalars import Timestamp, one_of

MAX_DIRECT_MEMORIES = 5
MAX_EVENTS = 2_000
# Files are counted, not read; their bytes are not worth keeping, not even for a while.
_FILE_BYTES = {
    "direct_contents_source": {
        "events": {"__all__": {"content": {"parts": {"__all__": {"inline_data": {"data"}}}}}}
    }
}


class MetadataMergeStrategy(StrEnum):
    """What becomes of a memory's metadata when generation updates it."""

    METADATA_MERGE_STRATEGY_UNSPECIFIED = "METADATA_MERGE_STRATEGY_UNSPECIFIED"
    """The same as `OVERWRITE`."""
    OVERWRITE = "OVERWRITE"
    MERGE = "MERGE"
    REQUIRE_EXACT_MATCH = "REQUIRE_EXACT_MATCH"


class ContentEvent(WireModel):
    """A turn of a conversation."""

    content: Content
    event_id: str | None = Field(None, max_length=256)
    event_time: Timestamp | None = Field(None, description="When it was said.")


class DirectContentsSource(WireModel):
    """A conversation in the request."""

    events: list[ContentEvent] = Field(max_length=MAX_EVENTS)


class DirectMemory(WireModel):
    """A fact in the request."""

    fact: Fact
    topics: MemoryTopicIds | None = None


class DirectMemoriesSource(WireModel):
    """Facts in the request: they skip extraction, but are consolidated."""

    direct_memories: list[DirectMemory] = Field(min_length=1, max_length=MAX_DIRECT_MEMORIES)


class VertexSessionSource(WireModel):
    """A stored session."""

    session: str
    start_time: Timestamp | None = None
    end_time: Timestamp | None = None


def _check_time_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError('must be an IANA time zone, such as "Europe/Berlin"') from None
    return name


class GenerateMemoriesRequest(RevisionFields):
    """From what to generate memories, for which scope, and how."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {"required": ["directContentsSource", "scope"]},
                {"required": ["directMemoriesSource", "scope"]},
                {"required": ["vertexSessionSource"]},
            ],
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

    direct_contents_source: DirectContentsSource | None = None
    direct_memories_source: DirectMemoriesSource | None = None
    vertex_session_source: VertexSessionSource | None = None
    scope: Scope | None = None
    disable_consolidation: bool | None = Field(
        None, description="Every result becomes a new memory."
    )
    metadata: Metadata | None = None
    metadata_merge_strategy: Annotated[MetadataMergeStrategy, one_of(MetadataMergeStrategy)] = (
        MetadataMergeStrategy.METADATA_MERGE_STRATEGY_UNSPECIFIED
    )
    allowed_topics: MemoryTopicIds | None = Field(
        None, description="Of the configured topics, only these."
    )
    time_zone: Annotated[str, AfterValidator(_check_time_zone)] | None = Field(
        None, description="For relative dates; default UTC.", examples=["Europe/Berlin"]
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

    def queued(self) -> dict[str, Any]:
        """Return the JSON form that the worker is given: all but the bytes of files."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True, exclude=_FILE_BYTES)
