"""Statements on the artifacts of an engine that is being restored from an archive.

All functions take part in the caller's transaction.
"""

from collections.abc import Sequence

from sqlalchemy import and_, case, exists, false, func, literal, or_, select, update
from sqlalchemy.dialects.postgresql import aggregate_order_by

from app.adapters.db.bulk import any_of
from app.adapters.db.session import Session
from app.artifacts.tasks.logic.kinds import ArtifactState
from app.artifacts.tasks.store.contents import PAGE_BYTES
from app.artifacts.tasks.store.keys import is_in
from app.artifacts.tasks.store.tables import ArtifactRow, NamespaceRow, PageRow

_DIGESTED_BYTES = 16 * 1024**2


async def find_incomplete(session: Session, engine_id: int) -> str | None:
    """Return the name, in its engine, of an artifact with pages that do not match it, or None.

    The digests of long artifacts are not checked: Postgres would need as much memory.
    """
    of_it = and_(PageRow.engine_id == engine_id, PageRow.content_id == ArtifactRow.content_id)
    length = func.octet_length(PageRow.data)
    # All pages but the last are full.
    expected = func.least(PAGE_BYTES, ArtifactRow.size_bytes - PageRow.page * PAGE_BYTES)
    count = select(func.count()).where(of_it).scalar_subquery()
    data = func.string_agg(PageRow.data, aggregate_order_by(literal(b""), PageRow.page))
    digest = select(func.sha256(func.coalesce(data, literal(b"")))).where(of_it).scalar_subquery()
    has_wrong_digest = case(
        (ArtifactRow.size_bytes <= _DIGESTED_BYTES, ArtifactRow.sha256 != digest), else_=false()
    )
    statement = (
        select(ArtifactRow.memory, ArtifactRow.namespace, ArtifactRow.name)
        .where(
            ArtifactRow.engine_id == engine_id,
            or_(
                count * PAGE_BYTES - ArtifactRow.size_bytes >= PAGE_BYTES,
                count * PAGE_BYTES < ArtifactRow.size_bytes,
                exists().where(of_it, length != expected),
                has_wrong_digest,
            ),
        )
        .limit(1)
    )
    found = (await session.execute(statement)).one_or_none()
    return None if found is None else "taskMemories/{}/namespaces/{}/artifacts/{}".format(*found)


async def count_again(session: Session, engine_id: int) -> None:
    """Recompute the counts of each namespace from its artifacts."""
    of_it = is_in(ArtifactRow, NamespaceRow)
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
    """Return the artifacts in state `indexing`, with their namespaces."""
    statement = (
        select(NamespaceRow, ArtifactRow)
        .join(
            ArtifactRow,
            is_in(ArtifactRow, NamespaceRow),
        )
        .where(NamespaceRow.engine_id == engine_id, ArtifactRow.state == ArtifactState.INDEXING)
    )
    return [(row[0], row[1]) for row in await session.execute(statement)]


async def make_ready(session: Session, engine_id: int, content_ids: Sequence[str]) -> None:
    """Mark artifacts without text ready."""
    if not content_ids:
        return
    await session.execute(
        update(ArtifactRow)
        .where(ArtifactRow.engine_id == engine_id, ArtifactRow.content_id == any_of(content_ids))
        .values(state=ArtifactState.READY)
        .execution_options(synchronize_session=False)
    )
