"""Statements on the vectors of chunks; all are made by the model that their namespace names.

All functions take part in the caller's transaction.
"""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import ColumnElement, and_, delete, func, select, true, tuple_

from app.adapters.db.bulk import Conflict, insert_rows
from app.adapters.db.session import Session
from app.adapters.llm.ports import Vectors
from app.artifacts.tasks.logic.kinds import ArtifactState
from app.artifacts.tasks.store.keys import is_in
from app.artifacts.tasks.store.tables import ArtifactRow, ChunkRow, VectorRow
from app.kernel.names import NamespaceName

Key = tuple[str, int]
"""Content id and chunk number."""
BEGINNING: Key = ("", -1)


async def list_lacking(
    session: Session, name: NamespaceName, now: datetime, after: Key, limit: int
) -> dict[Key, str]:
    """Return the chunks without vectors of a namespace's ready artifacts, ordered by key."""
    has_one = select(VectorRow.n).where(
        is_in(VectorRow, ChunkRow),
        VectorRow.content_id == ChunkRow.content_id,
        VectorRow.n == ChunkRow.n,
    )
    key = (ChunkRow.content_id, ChunkRow.n)
    statement = (
        select(*key, ChunkRow.text)
        .join(
            ArtifactRow,
            and_(
                is_in(ArtifactRow, ChunkRow),
                ArtifactRow.content_id == ChunkRow.content_id,
            ),
        )
        .where(
            *_readable(name, now),
            tuple_(*key) > after,
            ~has_one.exists(),
        )
        .order_by(*key)
        .limit(limit)
    )
    return {(row[0], row[1]): row[2] for row in await session.execute(statement)}


async def has_any(session: Session, name: NamespaceName, model_id: str, now: datetime) -> bool:
    """Return True if any readable chunk has a vector of the model."""
    its = select(VectorRow.n).where(_is_vector_of_artifact(model_id)).limit(1).lateral("its")
    statement = select(ArtifactRow.content_id).join(its, true()).where(*_readable(name, now))
    return (await session.execute(statement.limit(1))).first() is not None


async def list_nearest(
    session: Session,
    name: NamespaceName,
    model_id: str,
    vector: Vectors,
    now: datetime,
    limit: int,
) -> dict[Key, int]:
    """Return the chunks nearest to a vector, nearest first; the search is exhaustive.

    A chunk ranks by its nearest part. The values are the positions of the artifacts.
    """
    distance = func.min(VectorRow.embedding.l2_distance(vector)).label("distance")
    # Vectors are read by key for each artifact, since the engine may have many more vectors.
    its = (
        select(VectorRow.n, distance)
        .where(_is_vector_of_artifact(model_id))
        .group_by(VectorRow.n)
        .lateral("its")
    )
    statement = (
        select(ArtifactRow.content_id, its.c.n, ArtifactRow.ordinal)
        .join(its, true())
        .where(*_readable(name, now))
        .order_by(its.c.distance, ArtifactRow.ordinal, its.c.n)
        .limit(limit)
    )
    return {(row[0], row[1]): row[2] for row in await session.execute(statement)}


async def insert(
    session: Session,
    name: NamespaceName,
    model_id: str,
    vectors: Mapping[tuple[str, int, int], Vectors],
) -> None:
    """Insert the vectors of all parts of chunks, keyed by content id, chunk and part.

    The caller has locked the namespace. Existing vectors stay; vectors of deleted artifacts are not
    written.
    """
    contents = {content_id for content_id, *_ in vectors}
    statement = (
        select(ArtifactRow.content_id)
        .where(is_in(ArtifactRow, name), ArtifactRow.content_id.in_(contents))
        .with_for_update(read=True, key_share=True)
    )
    kept = set((await session.execute(statement)).scalars())
    values = [
        {
            "engine_id": name.memory.engine.engine,
            "memory": name.memory.memory,
            "namespace": name.namespace,
            "content_id": content_id,
            "n": n,
            "part": part,
            "model_id": model_id,
            "embedding": vector,
        }
        for (content_id, n, part), vector in vectors.items()
        if content_id in kept
    ]
    await insert_rows(VectorRow, session, values, Conflict())


async def remove(session: Session, name: NamespaceName) -> None:
    """Delete the vectors of a namespace that the caller has locked."""
    inside = select(ArtifactRow.content_id).where(is_in(ArtifactRow, name))
    await session.execute(
        delete(VectorRow)
        .where(
            is_in(VectorRow, name),
            # Needed to use the index.
            VectorRow.content_id.in_(inside),
        )
        .execution_options(synchronize_session=False)
    )


def _is_vector_of_artifact(model_id: str) -> ColumnElement[bool]:
    return and_(
        VectorRow.engine_id == ArtifactRow.engine_id,
        VectorRow.content_id == ArtifactRow.content_id,
        VectorRow.model_id == model_id,
    )


def _readable(name: NamespaceName, now: datetime) -> list[ColumnElement[bool]]:
    return [
        is_in(ArtifactRow, name),
        ArtifactRow.state == ArtifactState.READY,
        ArtifactRow.expire_time > now,
    ]
