"""The part of a content that stands for what task memory holds: its names and figures, no more.

A part `artifactRef` is what `processOutput` and its like answer as `reference`, or less of it: only
memory and namespace are needed. It can name artifacts, but hold nothing of what is in them: all
its fields are names of a narrow form, media types, figures, moments and words of a list.

It is no link. Nothing looks for what it names, neither when it comes nor when it is shown: that may
have expired, and whether there is such a namespace is for those to know who may read it.
"""

from typing import Annotated, Literal

from pydantic import Field

from app.kernel.wire.scalars import Int64, Timestamp
from app.kernel.wire.task_fields import MediaTypeField, TaskId, TaskModel

MAX_LISTED = 100
"""Artifacts that a reference names, and sources; its count and bytes are of all."""
_MAX_COUNT = 2**31 - 1
_MAX_READERS = 4

_Count = Annotated[int, Field(ge=0, le=_MAX_COUNT)]
_Reader = Literal["query", "summarize", "extract", "export"]
_Bytes = Annotated[Int64, Field(ge=0)]


class ReferredArtifact(TaskModel):
    """An artifact, without its content."""

    name: TaskId
    kind: Literal["text", "json", "blob"] | None = None
    media_type: MediaTypeField | None = None
    size_bytes: _Bytes | None = None
    token_estimate: _Count | None = None


class ReferredSource(TaskModel):
    """An artifact that others were made from."""

    namespace: TaskId
    name: TaskId


class ArtifactRef(TaskModel):
    """A namespace of task memory, of which prompts show the names and figures only.

    It is kept as it was sent. Nothing checks whether there is such a namespace, or loads it.
    """

    memory: TaskId
    namespace: TaskId
    artifacts: list[ReferredArtifact] | None = Field(
        None, max_length=MAX_LISTED, description="The first, or those that are meant."
    )
    count: _Count | None = Field(None, description="Of all artifacts; absent: of those listed.")
    total_bytes: _Bytes | None = None
    created_time: Timestamp | None = None
    expire_time: Timestamp | None = None
    readable_with: list[_Reader] | None = Field(
        None, max_length=_MAX_READERS, description="Empty: nothing can read it."
    )
    derived_from: list[ReferredSource] | None = Field(None, max_length=MAX_LISTED)
