"""Requests of failed operations, which are kept for a retry, and their erasure."""

from collections.abc import Iterable, Mapping
from datetime import timedelta

from sqlalchemy import (
    and_,
    any_,
    func,
    literal,
    literal_column,
    or_,
    select,
    true,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from app.adapters.db.clock import database_time
from app.adapters.db.filter_fields import ScopeField
from app.adapters.db.filters import Clause, Fields
from app.adapters.db.session import Session
from app.adapters.db.spread import RowSearch, Selected
from app.adapters.db.transaction_settings import limited
from app.kernel.auth import of_one
from app.platform.operations.logic.states import OperationState
from app.platform.operations.store.tables import OperationRow

RETRIED_BY = "retriedBy"
"""Key in the metadata of a retried operation; its value names the newer operation."""

# A literal, as in the index: a parameter would not match it.
_IS_KEPT = and_(
    OperationRow.state == literal_column(f"'{OperationState.FAILED}'"),
    OperationRow.request.is_not(None),
)
_entry = func.jsonb_each(OperationRow.scopes).table_valued("key", "value")
# A request with a text concerns one scope; for others, the first value of each key counts.
_SCOPE = (
    select(
        func.jsonb_object_agg(
            _entry.c.key, _entry.c.value.op("->")(literal_column("0")), type_=JSONB()
        )
    )
    .select_from(_entry)
    .scalar_subquery()
)
FILTER_FIELDS: Fields = {"scope": ScopeField(_SCOPE)}
"""Fields that a filter of kept requests accepts."""


EVERYTHING = Clause(true(), needs_limit=False)
"""Selects all requests of an engine."""


def concerning(scopes: Iterable[Mapping[str, str]]) -> Clause:
    """Select the requests that concern at least one of the scopes."""
    parts = [of_one(scope) for scope in scopes]
    concerned = OperationRow.scopes.bool_op("@>")(any_(literal(parts, ARRAY(JSONB()))))
    return Clause(concerned, needs_limit=False)


async def hand_on(session: Session, row: OperationRow, newer: str) -> None:
    """Record the operation that retries a locked one; move the request to the newer one."""
    noted = func.jsonb_build_object(RETRIED_BY, newer)
    await session.execute(
        update(OperationRow)
        .where(
            OperationRow.engine_id == row.engine_id, OperationRow.operation_id == row.operation_id
        )
        .values(request=None, details=OperationRow.details.op("||")(noted))
        .execution_options(synchronize_session=False)
    )


async def clear(session: Session, engine_id: int, clause: Clause) -> None:
    """Clear the requests of an engine's selected operations and of operations without scopes."""
    wanted = select(OperationRow.operation_id).where(
        OperationRow.engine_id == engine_id,
        _IS_KEPT,
        or_(OperationRow.scopes.is_(None), clause.condition),
    )
    async with limited(session, clause.seconds):
        ids = (await session.execute(wanted)).scalars().all()
    if ids:
        await session.execute(
            update(OperationRow)
            .where(
                OperationRow.engine_id == engine_id, OperationRow.operation_id.in_(ids), _IS_KEPT
            )
            .values(request=None)
            .execution_options(synchronize_session=False)
        )


_KEY = (OperationRow.engine_id, OperationRow.operation_id)


def select_old(kept: timedelta, session: Session, search: RowSearch) -> Selected:
    """Select operations that failed `kept` ago or earlier, of all engines; for a sweep."""
    is_old = OperationRow.update_time <= database_time(session) - kept
    return search.bounded(select(*_KEY).where(_IS_KEPT, is_old), _KEY)


async def clear_old(session: Session, old: Selected) -> int:
    """Clear the requests of the selected old operations; return the count."""
    cleared = await session.execute(
        update(OperationRow)
        .where(tuple_(*_KEY).in_(select(old.subquery())))
        .values(request=None)
        .returning(OperationRow.operation_id)
        .execution_options(synchronize_session=False)
    )
    return len(cleared.all())
