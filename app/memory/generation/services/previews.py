"""The response of a `validateOnly` generation: the planned changes and their reasons.

The planned texts are stored nowhere else, so the operation keeps them. The present texts of
memories are added when the response is read, and therefore do not outlive the memories.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic.alias_generators import to_camel

from app.adapters.db.session import Session
from app.kernel.clock import Clock
from app.kernel.names import EngineName, MemoryName
from app.memory.generation.logic.outcomes import (
    MAX_LISTED_OUTCOMES,
    Dropped,
    DroppedValue,
    Refused,
)
from app.memory.generation.services.turns import topic_columns
from app.memory.memories.services.versions import find_version
from app.platform.operations.logic.states import type_url

if TYPE_CHECKING:
    # This import loads the rules, which only a worker runs.
    from app.memory.generation.logic.plan import Plan, PlannedChange

_SHOWN = ("fact", "topics", "structuredContent")
"""Fields of a memory in a preview."""


def preview(
    engine: EngineName,
    author: str,
    planned: "Plan",
    dropped: Sequence[Dropped],
    fields: Sequence[DroppedValue],
) -> dict[str, Any]:
    """Return the response to store; `engine` is the stored full name."""
    most = MAX_LISTED_OUTCOMES
    lists = {
        "plannedChanges": [_render_change(engine, change) for change in planned.changes],
        "droppedFacts": [
            _render(engine, fact, "fact", "quote", "reason", optional="detail")
            for fact in dropped[:most]
        ],
        "droppedFields": [
            _render(engine, value, "schema_id", "field", "quote", "reason")
            for value in fields[:most]
        ],
        "refusedDecisions": [
            _render(engine, decision, "fact", "action", "reason", optional="text")
            for decision in planned.outcome.refused[:most]
        ],
    }
    filled = {name: entries for name, entries in lists.items() if entries}
    return {"@type": type_url("GenerateMemoriesResponse"), "author": author, **filled}


def _render(
    engine: EngineName, outcome: Dropped | DroppedValue | Refused, *names: str, optional: str = ""
) -> dict[str, Any]:
    """Return attributes of an outcome on the wire; an empty `optional` one is left out."""
    fields = {to_camel(name): getattr(outcome, name) for name in names}
    if outcome.memory_id is not None:
        fields["memory"] = {"name": str(MemoryName(engine, outcome.memory_id))}
    if optional and (text := getattr(outcome, optional)):
        fields[optional] = text
    return fields


def _render_change(engine: EngineName, change: "PlannedChange") -> dict[str, Any]:
    fields: dict[str, Any] = {"action": change.action, "reason": change.reason}
    if change.memory_id is not None:
        fields |= {
            "memory": {"name": str(MemoryName(engine, change.memory_id))},
            "etag": str(change.version),
        }
    if change.action != "DELETED":
        fields["after"] = _render_after(change)
    if extracted := change.extracted_memories():
        fields["extractedMemories"] = extracted
    return fields


def _render_after(change: "PlannedChange") -> dict[str, Any]:
    if change.field is not None:
        return {"structuredContent": change.field.structured_content()}
    return {"fact": change.fact, "topics": topic_columns(change.topics)}


async def read_preview(session: Session, stored: Mapping[str, Any], clock: Clock) -> dict[str, Any]:
    """Add the present text of each memory that still has the version of the plan."""
    changes = [
        await _with_before(session, change, clock) for change in stored.get("plannedChanges", [])
    ]
    return {**stored, **({"plannedChanges": changes} if changes else {})}


async def _with_before(
    session: Session, planned: Mapping[str, Any], clock: Clock
) -> dict[str, Any]:
    if "memory" not in planned:
        return dict(planned)
    name, version = MemoryName.parse(planned["memory"]["name"]), int(planned["etag"])
    before = await find_version(session, name, version, clock.now())
    if before is None:
        return dict(planned)
    wire = before.wire()
    return {**planned, "before": {key: wire[key] for key in _SHOWN if key in wire}}
