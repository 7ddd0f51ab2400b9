"""Labels: a small map of short texts."""

from typing import Annotated

from pydantic import AfterValidator, WithJsonSchema

MAX_LABELS = 64
MAX_LABEL_CHARS = 64


def _check(labels: dict[str, str]) -> dict[str, str]:
    if len(labels) > MAX_LABELS:
        raise ValueError(f"must have at most {MAX_LABELS} pairs")
    for key, value in labels.items():
        if not 1 <= len(key) <= MAX_LABEL_CHARS or len(value) > MAX_LABEL_CHARS:
            raise ValueError(
                f"must have keys of 1 to {MAX_LABEL_CHARS} characters and values of at most"
                f" {MAX_LABEL_CHARS}"
            )
    return labels


_SCHEMA = {
    "type": "object",
    "maxProperties": MAX_LABELS,
    "propertyNames": {"minLength": 1, "maxLength": MAX_LABEL_CHARS},
    "additionalProperties": {"type": "string", "maxLength": MAX_LABEL_CHARS},
    "examples": [{"team": "travel"}],
}

Labels = Annotated[dict[str, str], AfterValidator(_check), WithJsonSchema(_SCHEMA)]
