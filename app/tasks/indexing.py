"""Has a worker cut a text into pieces that is too long for a caller to wait for."""

from datetime import datetime
from typing import Final

from app.db.session import Session
from app.engines.schemas import name_of
from app.engines.tables import EngineRow
from app.operations import claims
from app.operations import repository as operations
from app.operations.repository import NewOperation
from app.operations.schemas import type_url
from app.settings import Settings
from app.tasks.contents import Place
from app.tasks.tables import NamespaceRow
from app.wire.base import WireModel

INDEX: Final = "tasks.index"
"""The kind of the operation that cuts a text into pieces."""


class QueuedIndexing(WireModel):
    """Which content is to be cut; of what it says, nothing."""

    memory: str
    namespace: str
    content_id: str


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
    await claims.check_queue(session, engine.engine_id, settings.engine_max_queued_operations)
    request = QueuedIndexing(
        memory=place.memory, namespace=place.namespace, content_id=place.content_id
    )
    new = NewOperation(
        engine_id=engine.engine_id,
        engine_name=str(name_of(engine)),
        kind=INDEX,
        now=now,
        keep=settings.operation_retention,
        details={"@type": type_url("IndexArtifactOperationMetadata")},
    )
    if namespace.user_id is not None:
        new = new.concerning({"user_id": namespace.user_id})
    key = f"{INDEX}/{place.content_id}"
    await operations.insert(session, new.queued(key, request.model_dump(mode="json")))
