"""Chunking and embedding by workers: their queue, and the vectors of chunks."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, and_, delete, func, select, true, tuple_

from app.adapters.db.bulk import Conflict, insert_drawn_rows, insert_rows
from app.adapters.db.session import Session
from app.adapters.llm.ports import Vectors
from app.artifacts.tasks.logic import ArtifactState
from app.artifacts.tasks.store import contents, repository
from app.artifacts.tasks.store.tables import (
    ArtifactRow,
    ChunkRow,
    ContentPlace,
    NamespaceRow,
    VectorRow,
    is_in,
)
from app.kernel.names import EngineName, NamespaceName
from app.kernel.wire.base import WireModel
from app.platform.engines.store.tables import EngineRow, name_of
from app.platform.operations.logic.states import OperationState
from app.platform.operations.store import leases, queue
from app.platform.operations.store import repository as operations
from app.platform.operations.store.repository import NewOperation
from app.platform.operations.store.tables import OperationRow
from app.platform.operations.store.waking import wake
from app.settings.settings import Settings

INDEX: Final = "tasks.index"
"""Kind of the operation that cuts a text into chunks."""
EMBED: Final = "tasks.embed"
"""Kind of the operation that embeds a namespace's chunks; a namespace has at most one queued."""
Key = tuple[str, int]
"""Content id and chunk number."""
BEGINNING: Key = ("", -1)


class QueuedIndexing(WireModel):
    """Payload naming the content to cut; it holds no text."""

    memory: str
    namespace: str
    content_id: str


class QueuedEmbedding(WireModel):
    """Payload naming the namespace to embed; it holds no text."""

    memory: str
    namespace: str


async def index_later(
    session: Session,
    settings: Settings,
    engine: EngineRow,
    namespace: NamespaceRow,
    place: ContentPlace,
    now: datetime,
) -> None:
    """Enqueue the indexing of a content, or raise ResourceExhausted if the queue is full."""
    await _queue(session, settings, _indexing(settings, engine, namespace, place, now))


async def index_restored(
    session: Session,
    settings: Settings,
    engine: EngineRow,
    contents: Sequence[tuple[NamespaceRow, ContentPlace]],
    now: datetime,
) -> None:
    """Enqueue the indexing of all contents of a restored archive, even if the queue is full."""
    new = [_indexing(settings, engine, namespace, place, now) for namespace, place in contents]
    rows = [page.columns(OperationState.PENDING, None) for page in new]
    await insert_drawn_rows(OperationRow, session, rows, "operation_id")
    await wake(session, engine.engine_id, now, now)


def _indexing(
    settings: Settings,
    engine: EngineRow,
    namespace: NamespaceRow,
    place: ContentPlace,
    now: datetime,
) -> NewOperation:
    request = QueuedIndexing(
        memory=place.memory, namespace=place.namespace, content_id=place.content_id
    )
    new = _operation(settings, name_of(engine), namespace, INDEX, now)
    return new.queued(_key(place.content_id), _read(request))


async def embed_later(
    session: Session, settings: Settings, engine: EngineName, namespace: NamespaceRow, now: datetime
) -> None:
    """Enqueue the embedding of a namespace that has a model, in the transaction that locked it.

    No operation is added if one is queued or running and not cancelled: it finishes with the
    namespace locked, and only if every chunk has a vector.

    Raises:
        ResourceExhausted: see `index_later`.
    """
    if namespace.embedding_model is None:
        return
    key = f"{EMBED}/{namespace.memory}/{namespace.namespace}"
    operation = await leases.unfinished(session, namespace.engine_id, EMBED, key)
    if operation is not None and not operation.cancel_requested:
        return
    request = QueuedEmbedding(memory=namespace.memory, namespace=namespace.namespace)
    new = _operation(settings, engine, namespace, EMBED, now)
    await _queue(session, settings, new.queued(key, _read(request)))


_METHODS = {INDEX: "IndexArtifact", EMBED: "EmbedNamespace"}


def _operation(
    settings: Settings, engine: EngineName, namespace: NamespaceRow, kind: str, now: datetime
) -> NewOperation:
    new = NewOperation.of(engine, kind, _METHODS[kind], now, settings.operation_retention)
    return new if namespace.user_id is None else new.concerning({"user_id": namespace.user_id})


async def _queue(session: Session, settings: Settings, new: NewOperation) -> None:
    await leases.check_queue(session, new.engine_id, settings.engine_max_queued_operations)
    await operations.insert(session, new)


def _read(request: WireModel) -> dict[str, Any]:
    return request.model_dump(mode="json")


def _key(content_id: str) -> str:
    return f"{INDEX}/{content_id}"


async def list_given_up(
    session: Session, engine_id: int, content_ids: Collection[str]
) -> Sequence[str]:
    """Return the contents in state `indexing` that no worker will index any more."""
    keys = {_key(content_id): content_id for content_id in content_ids}
    going_on = await queue.keys_unfinished(session, engine_id, INDEX, keys)
    return [content_id for key, content_id in keys.items() if key not in going_on]


async def failures(
    session: Session, engine_id: int, content_ids: Collection[str]
) -> dict[str, str]:
    """Return the error of the last failed indexing of each content, while that is kept."""
    keys = {_key(content_id): content_id for content_id in content_ids}
    errors = await queue.last_errors(session, engine_id, INDEX, keys)
    return {keys[key]: message for key, message in errors.items()}


async def give_up(session: Session, place: ContentPlace) -> None:
    """Mark an artifact ready without text if its indexing was given up; it can only be exported."""
    row = await repository.lock_content(session, place.engine_id, place.content_id)
    if row is None or row.state != ArtifactState.INDEXING:
        return
    # No operation can finish meanwhile: it would have to lock this row to mark it ready.
    if await list_given_up(session, place.engine_id, [place.content_id]):
        await contents.remove_chunks(session, place)
        await repository.update_artifact(session, row, {"state": ArtifactState.READY, "chunks": 0})


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
    selected: Sequence[ColumnElement[bool]],
    model_id: str,
    vector: Vectors,
    limit: int,
) -> dict[Key, int]:
    """Return the chunks of the selected artifacts that are nearest to a vector, nearest first.

    The search is exhaustive. A chunk ranks by its nearest part. The values are the positions of the
    artifacts.
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
        .where(*selected)
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

    The caller has locked the namespace. Existing vectors stay; none is written for deleted
    artifacts.
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
