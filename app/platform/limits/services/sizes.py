"""Sizes of what requests write, where the settings bound them more closely than the API does.

The shapes of requests have the API's own bounds; these hold for what is new. What was written
before they were lowered stays as it is, and can be read.
"""

from collections.abc import Mapping
from typing import Protocol

from app.kernel.errors import InvalidArgument
from app.settings.settings import Settings


class MetadataValue(Protocol):
    """A value of a memory's metadata."""

    @property
    def string_value(self) -> str | None:
        """Its text, if it is one."""
        ...


def check_scope_size(settings: Settings, scope: Mapping[str, str]) -> None:
    """Make sure that something may be written to a scope.

    Raises:
        InvalidArgument: it has too many pairs, or one of its values is too long.
    """
    if len(scope) > settings.max_scope_pairs:
        raise InvalidArgument.of_field("scope", f"must have 1 to {settings.max_scope_pairs} pairs.")
    if any(len(value) > settings.max_scope_value_chars for value in scope.values()):
        raise InvalidArgument.of_field(
            "scope", f"must have values of at most {settings.max_scope_value_chars} characters."
        )


def check_metadata_size(settings: Settings, metadata: Mapping[str, MetadataValue] | None) -> None:
    """Make sure that a memory may be given these metadata.

    Raises:
        InvalidArgument: they have too many keys, or one of their texts is too long.
    """
    if metadata is None:
        return
    if len(metadata) > settings.max_metadata_entries:
        raise InvalidArgument.of_field(
            "metadata", f"must have at most {settings.max_metadata_entries} keys."
        )
    texts = [value.string_value for value in metadata.values() if value.string_value is not None]
    if any(len(text) > settings.max_metadata_value_chars for text in texts):
        raise InvalidArgument.of_field(
            "metadata",
            f"must have texts of at most {settings.max_metadata_value_chars} characters.",
        )
