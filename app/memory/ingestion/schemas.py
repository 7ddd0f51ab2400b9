"""The wire form of `memories:ingestEvents`. Source: wire specification, sections 9 and 3.2."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field

from app.kernel.wire.scalars import one_of
from app.memory.generation.schemas import DirectContentsSource, MetadataMergeStrategy
from app.memory.memories.schemas.memories import Metadata, RevisionFields, Scope
from app.platform.engines.logic.config import GenerationTriggerConfig

DEFAULT_STREAM = "default"
"""The stream of requests that name none, or the empty one."""
MAX_STREAM_ID_CHARS = 256

_OPTIONS = frozenset({*RevisionFields.model_fields, "metadata", "metadata_merge_strategy"})
# Of these, at most one counts: the last that was given.
_REVISION_LIFE = frozenset({"revisionTtl", "revisionExpireTime"})


def _check_stream_id(text: str) -> str:
    if not text.isprintable():
        raise ValueError("must have printable characters only")
    return text


class IngestEventsRequest(RevisionFields):
    """Events for a stream, when to turn them into memories, and how."""

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
        None, description="Absent: only the rule of what waits is changed."
    )
    generation_trigger_config: GenerationTriggerConfig | None = Field(
        None, description="Absent: that of the bank; without one, at once."
    )
    force_flush: bool | None = Field(None, description="All that waits, at once.")
    metadata: Metadata | None = None
    metadata_merge_strategy: (
        Annotated[MetadataMergeStrategy, one_of(MetadataMergeStrategy)] | None
    ) = None

    @property
    def stream(self) -> str:
        """The id of the stream."""
        return self.stream_id or DEFAULT_STREAM

    def options(self) -> dict[str, Any]:
        """Return the fields, as they were given, that the generation is to heed."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True, include=set(_OPTIONS))


def merged_options(stored: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a buffer to which a request adds: of each, what was given last."""
    has_life = not _REVISION_LIFE.isdisjoint(given)
    kept = {key: stored[key] for key in stored if not (has_life and key in _REVISION_LIFE)}
    return {**kept, **given}
