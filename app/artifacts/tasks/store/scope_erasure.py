"""Erasure of a user's task memory as part of the erasure of a scope.

All functions take part in the caller's transaction.
"""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement, and_, delete, func, literal, select, true

from app.adapters.db.arrays import any_of, rows_of
from app.adapters.db.session import Session
from app.adapters.db.subjects import Counts, Erasure, RowsOf, Subject
from app.artifacts.tasks.store.erasure import PAGES_AT_ONCE, mark_derived
from app.artifacts.tasks.store.tables import (
    ArtifactRow,
    ChunkRow,
    NamespaceRow,
    PageRow,
    ToolPolicyRow,
    VectorRow,
)

_TABLE: Any = NamespaceRow.__table__
_KEY = (_TABLE.c.memory, _TABLE.c.namespace)
_NAME = NamespaceRow.memory + literal("/namespaces/") + NamespaceRow.namespace


async def _count(session: Session, subject: Subject) -> Counts:
    """Count the user's namespaces, and the policies of the task memories that become empty."""
    policies = select(func.count()).select_from(ToolPolicyRow).where(_is_left(subject))
    namespaces = await RowsOf(NamespaceRow).count(session, subject)
    return {**namespaces, "tool_policies": (await session.execute(policies)).scalar_one()}


def _is_left(subject: Subject) -> ColumnElement[bool]:
    """Select the policies of task memories that contain only namespaces of the subject."""
    same = and_(
        NamespaceRow.engine_id == subject.engine_id, NamespaceRow.memory == ToolPolicyRow.memory
    )
    return and_(
        ToolPolicyRow.engine_id == subject.engine_id,
        select(NamespaceRow.namespace).where(same, subject.selects(NamespaceRow)).exists(),
        ~select(NamespaceRow.namespace).where(same, _is_of_others(subject)).exists(),
    )


def _is_of_others(subject: Subject) -> ColumnElement[bool]:
    return func.coalesce(~subject.selects(NamespaceRow), true())


async def _find_ids(session: Session, subject: Subject, ids: Collection[str]) -> Collection[str]:
    """Return the ids of namespaces of the user, and of task memories with only such namespaces."""
    mine = subject.selects(NamespaceRow)
    namespaces = select(_NAME).where(mine, any_of(ids) == _NAME)
    memories = (
        select(NamespaceRow.memory)
        .where(NamespaceRow.engine_id == subject.engine_id, NamespaceRow.memory == any_of(ids))
        .group_by(NamespaceRow.memory)
        .having(~func.bool_or(_is_of_others(subject)))
    )
    found = set((await session.execute(namespaces)).scalars())
    return found.union((await session.execute(memories)).scalars())


async def _remove(session: Session, subject: Subject, limit: int) -> Counts:
    """Remove empty namespaces of the user, and policies of task memories that become empty."""
    # Policies must go first, since they are found through the namespaces of their task memory.
    policies = await session.execute(
        delete(ToolPolicyRow)
        .where(ToolPolicyRow.engine_id == subject.engine_id, _is_left(subject))
        .returning(ToolPolicyRow.tool)
        .execution_options(synchronize_session=False)
    )
    some = select(NamespaceRow).where(subject.selects(NamespaceRow)).limit(limit).with_for_update()
    rows = (await session.execute(some)).scalars().all()
    if not rows:
        return {}
    columns = {column.name: column for column in _KEY}
    keys = rows_of("keys", columns, [[getattr(row, name) for name in columns] for row in rows])
    await session.execute(
        delete(NamespaceRow)
        .where(
            NamespaceRow.engine_id == subject.engine_id,
            *(column == keys.c[column.name] for column in _KEY),
        )
        .execution_options(synchronize_session=False)
    )
    for row in rows:
        await mark_derived(session, row, None)
    removed = {NamespaceRow.__tablename__: len(rows), "tool_policies": len(policies.all())}
    return {table: count for table, count in removed.items() if count}


_NAMESPACES: Erasure = replace(
    RowsOf(NamespaceRow).erasure(),
    collection="taskMemories",
    find_ids=_find_ids,
    tables=("task_namespaces", "tool_policies"),
    count=_count,
    remove=_remove,
)
ERASURES = (
    RowsOf(PageRow, most=PAGES_AT_ONCE).erasure(),
    RowsOf(VectorRow).erasure(),
    RowsOf(ChunkRow).erasure(),
    RowsOf(ArtifactRow).erasure(),
    _NAMESPACES,
)
"""Erasure of the rows of a scope."""
