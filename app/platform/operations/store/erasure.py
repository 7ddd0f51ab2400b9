"""Erasure of texts in stored operations, and removal of expired operations.

All functions take part in the caller's transaction.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, delete, func, literal_column, select, true, tuple_, update
from sqlalchemy.dialects.postgresql import JSONB, array
from sqlalchemy.orm import InstrumentedAttribute

from app.adapters.db.clock import database_time
from app.adapters.db.session import Session
from app.platform.operations.store.repository import PREVIEW, UNMET_REQUESTS
from app.platform.operations.store.tables import OperationRow, RequestIdRow

_PREVIEW_LISTS = ("plannedChanges", "droppedFacts", "refusedDecisions")
"""The lists of a preview that hold texts."""


async def withdraw_texts(
    session: Session, engine_id: int, memory_ids: Sequence[str] | None = None
) -> None:
    """Erase users' texts from an engine's operations, or from those that name given memories.

    Such texts are in previews and in unmet requests to forget. Call this after the erasure of
    memories: it waits for previews that are being stored, since those lock the memories they name.
    """
    withdrawn = func.jsonb_build_object("@type", OperationRow.response["@type"], "withdrawn", True)
    previews = update(OperationRow).where(
        OperationRow.engine_id == engine_id,
        # Literal, as in the index: a parameter would not match it.
        OperationRow.kind == literal_column(f"'{PREVIEW}'"),
        OperationRow.response.has_any(array(_PREVIEW_LISTS)),
        true() if memory_ids is None else _lists_any(memory_ids),
    )
    notes = update(OperationRow).where(
        OperationRow.engine_id == engine_id,
        OperationRow.details.has_key(literal_column(f"'{UNMET_REQUESTS}'")),
        true() if memory_ids is None else _is_near_any(memory_ids),
    )
    for statement in (
        previews.values(response=withdrawn),
        notes.values(details=OperationRow.details.op("-")(UNMET_REQUESTS)),
    ):
        await session.execute(statement.execution_options(synchronize_session=False))


def _lists_any(memory_ids: Sequence[str]) -> ColumnElement[bool]:
    """Select previews with a change of one of the memories, planned or refused."""
    return _names_any(OperationRow.response, "$.*[*].memory.name", memory_ids)


def _is_near_any(memory_ids: Sequence[str]) -> ColumnElement[bool]:
    """Select operations with a request to forget that may have meant one of the memories."""
    return _names_any(OperationRow.details, f"$.{UNMET_REQUESTS}[*].nearest[*]", memory_ids)


def _names_any(
    column: InstrumentedAttribute[Any], path: str, memory_ids: Sequence[str]
) -> ColumnElement[bool]:
    """Select operations that name one of the memories at a JSON path."""
    at: ColumnElement[str] = literal_column(f"'{path}'::jsonpath")
    name = func.jsonb_path_query(column, at, type_=JSONB).column_valued("name")
    memory_id = func.split_part(name.op("#>>")(literal_column("'{}'::text[]")), "/memories/", 2)
    return select(name).where(memory_id.in_(memory_ids)).exists()


async def remove_old(session: Session, limit: int) -> int:
    """Remove expired operations and request ids; return the number of rows removed."""
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
