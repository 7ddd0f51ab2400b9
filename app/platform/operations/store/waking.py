"""The waking of workers by a notification of the database."""

from datetime import datetime

from sqlalchemy import func, select

from app.adapters.db.session import Session
from app.platform.operations.logic.states import SOON
from app.platform.operations.store.tables import OperationRow

CHANNEL = "memory_bank_operations"
"""The channel that announces a new operation."""


async def wake_if_soon(session: Session, row: OperationRow, now: datetime) -> None:
    """Wake the workers at commit if this operation is due before they look again."""
    if row.due_time <= now + SOON:
        await wake(session)


async def wake(session: Session) -> None:
    """Wake the workers at commit."""
    await session.execute(select(func.pg_notify(CHANNEL, "")))
