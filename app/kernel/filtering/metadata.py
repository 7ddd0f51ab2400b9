"""Filters over a memory's metadata: what `filterGroups` of the API says, without its JSON form."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

MetadataValue = bool | float | str | datetime
"""A value of metadata; the type decides with which stored values it is compared."""


class MetadataOperator(StrEnum):
    """How a filter's value is compared with the stored one."""

    OPERATOR_UNSPECIFIED = "OPERATOR_UNSPECIFIED"
    """The same as `EQUAL`."""
    EQUAL = "EQUAL"
    GREATER_THAN = "GREATER_THAN"
    LESS_THAN = "LESS_THAN"


@dataclass(frozen=True, slots=True)
class MetadataFilter:
    """One condition on one key of the metadata."""

    key: str
    operator: MetadataOperator
    value: MetadataValue
    negate: bool = False
    """Whether the condition is inverted; a memory without the key then matches."""
