"""The answer of a `validateOnly` generation: what would change, and why.

The texts that it would write are nowhere else, so they are kept in the operation; what memories
say at present is read when the answer is, so that it does not outlive them there.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from app.adapters.db.session import Session
from app.kernel.clock import Clock
from app.kernel.names import EngineName, MemoryName
from app.memory.generation.logic.outcomes import MAX_TOLD, Dropped, Refused
from app.memory.generation.logic.plan import Plan, PlannedChange
from app.memory.generation.services.turns import topic_columns
from app.memory.memories.schemas.memories import Memory
from app.memory.memories.store import repository as memories
from app.platform.operations.logic.states import type_url

_SHOWN = ("fact", "topics", "structuredContent")
"""What a preview tells of a memory."""


def preview(
    engine: EngineName, author: str, planned: Plan, dropped: Sequence[Dropped]
) -> dict[str, Any]:
    """Return the stored answer; `engine` is the stored full name."""
    refused = planned.outcome.refused[:MAX_TOLD]
    lists = {
        "plannedChanges": [_planned(engine, change) for change in planned.changes],
        "droppedFacts": [one.told() for one in dropped[:MAX_TOLD]],
        "refusedDecisions": [_refused(engine, one) for one in refused],
    }
    found = {name: told for name, told in lists.items() if told}
    return {"@type": type_url("GenerateMemoriesResponse"), "author": author, **found}


def _refused(engine: EngineName, one: Refused) -> dict[str, Any]:
    found: dict[str, Any] = {"fact": one.fact, "action": one.action, "reason": one.reason}
    if one.memory_id is not None:
        found["memory"] = {"name": str(MemoryName(engine, one.memory_id))}
    return found | ({"text": one.text} if one.text else {})


def _planned(engine: EngineName, change: PlannedChange) -> dict[str, Any]:
    found: dict[str, Any] = {"action": change.action, "reason": change.reason}
    if change.memory_id is not None:
        found |= {
            "memory": {"name": str(MemoryName(engine, change.memory_id))},
            "etag": str(change.version),
        }
    if change.action != "DELETED":
        found["after"] = _after(change)
    if extracted := change.extracted_memories():
        found["extractedMemories"] = extracted
    return found


def _after(change: PlannedChange) -> dict[str, Any]:
    if change.field is not None:
        return {"structuredContent": change.field.structured_content()}
    return {"fact": change.fact, "topics": topic_columns(change.topics)}


async def read_preview(session: Session, stored: Mapping[str, Any], clock: Clock) -> dict[str, Any]:
    """Fill in what each memory says, as long as it is the version that the plan was made on."""
    changes = [await _with_before(session, one, clock) for one in stored.get("plannedChanges", [])]
    return {**stored, **({"plannedChanges": changes} if changes else {})}


async def _with_before(
    session: Session, planned: Mapping[str, Any], clock: Clock
) -> dict[str, Any]:
    if "memory" not in planned:
        return dict(planned)
    now = clock.now()
    name = MemoryName.parse(planned["memory"]["name"])
    row = await memories.find(session, name, memories.is_known(now))
    if row is None:
        return dict(planned)
    before = Memory.from_row(name.engine, row)
    if before.etag != planned["etag"]:
        revision = await memories.find_revision(session, name, int(planned["etag"]), now)
        if revision is None:
            return dict(planned)
        before = Memory.from_revision(before, revision)
    wire = before.wire()
    return {**planned, "before": {key: wire[key] for key in _SHOWN if key in wire}}
