"""Content in Gemini's form: a role, and the parts of a message.

Source: google.cloud.aiplatform.v1beta1.Content; wire specification, section 8.1. `artifactRef` is
this service's own.
"""

from typing import Any, Self

from pydantic import ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from app.kernel.wire.artifact_reference import ArtifactRef
from app.kernel.wire.base import WireModel, camel_name
from app.kernel.wire.scalars import Base64Bytes

MAX_PARTS = 100


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
        """Rename unknown kinds of part to camelCase, like the known ones."""
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
