"""What there is in a namespace, and what is coming into it, in numbers and moments.

All functions take part in the caller's transaction, which has locked the namespace.
"""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ARRAY, ColumnElement, Text, and_, any_, func, literal, select

from app.adapters.db.session import Session
from app.artifacts.tasks.logic.kinds import State
from app.artifacts.tasks.store.tables import ArtifactRow, NamespaceRow
from app.kernel.task_names import NamespaceName


async def sum_coming(
    session: Session, row: NamespaceRow, now: datetime, but: str | None = None
) -> tuple[int, int]:
    """Return how many uploads are under way into a namespace, and how many bytes these may bring.

    Without the one whose content is `but`.
    """
    statement = select(func.count(), func.coalesce(func.sum(ArtifactRow.size_bytes), 0)).where(
        _is_in(row),
        # What the index finds them by.
        ArtifactRow.ordinal == 0,
        ArtifactRow.state == State.UPLOADING,
        ArtifactRow.expire_time > now,
        ArtifactRow.content_id != (but or ""),
    )
    found = (await session.execute(statement)).one()
    return int(found[0]), int(found[1])


async def latest_expiry(session: Session, row: NamespaceRow) -> datetime | None:
    """Return when the last of what is in a namespace expires; uploads count if nothing else is."""
    latest = func.max(ArtifactRow.expire_time)
    whole = latest.filter(ArtifactRow.state != State.UPLOADING)
    statement = select(func.coalesce(whole, latest)).where(_is_in(row))
    return (await session.execute(statement)).scalar_one()


async def earliest_expiry(session: Session, row: NamespaceRow, now: datetime) -> datetime | None:
    """Return when the first of what can be read in a namespace expires."""
    statement = select(func.min(ArtifactRow.expire_time)).where(
        _is_in(row), ArtifactRow.state != State.UPLOADING, ArtifactRow.expire_time > now
    )
    return (await session.execute(statement)).scalar_one()


async def has_lost_source(session: Session, name: NamespaceName, artifacts: Sequence[str]) -> bool:
    """Say whether artifacts of a namespace were derived themselves, and of what is gone.

    They are locked until the transaction ends: what is kept of them meanwhile is marked with them,
    if their source goes.
    """
    row = ArtifactRow
    statement = (
        select(row.source_deleted)
        .where(
            row.engine_id == name.memory.engine.engine,
            row.memory == name.memory.memory,
            row.namespace == name.namespace,
            row.name == any_(literal(artifacts, ARRAY(Text))),
            row.origin.is_not(None),
        )
        .with_for_update(read=True, of=row)
    )
    return any((await session.execute(statement)).scalars())


def _is_in(row: NamespaceRow) -> ColumnElement[bool]:
    return and_(
        ArtifactRow.engine_id == row.engine_id,
        ArtifactRow.memory == row.memory,
        ArtifactRow.namespace == row.namespace,
    )
