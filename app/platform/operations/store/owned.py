"""The ownership of a running operation by a worker."""

from dataclasses import dataclass

from sqlalchemy import ColumnElement, and_

from app.platform.operations.logic.states import OperationState
from app.platform.operations.store.tables import OperationRow


@dataclass(frozen=True)
class Owned:
    """A running operation and the token of its worker."""

    engine_id: int
    operation_id: str
    owner: str

    def is_mine(self) -> ColumnElement[bool]:
        """Select the row while this worker still owns it."""
        return and_(
            OperationRow.engine_id == self.engine_id,
            OperationRow.operation_id == self.operation_id,
            OperationRow.owner == self.owner,
            OperationRow.state == OperationState.RUNNING,
        )
