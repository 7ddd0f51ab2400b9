"""Start of an undo: check for changes that can be undone, and queue the operation."""

from typing import Final

from app.adapters.db.session import Session
from app.adapters.resources import Resources
from app.kernel.changes import IdempotencyKey
from app.kernel.errors import FailedPrecondition, Reason
from app.kernel.limits import Counted
from app.kernel.names import EngineName, OperationName
from app.kernel.wire.privacy_config import Place
from app.memory.memories.services.memories import MemoryService
from app.memory.undo import store
from app.memory.undo.schemas import UndoOperationRequest
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.limits.services.quotas import check_more
from app.platform.operations.logic.states import SCAN_PRIVACY, OperationState
from app.platform.operations.services.mutation import Method, mutate
from app.platform.operations.store import repository as operations
from app.platform.operations.store.repository import NewOperation
from app.platform.operations.store.tables import OperationRow
from app.platform.privacy.logic import noted

UNDO: Final = "undo.undo"
"""Kind of the operation that undoes another one."""
_KEPT = ("undoneOperation", "validateOnly")
"""Metadata of an undo that its retry keeps."""


_METHOD = Method(UNDO, "UndoOperation")


async def start(
    resources: Resources,
    name: OperationName,
    request: UndoOperationRequest,
    once: IdempotencyKey | None,
) -> OperationRow:
    """Queue the undo of an operation; undos check versions and need not wait for each other.

    Raises:
        FailedPrecondition: the operation has not ended, or has no changes that can be undone.
        InvalidArgument: the labels contain values that the engine refuses.
        NotFound: the operation does not exist.
        ResourceExhausted: the engine has the maximum number of waiting operations.
    """
    service = MemoryService.of(resources)
    now = service.clock.now()
    place, fields = Place.DIRECT, {"revision_labels"}
    request, masked = await service.privacy.admit(name.engine, place, request, fields)
    async with mutate(service, engines.locked(name.engine), _METHOD, once, now=now) as change:
        if change.replayed is not None:
            return change.replayed
        session = change.session
        await change.check_queue()
        requested = await operations.get(session, name, now)
        # The operation that changed memories may be deleted before its revisions.
        engine_id, changing = requested.engine_id, _changing_id(requested)
        source = await store.find_operation(session, engine_id, changing, now)
        source = source or requested
        _check_ended(source)
        if not await store.has_traces(
            session, engine_id, changing, now
        ) and not await store.list_deleted(session, engine_id, changing, now):
            raise _nothing_to_undo(source)
        change.within(requested.scopes)
        change.note(undoneOperation=requested.name, **noted(masked))
        if request.validate_only:
            change.note(validateOnly=True)
        undo = await change.queue(None, request.queued(changing))
        await operations.note_undo(session, undo)
        return undo


async def retry(
    resources: Resources, session: Session, failed: OperationRow, new: NewOperation
) -> NewOperation:
    """Complete the retry of a failed undo; the worker looks for changes to undo again."""
    engine = await engines.get(session, EngineName.parse(failed.engine_name), Lock.SHARED)
    await check_more(session, resources.settings, engine.engine_id, Counted.BYTES)
    return new.noting(**{key: failed.details[key] for key in _KEPT if key in failed.details})


def _changing_id(requested: OperationRow) -> str:
    # An ingestion's revisions name its generation.
    generation = (requested.response or {}).get("generateMemoriesOperation")
    return requested.operation_id if generation is None else str(generation).rpartition("/")[2]


def _check_ended(source: OperationRow) -> None:
    if not OperationState(source.state).is_final:
        raise FailedPrecondition(
            f"{source.name} has not ended; wait for its end, or cancel it.",
            Reason.OPERATION_RUNNING,
        )


def _nothing_to_undo(source: OperationRow) -> FailedPrecondition:
    return FailedPrecondition(f"{source.name} {_reason(source)}", Reason.NOTHING_TO_UNDO)


def _reason(source: OperationRow) -> str:
    if source.state == OperationState.FAILED:
        return "failed, so it changed nothing."
    if source.state == OperationState.CANCELLED:
        return "was cancelled before it changed anything."
    if source.details.get("revisionsDisabled"):
        return "kept no revisions, so its changes are not known."
    if "erased" in source.details:
        return "erased memories for good, so they cannot be restored."
    is_scan = source.kind == SCAN_PRIVACY
    masked = "masked sensitive values, which are kept nowhere."
    return masked if is_scan else "changed no memory, or its revisions are no longer kept."
