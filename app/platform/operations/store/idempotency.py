"""Request ids: a repeated request gets the first answer and runs once.

All functions take part in the caller's transaction.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, delete, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from app.adapters.db.clock import database_time
from app.adapters.db.insertions import Insertion
from app.adapters.db.session import Session, note
from app.kernel.auth import Scopes
from app.kernel.errors import AlreadyExists, NotFound, Reason
from app.kernel.idempotency import IdempotencyKey
from app.kernel.names import EngineName, OperationName
from app.platform.operations.store import repository
from app.platform.operations.store.repository import NewOperation
from app.platform.operations.store.tables import (
    AnyRequestId,
    OperationRow,
    RequestIdRow,
    ServiceRequestIdRow,
)

NO_ENGINE = 0
"""The engine id of requests that name none: their ids are unique over the service."""
_Table = type[AnyRequestId]

RECORD = Insertion(
    "request",
    RequestIdRow,
    "engine_id caller request_id request_hash operation_engine_id operation_id remove_time",
    "engine",
    # No row if the id is known, even past its time.
    "on conflict do nothing returning 1",
)
"""Insertion of the record of a request, with the values of `record_of`."""


def record_of(
    once: IdempotencyKey, engine_id: int, now: datetime, operation: tuple[int, str | None]
) -> dict[str, Any]:
    """Return the columns of the record of a request, which an operation answers.

    The id is unique within the engine; `operation` has the engine and the id of the operation.
    """
    operation_engine_id, operation_id = operation
    return {
        "engine_id": engine_id,
        "caller": once.caller,
        "request_id": once.request_id,
        "request_hash": once.request_hash,
        "operation_engine_id": operation_engine_id,
        "operation_id": operation_id,
        "remove_time": now + once.keep,
    }


async def lookup(
    session: Session, engine_id: int, once: IdempotencyKey | None, now: datetime
) -> AnyRequestId | None:
    """Return the record of a request on an engine that was done before; store nothing.

    For a check before the transaction that claims the id: a concurrent one may still be faster.

    Raises:
        AlreadyExists: the id was used with another request.
    """
    if once is None:
        return None
    table = _table_of(engine_id)
    return await _find(session, table, once, engine_id, table.remove_time > now)


async def lookup_operation(
    session: Session, engine: EngineName, once: IdempotencyKey | None, now: datetime
) -> OperationRow | None:
    """Return the operation that answered this request before, if any; store nothing.

    For requests that must not store anything before the check, or whose own engine may be gone.
    Unlike `lookup`, it also finds a record that is past its time and not yet removed.

    Raises:
        AlreadyExists: the id was used with another request.
        NotFound: the operation is no longer kept.
    """
    if once is None:
        return None
    known = await _find(session, RequestIdRow, once, engine.engine)
    return None if known is None else await _operation_of(session, engine, known, now)


async def claim(
    session: Session,
    engine_id: int,
    once: IdempotencyKey | None,
    now: datetime,
    operation: tuple[int, str | None] | None = None,
) -> AnyRequestId | None:
    """Record a request on an engine; return the earlier record if it was done before, else None.

    A second request with the same id waits here until the first transaction ends.

    Args:
        session: the transaction that does the request.
        engine_id: the engine within which the id is unique for its caller.
        once: the id; None claims nothing.
        now: the moment from which the record is kept.
        operation: the operation, by engine and id, that answers the request; None: there is none.

    Raises:
        AlreadyExists: the id was used with another request.
    """
    known = None if once is None else await _record(session, engine_id, once, now, operation)
    if known is not None:
        note(session, replayed=known.request_id)
    return known


async def join(session: Session, new: NewOperation, work: IdempotencyKey) -> str | None:
    """Return the id of the operation that an earlier request of the same work has made.

    The first request records that it makes `new`, and gets None. A second one waits until the
    first one's transaction ends.
    """
    operation = new.engine_id, new.operation_id
    known = await _record(session, new.engine_id, work, new.now, operation)
    return None if known is None else known.operation_id


async def _record(
    session: Session,
    engine_id: int,
    once: IdempotencyKey,
    now: datetime,
    operation: tuple[int, str | None] | None,
) -> AnyRequestId | None:
    """Record a request, and return None; or return the record of an earlier one.

    Raises:
        AlreadyExists: the id was used with another request.
    """
    table = _table_of(engine_id)
    mine = _is_request(table, engine_id, once)
    is_over = table.remove_time <= database_time(session)
    await session.execute(delete(table).where(mine, is_over))
    record = record_of(once, engine_id, now, operation or (engine_id, None))
    inserted = await session.execute(
        upsert(table).values(record).on_conflict_do_nothing().returning(table.request_id)
    )
    if inserted.first() is not None:
        return None
    # The transaction of the earlier request has ended, and its record is kept for longer.
    known = (await session.execute(_select(table).where(mine))).scalar_one()
    _check_same(known, once)
    return known


async def replay_operation(
    session: Session, new: NewOperation, once: IdempotencyKey | None, within: int | None = None
) -> OperationRow | None:
    """Return the operation that answered this request before; else record that `new` does.

    Request ids are unique per caller and engine; `within` names another engine than that of
    `new`.

    Raises:
        AlreadyExists: the id was used with another request.
        NotFound: the operation is no longer kept.
    """
    engine_id = new.engine_id if within is None else within
    known = await claim(session, engine_id, once, new.now, (new.engine_id, new.operation_id))
    if known is None:
        return None
    return await _operation_of(session, EngineName.parse(new.engine_name), known, new.now)


async def within(
    session: Session, new: NewOperation, once: IdempotencyKey | None, scopes: Scopes | None
) -> NewOperation:
    """Return the operation that answers a request, once its scopes are known; record its new id."""
    known = new.within(scopes)
    if once is not None:
        answered = update(RequestIdRow).where(_is_request(RequestIdRow, new.engine_id, once))
        answered = answered.values(operation_id=known.operation_id)
        await session.execute(answered.execution_options(synchronize_session=False))
    return known


async def store_response(
    session: Session, engine_id: int, once: IdempotencyKey | None, response: Mapping[str, Any]
) -> None:
    """Store the response of a request that this transaction has claimed."""
    if once is not None:
        stored = update(RequestIdRow).where(_is_request(RequestIdRow, engine_id, once))
        stored = stored.values(answer=dict(response))
        await session.execute(stored.execution_options(synchronize_session=False))


def response_of(known: AnyRequestId) -> dict[str, Any]:
    """Return the stored response of a request that was done before.

    Raises:
        NotFound: the response is no longer kept; the request is not done again.
    """
    if known.answer is None:
        # Lost by a downgrade to a schema without answers and an upgrade again.
        raise NotFound(
            "requestId: this request was done before; its answer is no longer kept.",
            Reason.RESOURCE_NOT_FOUND,
        )
    return known.answer


async def _find(
    session: Session,
    table: _Table,
    once: IdempotencyKey,
    engine_id: int,
    *conditions: ColumnElement[bool],
) -> AnyRequestId | None:
    statement = _select(table).where(_is_request(table, engine_id, once), *conditions)
    known = (await session.execute(statement)).scalar_one_or_none()
    if known is not None:
        _check_same(known, once)
    return known


def _check_same(known: AnyRequestId, once: IdempotencyKey) -> None:
    if known.request_hash != once.request_hash:
        raise AlreadyExists(
            "requestId: this id was used with another request; use a new one.",
            Reason.REQUEST_ID_REUSED,
        )


def _table_of(engine_id: int) -> _Table:
    return ServiceRequestIdRow if engine_id == NO_ENGINE else RequestIdRow


def _select(table: _Table) -> Select[AnyRequestId]:
    return select(table)


def _is_request(table: _Table, engine_id: int, once: IdempotencyKey) -> ColumnElement[bool]:
    return and_(
        table.engine_id == engine_id,
        table.caller == once.caller,
        table.request_id == once.request_id,
    )


async def _operation_of(
    session: Session, near: EngineName, known: AnyRequestId, now: datetime
) -> OperationRow:
    """Return the operation, which belongs to the engine `near` or to a sibling.

    Raises:
        NotFound: it is no longer kept; the request was done and is not repeated.
    """
    # The request's hash covers method and path, which decide whether it makes an operation.
    assert known.operation_id is not None
    name = OperationName(replace(near, engine=known.operation_engine_id), known.operation_id)
    try:
        row = await repository.get(session, name, now)
    except NotFound:
        raise NotFound(
            f"requestId: this request was done before; its operation {name} is no longer kept.",
            Reason.RESOURCE_NOT_FOUND,
        ) from None
    note(session, operation=row.name, replayed=known.request_id)
    return row
