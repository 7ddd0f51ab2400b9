"""Counts and expiry times of a namespace's contents.

All functions take part in the caller's transaction, which has locked the namespace.
"""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ARRAY, Text, any_, func, literal, select

from app.adapters.db.session import Session
from app.artifacts.tasks.logic.kinds import ArtifactState
from app.artifacts.tasks.store.keys import is_in, is_readable
from app.artifacts.tasks.store.tables import ArtifactRow, NamespaceRow
from app.kernel.task_names import NamespaceName


async def sum_coming(
    session: Session, row: NamespaceRow, now: datetime, but: str | None = None
) -> tuple[int, int]:
    """Return the number of uploads under way into a namespace, and their total bytes.

    The upload with content id `but` is excluded.
    """
    statement = select(func.count(), func.coalesce(func.sum(ArtifactRow.size_bytes), 0)).where(
        is_in(ArtifactRow, row),
        # Needed to use the index.
        ArtifactRow.ordinal == 0,
        ArtifactRow.state == ArtifactState.UPLOADING,
        ArtifactRow.expire_time > now,
        ArtifactRow.content_id != (but or ""),
    )
    totals = (await session.execute(statement)).one()
    return int(totals[0]), int(totals[1])


async def latest_expiry(session: Session, row: NamespaceRow) -> datetime | None:
    """Return the latest expiry in a namespace; uploads count only if there are no artifacts."""
    latest = func.max(ArtifactRow.expire_time)
    whole = latest.filter(ArtifactRow.state != ArtifactState.UPLOADING)
    statement = select(func.coalesce(whole, latest)).where(is_in(ArtifactRow, row))
    return (await session.execute(statement)).scalar_one()


async def earliest_expiry(session: Session, row: NamespaceRow, now: datetime) -> datetime | None:
    """Return the earliest expiry among a namespace's readable artifacts."""
    statement = select(func.min(ArtifactRow.expire_time)).where(
        is_in(ArtifactRow, row), is_readable(now)
    )
    return (await session.execute(statement)).scalar_one()


async def has_lost_source(session: Session, name: NamespaceName, artifacts: Sequence[str]) -> bool:
    """Return True if any of the artifacts has lost a source.

    Locks the artifacts until the transaction ends: if a source is deleted meanwhile, the deletion
    also marks new artifacts derived from them.
    """
    row = ArtifactRow
    statement = (
        select(row.source_deleted)
        .where(
            is_in(row, name),
            row.name == any_(literal(artifacts, ARRAY(Text))),
            row.origin.is_not(None),
        )
        .with_for_update(read=True, of=row)
    )
    return any((await session.execute(statement)).scalars())
