"""Request ids: what a caller repeats is answered as before, and done once.

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
from app.kernel.names import EngineName, OperationName
from app.kernel.once import Once
from app.platform.operations.store import repository
from app.platform.operations.store.repository import NewOperation
from app.platform.operations.store.tables import OperationRow, RequestIdRow


async def answered(
    session: Session, engine: EngineName, once: Once | None, now: datetime
) -> OperationRow | None:
    """Return the operation that answered this request before, if any; remembers nothing.

    For the request that takes its own engine away: `replay` comes too late for its repetition.

    Raises:
        AlreadyExists: the id was used with another request.
        NotFound: the operation is no longer kept.
    """
    if once is None:
        return None
    statement = select(RequestIdRow).where(_asked(engine.engine, once))
    known = (await session.execute(statement)).scalar_one_or_none()
    return None if known is None else await _answer(session, engine, _checked(known, once), now)


async def replay(
    session: Session, new: NewOperation, once: Once | None, within: int | None = None
) -> OperationRow | None:
    """Return the operation that answered this request before; else remember that `new` does.

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
    return await _answer(session, EngineName.parse(new.engine_name), known, new.now)


async def is_repeated(session: Session, engine_id: int, once: Once | None, now: datetime) -> bool:
    """Say whether a request on an engine was done before; else remember it.

    For requests that make no operation of their own: their repetition has nothing left to do.

    Raises:
        AlreadyExists: the id was used with another request.
    """
    if once is None:
        return False
    is_known = await _remember(session, engine_id, once, (engine_id, None), now) is not None
    if is_known:
        note(session, replayed=once.request_id)
    return is_known


async def is_known(session: Session, engine_id: int, once: Once | None, now: datetime) -> bool:
    """Say whether a request on an engine was done before; remembers nothing.

    For requests that take several transactions, of which the last remembers them.

    Raises:
        AlreadyExists: the id was used with another request.
    """
    return await _find(session, engine_id, once, now) is not None


async def find_answer(
    session: Session, engine_id: int, once: Once | None, now: datetime
) -> dict[str, Any] | None:
    """Return what `keep_answer` has kept for this request, if anything; remembers nothing.

    Raises:
        AlreadyExists: the id was used with another request.
        NotFound: the answer is no longer kept; the request is not done again.
    """
    known = await _find(session, engine_id, once, now)
    return None if known is None else _kept(known)


async def bind(session: Session, engine_id: int, once: Once | None, now: datetime) -> None:
    """Remember a request that may be done again, so that its id is for no other.

    Raises:
        AlreadyExists: the id was used with another request.
    """
    if once is not None:
        await _remember(session, engine_id, once, (engine_id, None), now)


async def recalled(
    session: Session, engine_id: int, once: Once | None, now: datetime
) -> tuple[bool, dict[str, Any] | None]:
    """Return whether a request was done before, and the answer kept of it; remembers nothing.

    For what is to be known before the transaction that does it: another may be faster still.

    Raises:
        AlreadyExists: the id was used with another request.
    """
    if once is None:
        return False, None
    statement = select(RequestIdRow).where(_asked(engine_id, once), RequestIdRow.remove_time > now)
    known = (await session.execute(statement)).scalar_one_or_none()
    return (False, None) if known is None else (True, _checked(known, once).answer)


async def answered_with(
    session: Session, engine_id: int, once: Once | None, now: datetime
) -> dict[str, Any] | None:
    """Return what `keep_answer` has kept for this request; else remember the request.

    For requests that make no operation of their own, but have an answer.

    Raises:
        AlreadyExists: the id was used with another request.
        NotFound: the answer is no longer kept; the request is not done again.
    """
    if once is None:
        return None
    known = await _remember(session, engine_id, once, (engine_id, None), now)
    if known is None:
        return None
    answer = _kept(known)
    note(session, replayed=once.request_id)
    return answer


async def keep_answer(
    session: Session, engine_id: int, once: Once | None, answer: Mapping[str, Any]
) -> None:
    """Keep how a request is answered that `answered_with` has remembered in this transaction."""
    if once is not None:
        kept = update(RequestIdRow).where(_asked(engine_id, once)).values(answer=dict(answer))
        await session.execute(kept.execution_options(synchronize_session=False))


async def _find(
    session: Session, engine_id: int, once: Once | None, now: datetime
) -> RequestIdRow | None:
    if once is None:
        return None
    statement = select(RequestIdRow).where(_asked(engine_id, once), RequestIdRow.remove_time > now)
    known = (await session.execute(statement)).scalar_one_or_none()
    return None if known is None else _checked(known, once)


def _kept(known: RequestIdRow) -> dict[str, Any]:
    if known.answer is None:
        # Lost where the schema was taken back to a release without answers, and up again.
        raise NotFound(
            "requestId: this request was done before; its answer is no longer kept.",
            Reason.RESOURCE_NOT_FOUND,
        )
    return known.answer


async def _remember(
    session: Session, engine_id: int, once: Once, operation: tuple[int, str | None], now: datetime
) -> RequestIdRow | None:
    """Remember which operation (engine and id) answers a request; return what was known before.

    A second request with the same id waits here until the first one's transaction ended.
    """
    mine = _asked(engine_id, once)
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
    return _checked(known, once)


def _asked(engine_id: int, once: Once) -> ColumnElement[bool]:
    return and_(
        RequestIdRow.engine_id == engine_id,
        RequestIdRow.caller == once.caller,
        RequestIdRow.request_id == once.request_id,
    )


def _checked(known: RequestIdRow, once: Once) -> RequestIdRow:
    if known.request_hash != once.request_hash:
        raise AlreadyExists(
            "requestId: this id was used with another request; use a new one.",
            Reason.REQUEST_ID_REUSED,
        )
    return known


async def _answer(
    session: Session, near: EngineName, known: RequestIdRow, now: datetime
) -> OperationRow:
    """Return the operation, which is of the engine `near` or of one beside it.

    Raises:
        NotFound: it is no longer kept; the request was done all the same, and is not done again.
    """
    # Whether a request makes an operation depends on its method and path, which its hash covers.
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
