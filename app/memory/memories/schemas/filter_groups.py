"""The wire form of `filterGroups`: metadata. Source: wire specification, section 14.3."""

from typing import Annotated

from pydantic import Field

from app.kernel.filters import MetadataFilter, MetadataOperator
from app.kernel.wire.base import WireModel
from app.kernel.wire.scalars import one_of
from app.memory.memories.schemas.metadata import (
    MAX_METADATA_KEY_CHARS,
    MAX_METADATA_KEYS,
    MemoryMetadataValue,
)

MetadataOperatorField = Annotated[MetadataOperator, one_of(MetadataOperator)]


class MetadataCondition(WireModel):
    """A condition on one key of the metadata."""

    key: str = Field(
        min_length=1,
        max_length=MAX_METADATA_KEY_CHARS,
        description="Name of the value in the memory's metadata.",
    )
    op: MetadataOperatorField = Field(
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
        """Return the condition as a filter of `app.kernel.filters`."""
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
    """Return the groups as filters of `app.kernel.filters`."""
    return [[condition.filter() for condition in group.filters] for group in groups or []]
