"""Search for sensitive values in the content of memories and revisions."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.kernel.wire.labels import MAX_LABEL_CHARS, MAX_REVISION_LABEL_CHARS
from app.memory.memories.schemas.metadata import MAX_METADATA_KEY_CHARS, MAX_METADATA_VALUE_CHARS
from app.platform.privacy.logic.guard import Guard

_STRING = "stringValue"


@dataclass(frozen=True)
class Looked:
    """New values of the columns that change, and counts of sensitive values by kind."""

    values: Mapping[str, Any]
    counts: Counter[str]


def look(guard: Guard, columns: Mapping[str, Any]) -> Looked:
    """Mask the columns of a row. Masks may be longer than values, so texts are cut to fit."""
    found = guard.without(dict(columns))
    changed = {name: found.value[name] for name in columns if found.value[name] != columns[name]}
    if "labels" in changed:
        changed["labels"] = {
            key[:MAX_LABEL_CHARS]: value[:MAX_REVISION_LABEL_CHARS]
            for key, value in changed["labels"].items()
        }
    if "user_metadata" in changed:
        changed["user_metadata"] = {
            key[:MAX_METADATA_KEY_CHARS]: _cut(value)
            for key, value in changed["user_metadata"].items()
        }
    return Looked(changed, found.counts)


def _cut(value: Mapping[str, Any]) -> dict[str, Any]:
    text = value.get(_STRING)
    return {**value, _STRING: text[:MAX_METADATA_VALUE_CHARS]} if text is not None else {**value}
