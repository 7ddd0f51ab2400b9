"""Start of a re-embedding."""

from typing import Final

import structlog

from app.adapters.db.session import Session
from app.adapters.resources import Resources
from app.kernel.changes import IdempotencyKey
from app.kernel.names import EngineName
from app.memory.reembedding.schemas import QueuedReembedding
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.engines.store.tables import EngineRow
from app.platform.operations.services.mutation import Method, mutate
from app.platform.operations.store.repository import NewOperation
from app.platform.operations.store.tables import OperationRow

log = structlog.get_logger()

REEMBED: Final = "engines.reembed"
"""Kind of the operation that embeds an engine's memories with another model."""
_KEY: Final = "reembed"


_METHOD = Method(REEMBED, "ReembedReasoningEngine")


async def retry(
    resources: Resources, session: Session, failed: OperationRow, new: NewOperation
) -> NewOperation:
    """Complete the retry of a failed re-embedding with the model from the settings."""
    engine = await engines.get(session, EngineName.parse(failed.engine_name), Lock.SHARED)
    return _aimed(new, engine, resources.embedders.current.model_id)


def _aimed(new: NewOperation, engine: EngineRow, target: str) -> NewOperation:
    new = new.noting(toModel=target)
    if engine.embedding_model is not None:
        new = new.noting(fromModel=engine.embedding_model)
    return new.queued(_KEY, QueuedReembedding(model=target).model_dump(mode="json"))


async def start(
    resources: Resources, name: EngineName, once: IdempotencyKey | None
) -> OperationRow:
    """Queue a re-embedding with the model from the settings; an engine runs one at a time.

    If no vector is missing, the operation ends immediately.

    Raises:
        NotFound: the engine does not exist.
        ResourceExhausted: the engine has the maximum number of waiting operations.
    """
    target = resources.embedders.current.model_id
    async with mutate(resources, engines.locked(name), _METHOD, once) as change:
        if change.replayed is not None:
            return change.replayed
        await change.check_queue()
        change.operation = _aimed(change.operation, change.engine, target)
        return await change.queue(change.operation.key, change.operation.request or {})
