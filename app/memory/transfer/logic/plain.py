"""Conversion of archived memories to lines of an import, without history."""

from collections.abc import Mapping
from typing import Any

from app.memory.transfer.logic.memory_kinds import MEMORY

_OWN = frozenset(
    {
        *("version", "source", "position", "heldTime"),
        *("deleteTime", "recoverUntil"),
    }
)
"""Fields that an import does not accept."""


def plain_memory(values: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a line of `memories:import` from the values of a memory; None: it is deleted."""
    if values["delete_time"] is not None:
        return None
    encoded = MEMORY.encode([values[field.column] for field in MEMORY.fields])
    if values["held_time"] is not None:
        # Edited by hand since its event, so the time of the last change applies instead.
        encoded.pop("eventTime", None)
    return {
        name: value for name, value in encoded.items() if name not in _OWN and value not in ({}, [])
    }
