"""Request ids: a repeated request gets the first answer and runs once."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, delete, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from app.adapters.db.clock import database_time
from app.adapters.db.hot_sql import Insertion
from app.adapters.db.session import Session, note
from app.kernel.changes import IdempotencyKey
from app.kernel.errors import AlreadyExists, NotFound, Reason
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
    once: IdempotencyKey, engine_id: int, now: datetime, operation: NewOperation | None
) -> dict[str, Any]:
    """Return the columns of the record of a request, unique within an engine, and its operation."""
    return {
        "engine_id": engine_id,
        "caller": once.caller,
        "request_id": once.request_id,
        "request_hash": once.request_hash,
        "operation_engine_id": operation.engine_id if operation else engine_id,
        "operation_id": operation.operation_id if operation else None,
        "remove_time": now + once.keep,
    }


@dataclass(frozen=True)
class Replayed:
    """An earlier request with the same id and content, which was done."""

    record: AnyRequestId

    @property
    def answer(self) -> dict[str, Any]:
        """The stored answer, or NotFound if it is no longer kept; the request is not done again."""
        if self.record.answer is None:
            # Lost by a downgrade to a schema without answers and an upgrade again.
            raise NotFound(
                "requestId: this request was done before; its answer is no longer kept.",
                Reason.RESOURCE_NOT_FOUND,
            )
        return self.record.answer

    @property
    def operation_id(self) -> str:
        """The operation that answered."""
        # The request's hash covers method and path, which decide whether it makes an operation.
        assert self.record.operation_id is not None
        return self.record.operation_id

    async def operation(self, session: Session, near: EngineName, now: datetime) -> OperationRow:
        """Return the operation of `near` or a sibling that answered, or raise NotFound."""
        engine = replace(near, engine=self.record.operation_engine_id)
        name = OperationName(engine, self.operation_id)
        try:
            row = await repository.get(session, name, now)
        except NotFound:
            raise NotFound(
                f"requestId: this request was done before; its operation {name} is no longer kept.",
                Reason.RESOURCE_NOT_FOUND,
            ) from None
        note(session, operation=row.name, replayed=self.record.request_id)
        return row


async def seen(session: Session, once: IdempotencyKey | None, engine_id: int) -> Replayed | None:
    """Return the earlier request on an engine with this id, if there is one; store nothing.

    It saves work that no transaction can hold. A request at the same time may still be faster, so
    `begin` follows.

    Raises:
        AlreadyExists: the id was used with another request.
    """
    if once is None:
        return None
    table = _table_of(engine_id)
    return await _find(session, table, once, engine_id, table.remove_time > database_time(session))


async def begin(
    session: Session,
    once: IdempotencyKey | None,
    engine_id: int,
    now: datetime,
    *,
    operation: NewOperation | None = None,
    answer: Mapping[str, Any] | None = None,
    even_expired: bool = False,
) -> Replayed | None:
    """Record a request on an engine; if it was done before, return that request.

    A second request with the same id waits here until the first transaction ends. Without `once`,
    nothing is recorded. `finish` stores an answer that is not known yet. `even_expired` also finds
    a record past its time, until a sweep removes it.

    Raises:
        AlreadyExists: the id was used with another request.
    """
    if once is None:
        return None
    table = _table_of(engine_id)
    mine = _is_request(table, engine_id, once)
    if not even_expired:
        is_over = table.remove_time <= database_time(session)
        await session.execute(delete(table).where(mine, is_over))
    record = record_of(once, engine_id, now, operation)
    if answer is not None:
        record["answer"] = dict(answer)
    inserted = await session.execute(
        upsert(table).values(record).on_conflict_do_nothing().returning(table.request_id)
    )
    if inserted.first() is not None:
        return None
    # The transaction of the earlier request has ended.
    known = await _find(session, table, once, engine_id)
    assert known is not None
    return known


async def finish(
    session: Session,
    once: IdempotencyKey | None,
    engine_id: int,
    *,
    begun: NewOperation | None = None,
    inserted: OperationRow | NewOperation | None = None,
    answer: Mapping[str, Any] | None = None,
) -> None:
    """Store the operation inserted for a request, unless it is `begun`, or its answer."""
    values: dict[str, Any] = {} if answer is None else {"answer": dict(answer)}
    if begun is not None and inserted is not None:
        stored = {"operation_engine_id": inserted.engine_id, "operation_id": inserted.operation_id}
        is_same = (begun.engine_id, begun.operation_id) == tuple(stored.values())
        values |= {} if is_same else stored
    if once is not None and values:
        table = _table_of(engine_id)
        changed = update(table).where(_is_request(table, engine_id, once)).values(values)
        await session.execute(changed.execution_options(synchronize_session=False))


async def _find(
    session: Session,
    table: _Table,
    once: IdempotencyKey,
    engine_id: int,
    *conditions: ColumnElement[bool],
) -> Replayed | None:
    statement = _select(table).where(_is_request(table, engine_id, once), *conditions)
    known = (await session.execute(statement)).scalar_one_or_none()
    if known is None:
        return None
    if known.request_hash != once.request_hash:
        raise AlreadyExists(
            "requestId: this id was used with another request; use a new one.",
            Reason.REQUEST_ID_REUSED,
        )
    return Replayed(known)


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
