"""Schemas of `{operation}:undo`; this method is an addition of this service."""

from typing import Any

from pydantic import ConfigDict, Field

from app.kernel.wire.base import WireModel
from app.kernel.wire.objects import RevisionLabels
from app.memory.memories.schemas.memories import NamedMemory


class UndoOperationRequest(WireModel):
    """Options of an undo."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"validateOnly": True}]})

    revision_labels: RevisionLabels | None = Field(
        None, description="Labels of the revisions that the undo makes."
    )
    validate_only: bool | None = Field(
        None, description="True: change nothing; the operation reports the effect on each memory."
    )

    def queued(self, operation_id: str) -> dict[str, Any]:
        """Return the JSON form for the worker, with the id of the operation to undo."""
        return {**self.wire(), "operation": operation_id}


class UndoneMemory(WireModel):
    """A memory that an undo changed."""

    memory: NamedMemory = Field(description="The memory.")
    action: str = Field(
        description="`DELETED`: it did not exist before the operation. `UPDATED`: it has its"
        " earlier content again. `RESTORED`: it was deleted, and exists again."
    )
    previous_revision: str | None = Field(
        None,
        description="Full name of the last revision that the operation made of it; absent: it kept"
        " none.",
    )


class SkippedMemory(WireModel):
    """A memory that an undo did not change."""

    memory: NamedMemory = Field(description="The memory.")
    reason: str = Field(
        description="`CHANGED_SINCE`, `EXPIRED`, `NOT_RECOVERABLE`, `REVISION_NOT_KEPT` or"
        " `ERASED`."
    )


class UndoOperationResponse(WireModel):
    """The effect of an undo on each memory, or in a preview the effect that it would have."""

    undone_memories: list[UndoneMemory] | None = Field(
        None, description="Memories that it changed; absent: none."
    )
    skipped_memories: list[SkippedMemory] | None = Field(
        None, description="Memories that it did not change; absent: none."
    )


class QueuedUndo(UndoOperationRequest):
    """The request as it is queued for a worker."""

    operation: str
