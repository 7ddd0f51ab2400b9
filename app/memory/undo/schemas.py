"""The wire form of `{operation}:undo`; the method is this service's own."""

from typing import Any

from pydantic import ConfigDict, Field

from app.kernel.wire.base import WireModel
from app.kernel.wire.labels import Labels


class UndoOperationRequest(WireModel):
    """How to take an operation back."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"validateOnly": True}]})

    revision_labels: Labels | None = Field(
        None, description="Of the revisions that the undo makes."
    )
    validate_only: bool | None = Field(
        None, description="Change nothing; the operation tells what would become of each memory."
    )

    def queued(self, operation_id: str) -> dict[str, Any]:
        """Return the JSON form that the worker is given; the id is of the operation to undo."""
        return {**self.wire(), "operation": operation_id}


class QueuedUndo(UndoOperationRequest):
    """The request as the worker gets it."""

    operation: str
