"""Content in the form of Gemini: who speaks, and the parts of what is said.

Source: google.cloud.aiplatform.v1beta1.Content; wire specification, section 8.1.
"""

from typing import Any

from pydantic import ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from app.wire.base import WireModel, camel_name
from app.wire.scalars import Base64Bytes

MAX_PARTS = 100


class Blob(WireModel):
    """A file within the request."""

    mime_type: str | None = None
    data: Base64Bytes | None = None
    display_name: str | None = None


class FileData(WireModel):
    """A file elsewhere."""

    mime_type: str | None = None
    file_uri: str | None = None
    display_name: str | None = None


class Part(WireModel):
    """One part. Kinds of part that are not named here are kept, since models gain new ones."""

    model_config = ConfigDict(alias_generator=to_camel, extra="allow")

    text: str | None = None
    thought: bool | None = None
    inline_data: Blob | None = None
    file_data: FileData | None = None
    function_call: dict[str, Any] | None = None
    function_response: dict[str, Any] | None = None

    @model_validator(mode="before")
    @classmethod
    def _name_new_kinds(cls, data: Any) -> Any:  # noqa: ANN401 - pydantic hands over anything
        """Give kinds that are not named above a name in camelCase, as the others have it."""
        if not isinstance(data, dict):
            return data
        return {
            key if key in cls.model_fields else camel_name(key): value
            for key, value in data.items()
        }


class Content(WireModel):
    """A turn: `role` is `user` (also when absent) or `model`."""

    role: str | None = Field(None, description="`user` when absent, or `model`.")
    parts: list[Part] = Field(default_factory=list, max_length=MAX_PARTS)
