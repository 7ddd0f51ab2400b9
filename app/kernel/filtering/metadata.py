"""Filters over a memory's metadata: the API's `filterGroups` without their JSON form."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

MetadataValue = bool | float | str | datetime
"""A value of metadata; its type decides which stored values it is compared with."""


class MetadataOperator(StrEnum):
    """The comparison of a filter's value with the stored one."""

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
    """True inverts the condition; a memory without the key then matches."""
