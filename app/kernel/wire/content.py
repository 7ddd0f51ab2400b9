"""Content in Gemini's form: a role, and the parts of a message.

Source: google.cloud.aiplatform.v1beta1.Content; wire specification, section 8.1. `artifactRef` is
this service's own: the `reference` returned by `processOutput` and similar methods, or a subset of
it with memory and namespace. It names artifacts but holds none of their content.

The server never resolves it, neither on receipt nor on display. Its target may have expired, and
only callers with access to the namespace may learn of its existence.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from app.kernel.wire.base import WireModel, camel_name
from app.kernel.wire.scalars import Base64Bytes, Int64, Timestamp
from app.kernel.wire.task_fields import MediaTypeField, TaskId, TaskModel

MAX_PARTS = 100
MAX_LISTED = 100
"""Maximum number of listed artifacts and sources; the count and the bytes cover all of them."""
_MAX_COUNT = 2**31 - 1
_MAX_READERS = 4
_Count = Annotated[int, Field(ge=0, le=_MAX_COUNT)]
_Reader = Literal["query", "summarize", "extract", "export"]
_Bytes = Annotated[Int64, Field(ge=0)]


class Blob(WireModel):
    """A file inside the request."""

    mime_type: str | None = Field(None, description="Media type of the file, such as `image/png`.")
    data: Base64Bytes | None = Field(None, description="Bytes of the file, in base64.")
    display_name: str | None = Field(None, description="Name of the file for people.")


class FileData(WireModel):
    """A file stored elsewhere."""

    mime_type: str | None = Field(None, description="Media type of the file, such as `image/png`.")
    file_uri: str | None = Field(
        None,
        description="Address of the file, passed to the model unchanged; the service fetches"
        " nothing.",
    )
    display_name: str | None = Field(None, description="Name of the file for people.")


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


class Part(WireModel):
    """One part. Unknown kinds of part are kept, since models gain new ones."""

    model_config = ConfigDict(alias_generator=to_camel, extra="allow")

    text: str | None = Field(None, description="Text of the part.")
    thought: bool | None = Field(
        None, description="True: the text is the model's thinking, which contexts leave out."
    )
    inline_data: Blob | None = Field(None, description="A file within the request.")
    file_data: FileData | None = Field(None, description="A file stored elsewhere.")
    function_call: dict[str, Any] | None = Field(
        None, description="Call of a tool: `name`, `args` and an optional `id`."
    )
    function_response: dict[str, Any] | None = Field(
        None, description="Answer of a tool: `name`, `response` and an optional `id`."
    )
    artifact_ref: ArtifactRef | None = Field(
        None, description="Reference to content in task memory; the part has no other field."
    )

    @model_validator(mode="before")
    @classmethod
    def _name_new_kinds(cls, data: Any) -> Any:  # noqa: ANN401 - pydantic hands over anything
        if not isinstance(data, dict):
            return data
        return {
            key if key in cls.model_fields else camel_name(key): value
            for key, value in data.items()
        }

    @model_validator(mode="after")
    def _has_a_reference_alone(self) -> Self:
        if self.artifact_ref is not None and any(value is not None for value in self._others()):
            raise ValueError("must have nothing beside artifactRef")
        return self

    def _others(self) -> list[Any]:
        named = type(self).model_fields.keys() - {"artifact_ref"}
        # A second spelling of a field is kept as an unknown kind.
        return [*(getattr(self, name) for name in named), *(self.model_extra or {}).values()]


class Content(WireModel):
    """A turn of `user` (the default role) or `model`."""

    role: str | None = Field(
        None, description="Role of the speaker: `user` (also when absent) or `model`."
    )
    parts: list[Part] | None = Field(
        None, max_length=MAX_PARTS, description="Texts, files and calls of tools, in order."
    )
