"""Request ids: a repeated request gets the first answer and runs once.

All functions take part in the caller's transaction.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, delete, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from app.adapters.db.clock import database_time
from app.adapters.db.session import Session, note
from app.kernel.errors import AlreadyExists, NotFound, Reason
from app.kernel.idempotency import IdempotencyKey
from app.kernel.names import EngineName, OperationName
from app.platform.operations.store import repository
from app.platform.operations.store.repository import NewOperation
from app.platform.operations.store.tables import OperationRow, RequestIdRow


async def answered(
    session: Session, engine: EngineName, once: IdempotencyKey | None, now: datetime
) -> OperationRow | None:
    """Return the operation that answered this request before, if any; store nothing.

    For the request that deletes its own engine: `replay` would come too late for a repetition.

    Raises:
        AlreadyExists: the id was used with another request.
        NotFound: the operation is no longer kept.
    """
    if once is None:
        return None
    statement = select(RequestIdRow).where(_is_request(engine.engine, once))
    known = (await session.execute(statement)).scalar_one_or_none()
    return (
        None
        if known is None
        else await _operation_of(session, engine, _check_same_request(known, once), now)
    )


async def replay(
    session: Session, new: NewOperation, once: IdempotencyKey | None, within: int | None = None
) -> OperationRow | None:
    """Return the operation that answered this request before; else record that `new` does.

    Request ids are unique per caller and engine; `within` names another engine than that of
    `new`.

    Raises:
        AlreadyExists: the id was used with another request.
        NotFound: the operation is no longer kept.
    """
    if once is None:
        return None
    engine_id = new.engine_id if within is None else within
    known = await _remember(session, engine_id, once, (new.engine_id, new.operation_id), new.now)
    if known is None:
        return None
    return await _operation_of(session, EngineName.parse(new.engine_name), known, new.now)


async def is_repeated(
    session: Session, engine_id: int, once: IdempotencyKey | None, now: datetime
) -> bool:
    """Return True if a request on an engine was done before; else record it.

    For requests without an operation of their own: a repetition has nothing left to do.

    Raises:
        AlreadyExists: the id was used with another request.
    """
    if once is None:
        return False
    is_known = await _remember(session, engine_id, once, (engine_id, None), now) is not None
    if is_known:
        note(session, replayed=once.request_id)
    return is_known


async def is_known(
    session: Session, engine_id: int, once: IdempotencyKey | None, now: datetime
) -> bool:
    """Return True if a request on an engine was done before; store nothing.

    For requests that take several transactions, the last of which records them.

    Raises:
        AlreadyExists: the id was used with another request.
    """
    return await _find(session, engine_id, once, now) is not None


async def find_answer(
    session: Session, engine_id: int, once: IdempotencyKey | None, now: datetime
) -> dict[str, Any] | None:
    """Return the answer stored by `keep_answer` for this request, if any; store nothing.

    Raises:
        AlreadyExists: the id was used with another request.
        NotFound: the answer is no longer kept; the request is not done again.
    """
    known = await _find(session, engine_id, once, now)
    return None if known is None else _stored_answer(known)


async def bind(
    session: Session, engine_id: int, once: IdempotencyKey | None, now: datetime
) -> None:
    """Record a request that may run again, so that no other request can use its id.

    Raises:
        AlreadyExists: the id was used with another request.
    """
    if once is not None:
        await _remember(session, engine_id, once, (engine_id, None), now)


async def recalled(
    session: Session, engine_id: int, once: IdempotencyKey | None, now: datetime
) -> tuple[bool, dict[str, Any] | None]:
    """Return whether a request was done before, and its stored answer; store nothing.

    For a check before the request's own transaction: a concurrent one may still be faster.

    Raises:
        AlreadyExists: the id was used with another request.
    """
    if once is None:
        return False, None
    statement = select(RequestIdRow).where(
        _is_request(engine_id, once), RequestIdRow.remove_time > now
    )
    known = (await session.execute(statement)).scalar_one_or_none()
    return (False, None) if known is None else (True, _check_same_request(known, once).answer)


async def answered_with(
    session: Session, engine_id: int, once: IdempotencyKey | None, now: datetime
) -> dict[str, Any] | None:
    """Return the answer stored by `keep_answer` for this request; else record the request.

    For requests without an operation of their own that have an answer.

    Raises:
        AlreadyExists: the id was used with another request.
        NotFound: the answer is no longer kept; the request is not done again.
    """
    if once is None:
        return None
    known = await _remember(session, engine_id, once, (engine_id, None), now)
    if known is None:
        return None
    answer = _stored_answer(known)
    note(session, replayed=once.request_id)
    return answer


async def keep_answer(
    session: Session, engine_id: int, once: IdempotencyKey | None, answer: Mapping[str, Any]
) -> None:
    """Store the answer of a request that `answered_with` has recorded in this transaction."""
    if once is not None:
        kept = update(RequestIdRow).where(_is_request(engine_id, once)).values(answer=dict(answer))
        await session.execute(kept.execution_options(synchronize_session=False))


async def _find(
    session: Session, engine_id: int, once: IdempotencyKey | None, now: datetime
) -> RequestIdRow | None:
    if once is None:
        return None
    statement = select(RequestIdRow).where(
        _is_request(engine_id, once), RequestIdRow.remove_time > now
    )
    known = (await session.execute(statement)).scalar_one_or_none()
    return None if known is None else _check_same_request(known, once)


def _stored_answer(known: RequestIdRow) -> dict[str, Any]:
    if known.answer is None:
        # Lost by a downgrade to a schema without answers and an upgrade again.
        raise NotFound(
            "requestId: this request was done before; its answer is no longer kept.",
            Reason.RESOURCE_NOT_FOUND,
        )
    return known.answer


async def _remember(
    session: Session,
    engine_id: int,
    once: IdempotencyKey,
    operation: tuple[int, str | None],
    now: datetime,
) -> RequestIdRow | None:
    """Record the operation (engine and id) that answers a request; return any earlier record.

    A second request with the same id waits here until the first transaction ends.
    """
    mine = _is_request(engine_id, once)
    is_over = RequestIdRow.remove_time <= database_time(session)
    await session.execute(delete(RequestIdRow).where(mine, is_over))
    inserted = await session.execute(
        upsert(RequestIdRow)
        .values(
            engine_id=engine_id,
            caller=once.caller,
            request_id=once.request_id,
            request_hash=once.request_hash,
            operation_engine_id=operation[0],
            operation_id=operation[1],
            remove_time=now + once.keep,
        )
        .on_conflict_do_nothing()
        .returning(RequestIdRow.request_id)
    )
    if inserted.first() is not None:
        return None
    known = (await session.execute(select(RequestIdRow).where(mine))).scalar_one()
    return _check_same_request(known, once)


def _is_request(engine_id: int, once: IdempotencyKey) -> ColumnElement[bool]:
    return and_(
        RequestIdRow.engine_id == engine_id,
        RequestIdRow.caller == once.caller,
        RequestIdRow.request_id == once.request_id,
    )


def _check_same_request(known: RequestIdRow, once: IdempotencyKey) -> RequestIdRow:
    if known.request_hash != once.request_hash:
        raise AlreadyExists(
            "requestId: this id was used with another request; use a new one.",
            Reason.REQUEST_ID_REUSED,
        )
    return known


async def _operation_of(
    session: Session, near: EngineName, known: RequestIdRow, now: datetime
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
