"""Labels: a small map of short texts."""

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import AfterValidator, WithJsonSchema

MAX_LABELS = 64
MAX_LABEL_CHARS = 64
"""Maximum characters of keys, and of values except those in revision labels."""
MAX_REVISION_LABEL_CHARS = 512
"""Maximum characters of the values of revision labels: enough for a URL or a document id."""


def _checking(max_value_chars: int) -> Callable[[dict[str, str]], dict[str, str]]:
    """Return a check of labels that limits the length of their values."""

    def check(labels: dict[str, str]) -> dict[str, str]:
        if len(labels) > MAX_LABELS:
            raise ValueError(f"must have at most {MAX_LABELS} pairs")
        for key, value in labels.items():
            if not 1 <= len(key) <= MAX_LABEL_CHARS or len(value) > max_value_chars:
                raise ValueError(
                    f"must have keys of 1 to {MAX_LABEL_CHARS} characters and values of at most"
                    f" {max_value_chars}"
                )
        return labels

    return check


def _schema(max_value_chars: int) -> dict[str, Any]:
    return {
        "type": "object",
        "maxProperties": MAX_LABELS,
        "propertyNames": {"minLength": 1, "maxLength": MAX_LABEL_CHARS},
        "additionalProperties": {"type": "string", "maxLength": max_value_chars},
        "examples": [{"team": "travel"}],
    }


Labels = Annotated[
    dict[str, str],
    AfterValidator(_checking(MAX_LABEL_CHARS)),
    WithJsonSchema(_schema(MAX_LABEL_CHARS)),
]
RevisionLabels = Annotated[
    dict[str, str],
    AfterValidator(_checking(MAX_REVISION_LABEL_CHARS)),
    WithJsonSchema(_schema(MAX_REVISION_LABEL_CHARS)),
]
