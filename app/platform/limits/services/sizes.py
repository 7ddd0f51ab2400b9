"""Size limits of writes, where constants of the service are stricter than the API.

Request schemas enforce the API's own limits; these apply to new writes. Content from before a
limit was lowered is unchanged and readable.
"""

from collections.abc import Mapping
from typing import Protocol

from app.kernel.errors import InvalidArgument
from app.settings.settings import Settings


class MetadataValue(Protocol):
    """A value of a memory's metadata."""

    @property
    def string_value(self) -> str | None:
        """The text, if the value is one."""
        ...


def check_scope_size(settings: Settings, scope: Mapping[str, str]) -> None:
    """Check that a scope may be written to.

    Raises:
        InvalidArgument: it has too many pairs or too long a value.
    """
    if len(scope) > settings.tuning.max_scope_pairs:
        raise InvalidArgument.of_field(
            "scope", f"must have 1 to {settings.tuning.max_scope_pairs} pairs."
        )
    if any(len(value) > settings.tuning.max_scope_value_chars for value in scope.values()):
        raise InvalidArgument.of_field(
            "scope",
            f"must have values of at most {settings.tuning.max_scope_value_chars} characters.",
        )


def check_metadata_size(settings: Settings, metadata: Mapping[str, MetadataValue] | None) -> None:
    """Check the size of a memory's metadata.

    Raises:
        InvalidArgument: it has too many keys or too long a text.
    """
    if metadata is None:
        return
    if len(metadata) > settings.tuning.max_metadata_entries:
        raise InvalidArgument.of_field(
            "metadata", f"must have at most {settings.tuning.max_metadata_entries} keys."
        )
    texts = [value.string_value for value in metadata.values() if value.string_value is not None]
    if any(len(text) > settings.tuning.max_metadata_value_chars for text in texts):
        raise InvalidArgument.of_field(
            "metadata",
            f"must have texts of at most {settings.tuning.max_metadata_value_chars} characters.",
        )
