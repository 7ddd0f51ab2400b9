"""Statements on the artifacts of an engine that is being restored from an archive.

All functions take part in the caller's transaction.
"""

from collections.abc import Sequence

from sqlalchemy import and_, func, select, update

from app.adapters.db.arrays import any_of
from app.adapters.db.session import Session
from app.artifacts.tasks.logic.kinds import ArtifactState
from app.artifacts.tasks.store.tables import ArtifactRow, NamespaceRow


async def count_again(session: Session, engine_id: int) -> None:
    """Set the counts of each namespace by its artifacts."""
    of_it = and_(
        ArtifactRow.engine_id == NamespaceRow.engine_id,
        ArtifactRow.memory == NamespaceRow.memory,
        ArtifactRow.namespace == NamespaceRow.namespace,
    )
    count = select(func.count()).where(of_it).scalar_subquery()
    size = select(func.coalesce(func.sum(ArtifactRow.size_bytes), 0)).where(of_it)
    await session.execute(
        update(NamespaceRow)
        .where(NamespaceRow.engine_id == engine_id)
        .values(artifacts=count, bytes=size.scalar_subquery())
        .execution_options(synchronize_session=False)
    )


async def list_begun(
    session: Session, engine_id: int
) -> Sequence[tuple[NamespaceRow, ArtifactRow]]:
    """Return the artifacts whose texts are not cut yet, with their namespaces."""
    statement = (
        select(NamespaceRow, ArtifactRow)
        .join(
            ArtifactRow,
            and_(
                ArtifactRow.engine_id == NamespaceRow.engine_id,
                ArtifactRow.memory == NamespaceRow.memory,
                ArtifactRow.namespace == NamespaceRow.namespace,
            ),
        )
        .where(NamespaceRow.engine_id == engine_id, ArtifactRow.state == ArtifactState.INDEXING)
    )
    return [(row[0], row[1]) for row in await session.execute(statement)]


async def make_ready(session: Session, engine_id: int, content_ids: Sequence[str]) -> None:
    """Make artifacts without text ready."""
    if not content_ids:
        return
    await session.execute(
        update(ArtifactRow)
        .where(ArtifactRow.engine_id == engine_id, ArtifactRow.content_id == any_of(content_ids))
        .values(state=ArtifactState.READY)
        .execution_options(synchronize_session=False)
    )
