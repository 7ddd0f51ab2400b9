"""Statements on the policies of tools. All functions take part in the caller's transaction."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, delete, select
from sqlalchemy.dialects.postgresql import insert

from app.adapters.db.lists import List
from app.adapters.db.session import Session
from app.artifacts.tasks.store.tables import ToolPolicyRow
from app.kernel.names import TaskMemoryName, ToolPolicyName


async def find(
    session: Session, name: ToolPolicyName, *, for_update: bool = False
) -> ToolPolicyRow | None:
    """Return the policy of a tool, or None."""
    statement = select(ToolPolicyRow).where(_is_policy(name))
    if for_update:
        statement = statement.with_for_update()
    return (await session.execute(statement)).scalar_one_or_none()


async def put(session: Session, name: ToolPolicyName, values: Mapping[str, Any]) -> ToolPolicyRow:
    """Set the policy of a tool."""
    key = {
        "engine_id": name.memory.engine.engine,
        "memory": name.memory.memory,
        "tool": name.tool,
    }
    inserted = insert(ToolPolicyRow).values({**key, **values, "version": 1})
    statement = inserted.on_conflict_do_update(
        index_elements=list(key),
        set_={
            **{column: inserted.excluded[column] for column in values if column != "create_time"},
            "version": ToolPolicyRow.version + 1,
        },
    ).returning(ToolPolicyRow)
    options = {"populate_existing": True}
    return (await session.execute(statement, execution_options=options)).scalar_one()


POLICIES = List("toolPolicies", (ToolPolicyRow.tool,))


def select_policies(name: TaskMemoryName) -> Select[ToolPolicyRow]:
    """Select the policies of a memory."""
    return select(ToolPolicyRow).where(
        ToolPolicyRow.engine_id == name.engine.engine, ToolPolicyRow.memory == name.memory
    )


async def remove(session: Session, name: ToolPolicyName) -> None:
    """Remove the policy of a tool."""
    await session.execute(delete(ToolPolicyRow).where(_is_policy(name)))


def _is_policy(name: ToolPolicyName) -> ColumnElement[bool]:
    return and_(
        ToolPolicyRow.engine_id == name.memory.engine.engine,
        ToolPolicyRow.memory == name.memory.memory,
        ToolPolicyRow.tool == name.tool,
    )
