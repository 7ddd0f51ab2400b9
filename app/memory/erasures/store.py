"""The tables of erasures and of the key of their pseudonyms, and every statement on them."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from psycopg import sql
from sqlalchemy import (
    Boolean,
    ColumnElement,
    Index,
    LargeBinary,
    Text,
    and_,
    exists,
    select,
    text,
    update,
)
from sqlalchemy.orm import Mapped, mapped_column

from app.adapters.db.base import Base, JsonObject
from app.adapters.db.bulk import insert_drawn_rows
from app.adapters.db.clock import database_time
from app.adapters.db.own_connections import Definition
from app.adapters.db.session import Session
from app.adapters.db.spread import Key, RowSearch, find_keys, locked
from app.kernel.names import EngineName
from app.platform.engines.store.tables import EngineRow
from app.platform.operations.logic.states import OperationState
from app.platform.operations.store.tables import OperationRow


class ErasureRow(Base):
    """An erasure of a scope; the row outlives its engine, since a restore repeats the erasure.

    While `scope` is set, a trigger refuses writes to that scope: see the migration `erasures`.
    """

    __tablename__ = "erasures"
    __table_args__ = (
        Index("ix_erasures_running", "engine_id", postgresql_where=text("scope is not null")),
    )

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    certificate_id: Mapped[str] = mapped_column(Text, primary_key=True)
    engine_name: Mapped[str] = mapped_column(Text)
    subject: Mapped[str] = mapped_column(Text)
    """The pseudonym of the scope."""
    pseudonym_key_id: Mapped[str] = mapped_column(Text)
    has_sessions: Mapped[bool] = mapped_column(Boolean)
    """True if the sessions, task memory and state of the user are erased, too."""
    is_service_wide: Mapped[bool] = mapped_column(Boolean, server_default=text("true"))
    """True if keys that also reach other engines end, too; the requester reached all engines."""
    scope: Mapped[JsonObject | None]
    """The pairs of the scope; null once the erasure has ended."""
    operation_id: Mapped[str] = mapped_column(Text)
    counts: Mapped[JsonObject]
    """The rows removed so far, by table."""
    pseudonymised: Mapped[JsonObject]
    """The rows changed so far, by table."""
    start_time: Mapped[datetime]
    end_time: Mapped[datetime | None]


class PseudonymKeyRow(Base):
    """The key of pseudonyms, unless the settings have one."""

    __tablename__ = "pseudonym_keys"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    key: Mapped[bytes] = mapped_column(LargeBinary)


_RESTS_FOR = timedelta(hours=1)
"""Shortest time between a failure and the next try: what made it fail may last."""
_TRIED_FOR = timedelta(days=30)
"""Age of an erasure at which it is no longer taken up."""
_KEY = (ErasureRow.engine_id, ErasureRow.certificate_id)


async def pseudonym_key(session: Session) -> bytes:
    """Return the database's own key of pseudonyms, which a migration has made."""
    return (await session.execute(select(PseudonymKeyRow.key))).scalar_one()


async def list_running(session: Session, engine_id: int) -> Sequence[ErasureRow]:
    """Return an engine's erasures that have not ended."""
    statement = select(ErasureRow).where(
        ErasureRow.engine_id == engine_id, ErasureRow.scope.is_not(None)
    )
    return (await session.execute(statement)).scalars().all()


async def find_failed(session: Session, search: RowSearch) -> Sequence[Key]:
    """Find failed erasures of all engines that are due again; for a sweep."""
    statement = select(*_KEY).where(_has_failed(session)).order_by(ErasureRow.start_time)
    return await find_keys(session, search.bounded(statement, _KEY))


async def lock_failed(
    session: Session, engine_id: int, keys: Sequence[Key]
) -> Sequence[ErasureRow]:
    """Lock and return such erasures of an engine, which is locked as for a new one."""
    # First, in its own statement: a concurrent request for the same erasure then has ended.
    engine = select(EngineRow.engine_id).where(EngineRow.engine_id == engine_id)
    await session.execute(engine.with_for_update())
    statement = locked(_KEY, engine_id, keys, _has_failed(session)).with_only_columns(ErasureRow)
    return (await session.execute(statement)).scalars().all()


def _has_failed(session: Session) -> ColumnElement[bool]:
    now = database_time(session)
    is_served = exists().where(
        EngineRow.engine_id == ErasureRow.engine_id,
        EngineRow.delete_time.is_(None),
        EngineRow.restore.is_(None),
    )
    failed = exists().where(
        OperationRow.engine_id == ErasureRow.engine_id,
        OperationRow.operation_id == ErasureRow.operation_id,
        OperationRow.state == OperationState.FAILED,
        OperationRow.update_time < now - _RESTS_FOR,
        # The pauses double: a cause that lasts makes few operations.
        now - OperationRow.update_time > OperationRow.update_time - ErasureRow.start_time,
    )
    is_tried = ErasureRow.start_time > now - _TRIED_FOR
    return and_(ErasureRow.scope.is_not(None), is_tried, is_served, failed)


async def of_operation(
    session: Session, engine_id: int, operation_id: str, *, for_update: bool = False
) -> ErasureRow:
    """Return the erasure that an operation carries out."""
    statement = select(ErasureRow).where(
        ErasureRow.engine_id == engine_id, ErasureRow.operation_id == operation_id
    )
    if for_update:
        statement = statement.with_for_update().execution_options(populate_existing=True)
    return (await session.execute(statement)).scalar_one()


async def add(session: Session, values: Mapping[str, Any], *, is_known: bool) -> None:
    """Insert an erasure under a drawn id, or under the id of its certificate, unless it exists."""
    chosen = [values["certificate_id"]] if is_known else []
    await insert_drawn_rows(ErasureRow, session, [{**values}], "certificate_id", chosen=chosen)


async def resume(session: Session, row: ErasureRow, operation_id: str) -> None:
    """Continue an erasure by another operation."""
    await _set(session, row, operation_id=operation_id)


async def count_up(
    session: Session,
    row: ErasureRow,
    removed: Mapping[str, int],
    pseudonymised: Mapping[str, int],
) -> None:
    """Add to the counts of an erasure that the caller has locked."""
    await _set(
        session,
        row,
        counts=_sum(row.counts, removed),
        pseudonymised=_sum(row.pseudonymised, pseudonymised),
    )


def _sum(counts: Mapping[str, int], more: Mapping[str, int]) -> dict[str, int]:
    return {table: counts.get(table, 0) + more.get(table, 0) for table in {**counts, **more}}


async def finish(session: Session, row: ErasureRow, now: datetime) -> None:
    """End an erasure: from now on nothing tells whose it was."""
    await _set(session, row, scope=None, end_time=now)


async def _set(session: Session, row: ErasureRow, **values: object) -> None:
    await session.execute(
        update(ErasureRow)
        .where(_is(row))
        .values(**values)
        .execution_options(synchronize_session=False)
    )


def _is(row: ErasureRow) -> ColumnElement[bool]:
    return and_(
        ErasureRow.engine_id == row.engine_id, ErasureRow.certificate_id == row.certificate_id
    )


async def list_all(session: Session) -> Sequence[ErasureRow]:
    """Return the erasures of all engines, the oldest first."""
    statement = select(ErasureRow).order_by(ErasureRow.start_time, ErasureRow.certificate_id)
    return (await session.execute(statement)).scalars().all()


async def has_any(session: Session, engine: EngineName, since: datetime) -> bool:
    """Return True if an erasure in an engine began at a time or later."""
    statement = select(ErasureRow.certificate_id).where(
        ErasureRow.engine_id == engine.engine,
        ErasureRow.engine_name == str(engine),
        ErasureRow.start_time >= since,
    )
    return (await session.execute(statement.limit(1))).first() is not None


async def forget_of_engine(session: Session, engine_id: int, limit: int) -> int:
    """Remove the scopes of unfinished erasures of an engine that is removed; return the count."""
    some = (
        select(ErasureRow.certificate_id)
        .where(ErasureRow.engine_id == engine_id, ErasureRow.scope.is_not(None))
        .limit(limit)
        .cte("some")
    )
    ended = await session.execute(
        update(ErasureRow)
        .where(ErasureRow.engine_id == engine_id, ErasureRow.certificate_id.in_(select(some)))
        .values(scope=None, end_time=database_time(session))
        .returning(ErasureRow.certificate_id)
        .execution_options(synchronize_session=False)
    )
    return len(ended.all())


def vacuum(tables: Collection[str]) -> Definition:
    """Return the statement that frees the space of removed rows."""
    names = sql.SQL(", ").join(sql.Identifier(table) for table in sorted(tables))
    return sql.SQL("vacuum {}").format(names)
