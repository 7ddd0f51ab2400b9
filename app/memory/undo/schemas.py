"""The wire form of `{operation}:undo`; the method is this service's own."""

from typing import Any

from pydantic import ConfigDict, Field

from app.kernel.wire.base import WireModel
from app.kernel.wire.labels import RevisionLabels


class UndoOperationRequest(WireModel):
    """Options of an undo."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"validateOnly": True}]})

    revision_labels: RevisionLabels | None = Field(
        None, description="Labels of the revisions that the undo makes."
    )
    validate_only: bool | None = Field(
        None, description="Change nothing; the operation reports the effect on each memory."
    )

    def queued(self, operation_id: str) -> dict[str, Any]:
        """Return the JSON form for the worker; the id is that of the operation to undo."""
        return {**self.wire(), "operation": operation_id}


class QueuedUndo(UndoOperationRequest):
    """The request as it is queued for a worker."""

    operation: str
