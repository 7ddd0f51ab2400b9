"""The wire form of `memories:ingestEvents`. Source: wire specification, sections 9 and 3.2."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field

from app.kernel.wire.base import WireModel
from app.kernel.wire.scalars import one_of
from app.memory.generation.schemas import DirectContentsSource, MetadataMergeStrategy
from app.memory.memories.schemas.memories import RevisionFields, Scope
from app.memory.memories.schemas.metadata import Metadata
from app.platform.engines.logic.config import GenerationTriggerConfig

DEFAULT_STREAM = "default"
"""Stream of requests that name none, or an empty one."""
MAX_STREAM_ID_CHARS = 256

_OPTIONS = frozenset({*RevisionFields.model_fields, "metadata", "metadata_merge_strategy"})
# At most one of these counts: the last that was given.
_REVISION_LIFE = frozenset({"revisionTtl", "revisionExpireTime"})


def _check_stream_id(text: str) -> str:
    if not text.isprintable():
        raise ValueError("must have printable characters only")
    return text


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
    stream_id: Annotated[str, AfterValidator(_check_stream_id)] | None = Field(
        None, max_length=MAX_STREAM_ID_CHARS, description="`default` when absent or empty."
    )
    direct_contents_source: DirectContentsSource | None = Field(
        None, description="If absent, the request only changes the rule of the waiting events."
    )
    generation_trigger_config: GenerationTriggerConfig | None = Field(
        None, description="If absent, that of the bank; without any, events are processed at once."
    )
    force_flush: bool | None = Field(None, description="True: process all waiting events at once.")
    metadata: Metadata | None = Field(
        None, description="The caller's own values, stored with each memory that is written."
    )
    metadata_merge_strategy: (
        Annotated[MetadataMergeStrategy, one_of(MetadataMergeStrategy)] | None
    ) = Field(
        None,
        description="What becomes of the metadata of a memory that is updated, as in"
        " `memories:generate`.",
    )

    @property
    def stream(self) -> str:
        """Id of the stream."""
        return self.stream_id or DEFAULT_STREAM

    def options(self) -> dict[str, Any]:
        """Return the fields for the generation, as they were given."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True, include=set(_OPTIONS))


def merged_options(stored: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a buffer after a further request: the last value of each counts."""
    has_life = not _REVISION_LIFE.isdisjoint(given)
    kept = {key: stored[key] for key in stored if not (has_life and key in _REVISION_LIFE)}
    return {**kept, **given}


class IngestEventsResponse(WireModel):
    """The end of a stream's wait."""

    generate_memories_operation: str | None = Field(
        None,
        description="Full name of the operation that made memories of the events; absent: there"
        " were none to read.",
    )
