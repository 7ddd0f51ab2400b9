"""The wire form of a memory's metadata. Source: wire specification, section 5."""

from typing import Annotated, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from app.kernel.wire.base import EXACTLY_ONE, WireModel
from app.kernel.wire.scalars import Timestamp

MAX_METADATA_KEYS = 50
MAX_METADATA_KEY_CHARS = 128
MAX_METADATA_VALUE_CHARS = 4_096


class MemoryMetadataValue(WireModel):
    """A value of the user's metadata: exactly one of four kinds."""

    model_config = ConfigDict(json_schema_extra=EXACTLY_ONE)

    string_value: str | None = Field(
        None, max_length=MAX_METADATA_VALUE_CHARS, description="A text."
    )
    double_value: float | None = Field(None, description="A finite number.")
    bool_value: bool | None = Field(None, description="True or false.")
    timestamp_value: Timestamp | None = Field(
        None, description="A moment in UTC; comparisons ignore fractions of seconds."
    )

    @model_validator(mode="after")
    def _has_one(self) -> Self:
        values = (self.string_value, self.double_value, self.bool_value, self.timestamp_value)
        if sum(value is not None for value in values) != 1:
            raise ValueError(
                "must have exactly one of stringValue, doubleValue, boolValue, timestampValue"
            )
        return self


def _check_metadata(
    metadata: dict[str, MemoryMetadataValue],
) -> dict[str, MemoryMetadataValue]:
    if len(metadata) > MAX_METADATA_KEYS:
        raise ValueError(f"must have at most {MAX_METADATA_KEYS} keys")
    if not all(1 <= len(key) <= MAX_METADATA_KEY_CHARS for key in metadata):
        raise ValueError(f"must have keys of 1 to {MAX_METADATA_KEY_CHARS} characters")
    return metadata


Metadata = Annotated[
    dict[str, MemoryMetadataValue],
    AfterValidator(_check_metadata),
    Field(
        json_schema_extra={
            "maxProperties": MAX_METADATA_KEYS,
            "propertyNames": {"minLength": 1, "maxLength": MAX_METADATA_KEY_CHARS},
            "examples": [{"source": {"stringValue": "chat"}}],
        }
    ),
]
