"""Has a worker do what a caller need not wait for: cut a long text into pieces, embed pieces."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, Final

from app.adapters.db.session import Session
from app.artifacts.tasks.logic.kinds import State
from app.artifacts.tasks.store import contents, repository
from app.artifacts.tasks.store.contents import Place
from app.artifacts.tasks.store.tables import NamespaceRow
from app.kernel.names import EngineName
from app.kernel.wire.base import WireModel
from app.platform.engines.store.rows import name_of
from app.platform.engines.store.tables import EngineRow
from app.platform.operations.logic.states import type_url
from app.platform.operations.store import claims, queue
from app.platform.operations.store import repository as operations
from app.platform.operations.store.repository import NewOperation
from app.settings.settings import Settings

INDEX: Final = "tasks.index"
"""The kind of the operation that cuts a text into pieces."""
EMBED: Final = "tasks.embed"
"""The kind of that which embeds the pieces of a namespace, of which each has at most one."""


class QueuedIndexing(WireModel):
    """Which content is to be cut; of what it says, nothing."""

    memory: str
    namespace: str
    content_id: str


class QueuedEmbedding(WireModel):
    """Which namespace's pieces are to be embedded; of what they say, nothing."""

    memory: str
    namespace: str


async def index_later(
    session: Session,
    settings: Settings,
    engine: EngineRow,
    namespace: NamespaceRow,
    place: Place,
    now: datetime,
) -> None:
    """Queue it, in the transaction that stores the artifact.

    Raises:
        ResourceExhausted: the engine has as many operations waiting as it may.
    """
    request = QueuedIndexing(
        memory=place.memory, namespace=place.namespace, content_id=place.content_id
    )
    new = _operation(settings, name_of(engine), namespace, INDEX, now)
    await _queue(session, settings, new.queued(_key(place.content_id), _read(request)))


async def embed_later(
    session: Session, settings: Settings, engine: EngineName, namespace: NamespaceRow, now: datetime
) -> None:
    """Queue it where the namespace has a model, in the transaction that has locked the namespace.

    One that is queued or runs already will see what this transaction has written: it ends with the
    namespace locked, and only if nothing lacks a vector then.

    Raises:
        ResourceExhausted: as `index_later`.
    """
    if namespace.embedding_model is None:
        return
    key = f"{EMBED}/{namespace.memory}/{namespace.namespace}"
    found = await claims.unfinished(session, namespace.engine_id, EMBED, key)
    if found is not None and not found.cancel_requested:
        return
    request = QueuedEmbedding(memory=namespace.memory, namespace=namespace.namespace)
    new = _operation(settings, engine, namespace, EMBED, now)
    await _queue(session, settings, new.queued(key, _read(request)))


_METADATA = {INDEX: "IndexArtifactOperationMetadata", EMBED: "EmbedNamespaceOperationMetadata"}


def _operation(
    settings: Settings, engine: EngineName, namespace: NamespaceRow, kind: str, now: datetime
) -> NewOperation:
    new = NewOperation(
        engine_id=namespace.engine_id,
        engine_name=str(engine),
        kind=kind,
        now=now,
        keep=settings.operation_retention,
        details={"@type": type_url(_METADATA[kind])},
    )
    return new if namespace.user_id is None else new.concerning({"user_id": namespace.user_id})


async def _queue(session: Session, settings: Settings, new: NewOperation) -> None:
    await claims.check_queue(session, new.engine_id, settings.engine_max_queued_operations)
    await operations.insert(session, new)


def _read(request: WireModel) -> dict[str, Any]:
    return request.model_dump(mode="json")


def _key(content_id: str) -> str:
    return f"{INDEX}/{content_id}"


async def list_given_up(
    session: Session, engine_id: int, content_ids: Collection[str]
) -> Sequence[str]:
    """Return those of some contents, which are being indexed, that no worker indexes any more.

    The operation has failed for good, or was cancelled.
    """
    keys = {_key(one): one for one in content_ids}
    going_on = await queue.keys_unfinished(session, engine_id, INDEX, keys)
    return [one for key, one in keys.items() if key not in going_on]


async def give_up(session: Session, place: Place) -> None:
    """Leave an artifact without a text whose indexing was given up: it can be exported only."""
    row = await repository.lock_content(session, place.engine_id, place.content_id)
    if row is None or row.state != State.INDEXING:
        return
    # Locked: an operation ends in the transaction that makes the artifact ready.
    if await list_given_up(session, place.engine_id, [place.content_id]):
        await contents.remove_chunks(session, place)
        await repository.update_artifact(session, row, {"state": State.READY, "chunks": 0})
