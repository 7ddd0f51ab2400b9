"""The content part that refers to task memory, by names and figures only.

`artifactRef` is the `reference` returned by `processOutput` and similar methods, or a subset of it:
only memory and namespace are required. It names artifacts but holds none of their content. Its
fields are restricted names, media types, figures, times and enum words.

It is not a link. The server never resolves it, neither on receipt nor on display. Its target may
have expired, and only callers with access to the namespace may learn of its existence.
"""

from typing import Annotated, Literal

from pydantic import Field

from app.kernel.wire.scalars import Int64, Timestamp
from app.kernel.wire.task_fields import MediaTypeField, TaskId, TaskModel

MAX_LISTED = 100
"""Maximum number of listed artifacts and sources; the count and the bytes cover all of them."""
_MAX_COUNT = 2**31 - 1
_MAX_READERS = 4

_Count = Annotated[int, Field(ge=0, le=_MAX_COUNT)]
_Reader = Literal["query", "summarize", "extract", "export"]
_Bytes = Annotated[Int64, Field(ge=0)]


class ReferredArtifact(TaskModel):
    """An artifact, without its content."""

    name: TaskId = Field(description="Name of the artifact within its namespace.")
    kind: Literal["text", "json", "blob"] | None = Field(None, description="Kind of the content.")
    media_type: MediaTypeField | None = Field(None, description="Media type of the content.")
    size_bytes: _Bytes | None = Field(None, description="Size of the content in bytes.")
    token_estimate: _Count | None = Field(
        None, description="Tokens of the content, about a quarter of its characters."
    )


class ReferredSource(TaskModel):
    """An artifact from which others were derived."""

    namespace: TaskId = Field(description="Id of the source's namespace.")
    name: TaskId = Field(description="Name of the source within that namespace.")


class ArtifactRef(TaskModel):
    """A namespace of task memory; prompts show only its names and sizes.

    It is stored as sent. Nothing checks that the namespace exists, and nothing loads it.
    """

    memory: TaskId = Field(description="Id of the task memory.")
    namespace: TaskId = Field(description="Id of the namespace.")
    artifacts: list[ReferredArtifact] | None = Field(
        None,
        max_length=MAX_LISTED,
        description="Artifacts of the namespace: the first ones, or the ones referred to.",
    )
    count: _Count | None = Field(
        None, description="Number of all artifacts; absent: as many as are listed."
    )
    total_bytes: _Bytes | None = Field(None, description="Size of all artifacts, in bytes.")
    created_time: Timestamp | None = Field(None, description="Time of the namespace's creation.")
    expire_time: Timestamp | None = Field(
        None, description="Time at which the namespace is deleted."
    )
    readable_with: list[_Reader] | None = Field(
        None, max_length=_MAX_READERS, description="Readers that can use it; empty: none."
    )
    derived_from: list[ReferredSource] | None = Field(
        None, max_length=MAX_LISTED, description="Source artifacts of the listed ones."
    )
