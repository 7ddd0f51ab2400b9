"""Enqueueing of slow work for workers: chunking of long texts, embedding of chunks."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, Final

from app.adapters.db.bulk import insert_drawn_rows
from app.adapters.db.session import Session
from app.artifacts.tasks.logic.kinds import ArtifactState
from app.artifacts.tasks.store import contents, repository
from app.artifacts.tasks.store.keys import ContentPlace
from app.artifacts.tasks.store.tables import NamespaceRow
from app.kernel.names import EngineName
from app.kernel.wire.base import WireModel
from app.platform.engines.store.rows import name_of
from app.platform.engines.store.tables import EngineRow
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
    """Enqueue the indexing of a content, in the transaction that stores the artifact.

    Raises:
        ResourceExhausted: the engine's queue is full.
    """
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

    No operation is added if one is queued or running and not cancelled, since it will see the
    chunks of this transaction. It finishes with the namespace locked, and only if every chunk has a
    vector.

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
    """Return the contents in state `indexing` that no worker will index any more.

    Their operation failed permanently or was cancelled.
    """
    keys = {_key(content_id): content_id for content_id in content_ids}
    going_on = await queue.keys_unfinished(session, engine_id, INDEX, keys)
    return [content_id for key, content_id in keys.items() if key not in going_on]


async def failures(
    session: Session, engine_id: int, content_ids: Collection[str]
) -> dict[str, str]:
    """Return the error of the last failed indexing of each content, if known.

    Operations are kept only for a limited time.
    """
    keys = {_key(content_id): content_id for content_id in content_ids}
    found = await queue.last_errors(session, engine_id, INDEX, keys)
    return {keys[key]: message for key, message in found.items()}


async def give_up(session: Session, place: ContentPlace) -> None:
    """Mark an artifact ready without text if its indexing was given up; it can only be exported."""
    row = await repository.lock_content(session, place.engine_id, place.content_id)
    if row is None or row.state != ArtifactState.INDEXING:
        return
    # No operation can finish meanwhile: it would have to lock this row to mark it ready.
    if await list_given_up(session, place.engine_id, [place.content_id]):
        await contents.remove_chunks(session, place)
        await repository.update_artifact(session, row, {"state": ArtifactState.READY, "chunks": 0})
