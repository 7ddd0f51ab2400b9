"""The wire form of metadata and filters by them. Source: wire specification, 5 and 14.3."""

from typing import Annotated, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from app.kernel.filters import MetadataFilter, MetadataOperator
from app.kernel.wire.base import EXACTLY_ONE, WireModel
from app.kernel.wire.scalars import Timestamp, one_of

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


class MetadataCondition(WireModel):
    """A condition on one key of the metadata."""

    key: str = Field(
        min_length=1,
        max_length=MAX_METADATA_KEY_CHARS,
        description="Name of the value in the memory's metadata.",
    )
    op: Annotated[MetadataOperator, one_of(MetadataOperator)] = Field(
        MetadataOperator.OPERATOR_UNSPECIFIED,
        description="`EQUAL` (also when absent), `GREATER_THAN` or `LESS_THAN`.",
    )
    value: MemoryMetadataValue = Field(
        description="Value to compare with; only stored values of its kind match."
    )
    negate: bool | None = Field(
        None,
        description="True: the condition is negated; memories without the key then match.",
    )

    def filter(self) -> MetadataFilter:
        """Return the condition as a filter of `app.kernel.filtering`."""
        values = (
            self.value.string_value,
            self.value.double_value,
            self.value.bool_value,
            self.value.timestamp_value,
        )
        value = next(value for value in values if value is not None)
        return MetadataFilter(self.key, self.op, value, bool(self.negate))


class FilterGroup(WireModel):
    """Conditions that must all hold; of several groups, at least one must hold."""

    filters: list[MetadataCondition] = Field(
        min_length=1, max_length=MAX_METADATA_KEYS, description="The conditions."
    )


FilterGroups = Annotated[list[FilterGroup], Field(max_length=MAX_METADATA_KEYS)]


def metadata_filters(groups: list[FilterGroup] | None) -> list[list[MetadataFilter]]:
    """Return the groups as filters of `app.kernel.filtering`."""
    return [[condition.filter() for condition in group.filters] for group in groups or []]
