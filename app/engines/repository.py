"""Every statement on engines. All functions take part in the caller's transaction."""

from collections.abc import Sequence
from datetime import datetime
from enum import Enum
from typing import Any

from sqlalchemy import ColumnElement, and_, delete, func, select, true, tuple_, union_all, update
from sqlalchemy.dialects.postgresql import insert

from app.core.auth import Reach
from app.core.errors import AlreadyExists, NotFound, Reason
from app.core.names import WILDCARD, EngineName, LocationName
from app.db.filter_fields import MapField, TextField, TimestampField
from app.db.filters import Fields
from app.db.session import Session
from app.engines.tables import EngineRow
from app.operations.tables import OperationRow


class Lock(Enum):
    """How a transaction holds an engine that it reads."""

    NONE = "NONE"
    SHARED = "SHARED"
    """The engine cannot be deleted before the transaction ends; taken to write children."""
    UPDATE = "UPDATE"
    """The engine cannot be changed; who writes its children is not kept waiting."""
    EXCLUSIVE = "EXCLUSIVE"
    """Nothing is written below the engine; taken to delete it."""


async def get(session: Session, name: EngineName, lock: Lock = Lock.NONE) -> EngineRow:
    """Return an engine that is not deleted.

    Raises:
        NotFound: no such engine, or it lies in another project or location.
    """
    statement = select(EngineRow).where(
        EngineRow.engine_id == name.engine, EngineRow.delete_time.is_(None), _lies_in(name.parent)
    )
    if lock is Lock.SHARED:
        statement = statement.with_for_update(key_share=True, read=True)
    elif lock is Lock.UPDATE:
        statement = statement.with_for_update(key_share=True)
    elif lock is Lock.EXCLUSIVE:
        statement = statement.with_for_update()
    row = (await session.execute(statement)).scalar_one_or_none()
    if row is None:
        raise NotFound.of(name)
    return row


async def find_location(session: Session, engine_id: int) -> LocationName | None:
    """Return where an engine lies, whatever its state.

    Of one that is gone, its operations still tell it: they can be read on.
    """
    parts = (func.split_part(OperationRow.engine_name, "/", place) for place in (2, 4))
    # One statement: what is not there takes no longer to find out than what is.
    statement = union_all(
        select(EngineRow.project, EngineRow.location).where(EngineRow.engine_id == engine_id),
        select(*parts).where(OperationRow.engine_id == engine_id),
    )
    found = (await session.execute(statement.limit(1))).first()
    return None if found is None else LocationName(*found)


async def is_live(session: Session, engine_id: int) -> bool:
    """Say whether there is an engine with this id that is not deleted."""
    statement = select(EngineRow.engine_id).where(
        EngineRow.engine_id == engine_id, EngineRow.delete_time.is_(None)
    )
    return (await session.execute(statement)).first() is not None


async def list_deleted(session: Session, limit: int) -> Sequence[int]:
    """Return engines that are hidden but not removed yet, of any project; a sweep's."""
    statement = select(EngineRow.engine_id).where(EngineRow.delete_time.is_not(None))
    return (await session.execute(statement.limit(limit))).scalars().all()


def _lies_in(location: LocationName) -> ColumnElement[bool]:
    parts = ((EngineRow.project, location.project), (EngineRow.location, location.location))
    return and_(true(), *(column == value for column, value in parts if value != WILDCARD))


async def insert_engine(session: Session, values: dict[str, Any]) -> EngineRow:
    """Insert an engine.

    Raises:
        AlreadyExists: its id is taken.
    """
    row = await _insert(session, values)
    if row is None:
        raise AlreadyExists("The engine's id is taken; retry.", Reason.ID_TAKEN)
    return row


async def insert_once(session: Session, values: dict[str, Any]) -> None:
    """Insert an engine unless its id is there, even if hidden."""
    await _insert(session, values)


async def _insert(session: Session, values: dict[str, Any]) -> EngineRow | None:
    statement = insert(EngineRow).values(values).on_conflict_do_nothing().returning(EngineRow)
    return (await session.execute(statement)).scalar_one_or_none()


async def update_engine(session: Session, engine_id: int, values: dict[str, Any]) -> EngineRow:
    """Change an engine that the caller has locked."""
    statement = (
        update(EngineRow)
        .where(EngineRow.engine_id == engine_id)
        .values(**values, version=EngineRow.version + 1)
        .returning(EngineRow)
        .execution_options(populate_existing=True)
    )
    return (await session.execute(statement)).scalar_one()


async def mark_deleted(session: Session, engine_id: int, now: datetime) -> None:
    """Hide an engine from every read."""
    await update_engine(session, engine_id, {"delete_time": now})


async def remove(session: Session, engine_id: int) -> None:
    """Remove an engine whose children are gone."""
    await session.execute(delete(EngineRow).where(EngineRow.engine_id == engine_id))


FILTER_FIELDS: Fields = {
    "display_name": TextField(EngineRow.display_name),
    "description": TextField(EngineRow.description),
    "labels": MapField(EngineRow.labels),
    "create_time": TimestampField(EngineRow.create_time),
    "update_time": TimestampField(EngineRow.update_time),
}


def is_within(reach: Reach) -> ColumnElement[bool]:
    """Select the engines that are within a caller's reach."""
    parts = ((EngineRow.engine_id, reach.engines), (EngineRow.project, reach.projects))
    return and_(true(), *(column.in_(sorted(some)) for column, some in parts if some is not None))


async def list_page(
    session: Session,
    location: LocationName,
    clause: ColumnElement[bool],
    limit: int,
    after: tuple[datetime, int] | None,
) -> Sequence[EngineRow]:
    """Return up to `limit` engines of a location, newest first."""
    statement = select(EngineRow).where(EngineRow.delete_time.is_(None), _lies_in(location), clause)
    key = (EngineRow.create_time, EngineRow.engine_id)
    if after is not None:
        statement = statement.where(tuple_(*key) < after)
    statement = statement.order_by(*(column.desc() for column in key)).limit(limit)
    return (await session.execute(statement)).scalars().all()
