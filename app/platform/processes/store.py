"""The live processes of the service, and their heartbeats, by the database's clock."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Double, Integer, Text, delete, func, select, text
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.orm import Mapped, mapped_column

from app.adapters.db.base import Base
from app.adapters.db.clock import database_time
from app.adapters.db.session import Session
from app.adapters.db.spread import RowSearch, Selected


class ProcessRow(Base):
    """A process, with its state at its last heartbeat."""

    __tablename__ = "processes"

    process_id: Mapped[str] = mapped_column(Text, primary_key=True)
    # API, WORKER, API_AND_WORKER, or MIGRATION: the mark of a forced migration.
    kind: Mapped[str] = mapped_column(Text)
    release: Mapped[str] = mapped_column(Text)
    # The revision of the schema that this release needs.
    schema: Mapped[str] = mapped_column(Text)
    host: Mapped[str] = mapped_column(Text)
    pid: Mapped[int] = mapped_column(Integer)
    start_time: Mapped[datetime]
    beat_time: Mapped[datetime]
    # Operations that it runs.
    running: Mapped[int] = mapped_column(Integer)
    # The lead of its own clock over the database's; null: not measured.
    skew_seconds: Mapped[float | None] = mapped_column(Double)
    last_sweep_time: Mapped[datetime | None]


_DATABASE = text(
    "select current_setting('server_version'), pg_is_in_recovery(),"
    " pg_database_size(current_database()),"
    " (select extversion from pg_extension where extname = 'vector')"
)


@dataclass(frozen=True)
class DatabaseFacts:
    """The database server; `vector_version` is None without the extension."""

    server_version: str
    is_standby: bool
    size_bytes: int
    vector_version: str | None


async def describe_database(session: Session) -> DatabaseFacts:
    """Return facts of the database server."""
    return DatabaseFacts(*(await session.execute(_DATABASE)).one())


async def beat(session: Session, process: Mapping[str, Any], *, has_swept: bool) -> None:
    """Store the state of a process; `has_swept` if it has run the sweeps since its last beat."""
    now = database_time(session)
    state = {**process, "beat_time": now, **({"last_sweep_time": now} if has_swept else {})}
    statement = upsert(ProcessRow).values(**state, start_time=now)
    await session.execute(
        statement.on_conflict_do_update(index_elements=[ProcessRow.process_id], set_=state)
    )


async def remove(session: Session, process_id: str) -> None:
    """Remove a process that ends."""
    await session.execute(delete(ProcessRow).where(ProcessRow.process_id == process_id))


async def count_live(session: Session, kinds: Collection[str], age: timedelta) -> int:
    """Return the number of processes of these kinds whose last beat is at most `age` old."""
    statement = select(func.count()).where(ProcessRow.kind.in_(kinds), _is_live(session, age))
    return (await session.execute(statement)).scalar_one()


async def list_live(session: Session, age: timedelta) -> Sequence[ProcessRow]:
    """Return the processes whose last beat is at most `age` old, the oldest first."""
    statement = (
        select(ProcessRow)
        .where(_is_live(session, age))
        .order_by(ProcessRow.start_time, ProcessRow.process_id)
    )
    return (await session.execute(statement)).scalars().all()


def select_silent(age: timedelta, session: Session, search: RowSearch) -> Selected:
    """Select and lock processes without a beat for `age`; for a sweep."""
    silent = select(ProcessRow.process_id).where(~_is_live(session, age))
    return search.bounded(silent, (ProcessRow.process_id,)).with_for_update(skip_locked=True)


async def remove_silent(session: Session, silent: Selected) -> int:
    """Remove the selected silent processes; return the count."""
    statement = (
        delete(ProcessRow)
        .where(ProcessRow.process_id.in_(select(silent.cte("silent"))))
        .returning(ProcessRow.process_id)
        .execution_options(synchronize_session=False)
    )
    return len((await session.execute(statement)).all())


def _is_live(session: Session, age: timedelta) -> ColumnElement[bool]:
    return ProcessRow.beat_time >= database_time(session) - age
