"""Unfinished work: its lookup, and its count of attempts.

All functions take part in the caller's transaction.
"""

from collections.abc import Collection

from sqlalchemy import select, update

from app.adapters.db.session import Session
from app.platform.operations.logic.states import OperationState
from app.platform.operations.store.repository import Owned
from app.platform.operations.store.tables import OperationRow


async def keys_unfinished(
    session: Session, engine_id: int, kind: str, keys: Collection[str]
) -> frozenset[str]:
    """Return the keys that have a pending or running operation of a kind."""
    statement = select(OperationRow.key).where(
        OperationRow.engine_id == engine_id,
        OperationRow.kind == kind,
        OperationRow.key.in_(keys),
        OperationRow.state.in_([OperationState.PENDING, OperationState.RUNNING]),
    )
    return frozenset(key for key in (await session.execute(statement)).scalars() if key)


async def restart_attempts(session: Session, owned: Owned) -> bool:
    """Restart the count of attempts of work that advances; return False if the lease was lost."""
    statement = (
        update(OperationRow)
        .where(owned.is_mine())
        .values(attempts=0)
        .returning(OperationRow.operation_id)
        .execution_options(synchronize_session=False)
    )
    return (await session.execute(statement)).first() is not None
