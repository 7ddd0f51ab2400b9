"""Erasure of texts in stored operations, and removal of expired operations."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    and_,
    delete,
    false,
    func,
    literal,
    literal_column,
    or_,
    select,
    true,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import JSONB, array
from sqlalchemy.orm import InstrumentedAttribute

from app.adapters.db.bulk import any_of, rows_of
from app.adapters.db.clock import database_time
from app.adapters.db.session import Session
from app.adapters.db.spread import KeyColumns, RowSearch, Selected
from app.adapters.db.subjects import RowsOf, Subject
from app.kernel.checks import CheckName, Examination, overdue
from app.platform.operations.logic.states import ERASE_SCOPE, OperationState
from app.platform.operations.store.repository import PREVIEW, UNMET_REQUESTS
from app.platform.operations.store.tables import (
    OperationRow,
    RequestIdRow,
    ServiceRequestIdRow,
    source_session,
)

_PREVIEW_LISTS = ("plannedChanges", "droppedFacts", "droppedFields", "refusedDecisions")
"""The lists of a preview that hold texts."""
_IS_OTHER = OperationRow.kind != ERASE_SCOPE
ERASURES = (RowsOf(OperationRow, _IS_OTHER).named("operations", OperationRow.operation_id),)
"""Operations on a scope alone; the one that erases it stays."""
_LEASES = """
select 'WARNING' as level,
    'runs by a lease that ended more than 10 minutes ago; a worker takes it over' as problem,
    engine_id, 'operations/' || operation_id as name
from operations
where state = 'RUNNING' and lease_until < statement_timestamp() - interval '10 minutes'
    and {of_engine}
"""
EXAMINATIONS = (
    Examination(CheckName.OPERATIONS, _LEASES),
    overdue("old operations", "operations", "remove_time"),
)


async def withdraw_texts(
    session: Session, engine_id: int, memory_ids: Sequence[str] | None = None
) -> None:
    """Erase users' texts from an engine's operations, or from those that name given memories.

    Such texts are in previews and in unmet requests to forget. Call this after the erasure of
    memories: it waits for previews that are being stored, since those lock the memories they name.
    """
    # Over a literal: a distributed database refuses a stable function of a column.
    withdrawn = func.jsonb_set(
        literal({"withdrawn": True}, JSONB), array(["@type"]), OperationRow.response["@type"]
    )
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


async def forget_sessions(
    session: Session, engine_id: int, session_ids: Collection[str] | None = None
) -> None:
    """Remove the given sessions, or all, from the sources of an engine's operations.

    Call this after the sessions were removed: it waits for the generations that hold them. It also
    reaches operations that the session's conditions hide.
    """
    if session_ids is not None and not session_ids:
        return
    named = source_session()
    is_gone = named.is_not(None) if session_ids is None else named == any_of(session_ids)
    connection = await session.connection()
    await connection.execute(
        update(OperationRow)
        .where(OperationRow.engine_id == engine_id, is_gone)
        .values(details=OperationRow.details.op("-")("source"))
    )


def _lists_any(memory_ids: Sequence[str]) -> ColumnElement[bool]:
    return _names_any(OperationRow.response, "$.*[*].memory.name", memory_ids)


def _is_near_any(memory_ids: Sequence[str]) -> ColumnElement[bool]:
    return _names_any(OperationRow.details, f"$.{UNMET_REQUESTS}[*].nearest[*]", memory_ids)


def _names_any(
    column: InstrumentedAttribute[Any], path: str, memory_ids: Sequence[str]
) -> ColumnElement[bool]:
    at: ColumnElement[str] = literal_column(f"'{path}'::jsonpath")
    name = func.jsonb_path_query(column, at, type_=JSONB).column_valued("name")
    memory_id = func.split_part(name.op("#>>")(literal_column("'{}'::text[]")), "/memories/", 2)
    return select(name).where(memory_id == any_of(memory_ids)).exists()


_Expiring = type[OperationRow] | type[RequestIdRow] | type[ServiceRequestIdRow]
_KEYS: Mapping[_Expiring, KeyColumns] = {
    OperationRow: (OperationRow.engine_id, OperationRow.operation_id),
    **{
        table: (table.engine_id, table.caller, table.request_id)
        for table in (RequestIdRow, ServiceRequestIdRow)
    },
}


def select_old(table: _Expiring, session: Session, search: RowSearch) -> Selected:
    """Select expired rows of either table, of all engines; for a sweep."""
    is_old = table.remove_time <= database_time(session)
    return search.bounded(select(*_KEYS[table]).where(is_old), _KEYS[table])


async def remove_old(table: _Expiring, session: Session, old: Selected) -> int:
    """Remove such rows; return the count."""
    result = await session.execute(
        delete(table)
        .where(tuple_(*_KEYS[table]).in_(select(old.subquery())))
        .returning(table.engine_id)
    )
    return len(result.all())


# With a scope


async def stop_running(session: Session, subject: Subject) -> None:
    """Ask the running operations on a scope to stop."""
    running = and_(subject.selects(OperationRow), OperationRow.state == OperationState.RUNNING)
    await session.execute(
        update(OperationRow)
        .where(running, _IS_OTHER)
        .values(cancel_requested=True)
        .execution_options(synchronize_session=False)
    )


async def list_shared(
    session: Session, subject: Subject, limit: int, after: str | None, *, for_update: bool
) -> Sequence[OperationRow]:
    """Return the next operations that may concern a scope among others."""
    scopes = OperationRow.scopes
    concerned = and_(*(scopes.contains({key: [value]}) for key, value in subject.scope.items()))
    statement = (
        select(OperationRow)
        .where(
            OperationRow.engine_id == subject.engine_id,
            OperationRow.operation_id > (after or ""),
            or_(scopes.is_(None), concerned),
            ~func.coalesce(subject.selects(OperationRow), false()),
            _IS_OTHER,
        )
        .order_by(OperationRow.operation_id)
        .limit(limit)
    )
    if for_update:
        statement = statement.with_for_update()
    return (await session.execute(statement)).scalars().all()


async def rewrite(session: Session, row: OperationRow, values: dict[str, Any]) -> None:
    """Replace columns of an operation that the caller has locked."""
    await session.execute(
        update(OperationRow)
        .where(
            OperationRow.engine_id == row.engine_id, OperationRow.operation_id == row.operation_id
        )
        .values(values)
        .execution_options(synchronize_session=False)
    )


async def forget_scope(session: Session, subject: Subject) -> None:
    """Remove a scope from the operations that erased it; bound keys no longer see them."""
    await session.execute(
        update(OperationRow)
        .where(subject.selects(OperationRow), ~_IS_OTHER)
        .values(scopes=None)
        .execution_options(synchronize_session=False)
    )


async def rename_callers(
    session: Session, engine_id: int, callers: Collection[str], alias: str
) -> int:
    """Put an alias in place of callers; return the number of operations."""
    renamed = await session.execute(
        update(OperationRow)
        .where(OperationRow.engine_id == engine_id, OperationRow.caller.in_(callers))
        .values(caller=alias, request_id=None, traceparent=None)
        .returning(OperationRow.operation_id)
        .execution_options(synchronize_session=False)
    )
    return len(renamed.all())


class KeptAnswer(NamedTuple):
    """The record of a request, with what it was answered."""

    caller: str
    request_id: str
    operation_id: str | None
    answer: dict[str, Any] | None


_REQUEST = (RequestIdRow.caller, RequestIdRow.request_id)
_TABLE: Any = RequestIdRow.__table__


async def list_requests(
    session: Session, engine_id: int, limit: int, after: tuple[str, str] | None
) -> Sequence[KeptAnswer]:
    """Return the next records of requests on an engine."""
    statement = (
        select(*(_TABLE.c[name] for name in KeptAnswer._fields))
        .where(RequestIdRow.engine_id == engine_id, tuple_(*_REQUEST) > (after or ("", "")))
        .order_by(*_REQUEST)
        .limit(limit)
    )
    return [KeptAnswer(*row) for row in await session.execute(statement)]


async def remove_requests(
    session: Session, engine_id: int, keys: Collection[tuple[str, str]]
) -> int:
    """Remove records of requests; return the count."""
    if not keys:
        return 0
    columns = {column.name: column for column in (_TABLE.c.caller, _TABLE.c.request_id)}
    ended = rows_of("ended", columns, list(keys))
    removed = await session.execute(
        delete(RequestIdRow)
        .where(
            RequestIdRow.engine_id == engine_id,
            RequestIdRow.caller == ended.c.caller,
            RequestIdRow.request_id == ended.c.request_id,
        )
        .returning(RequestIdRow.request_id)
        .execution_options(synchronize_session=False)
    )
    return len(removed.all())
