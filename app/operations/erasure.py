"""Takes the texts out of stored operations, and removes those that are no longer kept.

All functions take part in the caller's transaction.
"""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, delete, func, literal_column, select, true, tuple_, update
from sqlalchemy.dialects.postgresql import JSONB

from app.db.clock import database_time
from app.db.session import Session
from app.operations.repository import PREVIEW
from app.operations.tables import OperationRow, RequestIdRow


async def withdraw_previews(
    session: Session, engine_id: int, memory_ids: Sequence[str] | None = None
) -> None:
    """Take the texts out of an engine's stored previews, or of those that name one of the memories.

    To be called after the erasure of memories: it waits for previews that are being stored, since
    those lock the memories that they name.
    """
    kept = func.jsonb_build_object("@type", OperationRow.response["@type"], "withdrawn", True)
    await session.execute(
        update(OperationRow)
        .where(
            OperationRow.engine_id == engine_id,
            # As the index has it: a parameter would not match that.
            OperationRow.kind == literal_column(f"'{PREVIEW}'"),
            OperationRow.response.has_key("plannedChanges"),
            true() if memory_ids is None else _names_any(memory_ids),
        )
        .values(response=kept)
        .execution_options(synchronize_session=False)
    )


def _names_any(memory_ids: Sequence[str]) -> ColumnElement[bool]:
    """Select previews that would change one of the memories."""
    changes = func.jsonb_array_elements(OperationRow.response["plannedChanges"], type_=JSONB)
    planned = changes.column_valued("planned")
    memory_id = func.split_part(planned["memory"]["name"].astext, "/memories/", 2)
    return select(planned).where(memory_id.in_(memory_ids)).exists()


async def remove_old(session: Session, limit: int) -> int:
    """Remove ended operations and request ids past their time; return how many rows went."""
    removed = 0
    for table, key in (
        (OperationRow, (OperationRow.engine_id, OperationRow.operation_id)),
        (RequestIdRow, (RequestIdRow.engine_id, RequestIdRow.caller, RequestIdRow.request_id)),
    ):
        old = (
            select(*key).where(table.remove_time <= database_time(session)).limit(limit).subquery()
        )
        result = await session.execute(
            delete(table).where(tuple_(*key).in_(select(old))).returning(key[0])
        )
        removed += len(result.all())
    return removed
