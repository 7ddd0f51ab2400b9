"""Reading of a scope's profile fields, and the plan of their changes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from app.adapters.db.session import Session
from app.adapters.resources import Resources
from app.kernel.ids import scope_hash
from app.kernel.names import EngineName
from app.language.merging import ASKED
from app.memory.generation.logic.fields import plan_fields
from app.memory.generation.logic.plan import Plan, PlannedChange
from app.memory.generation.logic.profiles import (
    FieldValue,
    ProfileSchema,
    StoredField,
    stored_fields,
)
from app.memory.generation.schemas import GenerateMemoriesRequest
from app.memory.memories.logic.provenance import EndedFact
from app.memory.memories.store import facts as stored_facts
from app.memory.retrieval.store import repository as retrieval


async def read_fields(
    session: Session, engine_id: int, scope: Mapping[str, str], now: datetime
) -> list[StoredField]:
    """Return the fields of a scope's profiles, the most recently changed last."""
    rows = await retrieval.find_profiles(session, engine_id, scope_hash(scope), now)
    return [
        stored
        for row in rows
        for stored in stored_fields(
            row.memory_id,
            row.version,
            row.structured_content or {},
            row.rests_on,
            is_held=row.held_time is not None,
        )
    ]


async def _ended_fields(
    session: Session, engine_id: int, scope: Mapping[str, str], now: datetime
) -> dict[tuple[str, str], EndedFact]:
    """Return the fields that deleted memories had, by profile and name; the latest end counts."""
    deleted = await stored_facts.find_deleted_profiles(session, engine_id, scope, now)
    return {
        (str(content["schemaId"]), name): ended
        for content, ended in sorted(deleted, key=lambda entry: entry[1].ended_at)
        for name in content["data"]
    }


async def with_profiles(
    resources: Resources,
    engine: EngineName,
    request: GenerateMemoriesRequest,
    planned: Plan,
    schemas: Sequence[ProfileSchema],
    values: Sequence[FieldValue],
) -> Plan:
    """Add the changes of profiles to a plan; their deletions share the generation's limit."""
    # The fields are read again now, because they may have changed since the statements were
    # read.
    if not values:
        return planned
    scope, ended = request.scope or {}, {}
    async with resources.db.snapshot() as session:
        now = resources.clock.now()
        stored = await read_fields(session, engine.engine, scope, now)
        if not request.reread_events:
            ended = await _ended_fields(session, engine.engine, scope, now)
    deleted = sum(
        change.action == "DELETED" and change.reason != ASKED for change in planned.changes
    )
    left = max(resources.settings.generation_max_deletes - deleted, 0)
    fields, dropped = plan_fields(values, stored, max_deletes=left, schemas=schemas, ended=ended)
    changes = (*planned.changes, *map(PlannedChange.of_field, fields))
    return replace(planned, changes=changes, dropped_fields=dropped)
