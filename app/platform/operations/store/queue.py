"""What of some work is still to be done.

All functions take part in the caller's transaction.
"""

from collections.abc import Collection

from sqlalchemy import select

from app.adapters.db.session import Session
from app.platform.operations.logic.states import State
from app.platform.operations.store.tables import OperationRow


async def keys_unfinished(
    session: Session, engine_id: int, kind: str, keys: Collection[str]
) -> frozenset[str]:
    """Return those of the keys of which an operation of a kind waits or runs."""
    statement = select(OperationRow.key).where(
        OperationRow.engine_id == engine_id,
        OperationRow.kind == kind,
        OperationRow.key.in_(keys),
        OperationRow.state.in_([State.PENDING, State.RUNNING]),
    )
    return frozenset(one for one in (await session.execute(statement)).scalars() if one)
