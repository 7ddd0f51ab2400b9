"""Totals of engines, and the rate buckets that all processes share: tables and statements.

Triggers maintain the counts in the transaction of each change: see the migration `totals`. Leases
of units go by the clock of the database, the only one that all processes share.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Double, Text, bindparam, delete, func, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Mapped, mapped_column

from app.adapters.db.base import Base
from app.adapters.db.session import Session
from app.adapters.db.spread import Key, RowSearch, Selected, find_keys, locked
from app.kernel.limits import Counted
from app.platform.limits.logic import BucketPace


class RateBucketRow(Base):
    """The units that a key or an engine may still use; unlogged, so full after a crash."""

    __tablename__ = "rate_buckets"
    __table_args__ = {"prefixes": ["UNLOGGED"]}  # noqa: RUF012 - SQLAlchemy reads it as a plain attribute

    subject: Mapped[str] = mapped_column(Text, primary_key=True)
    tokens: Mapped[float] = mapped_column(Double)
    """Units in the bucket at `update_time`."""
    granted: Mapped[int]
    """Units of the latest lease; read by its own statement only."""
    update_time: Mapped[datetime]
    """The time of the latest lease, by the clock of the database."""


class EngineTotalsRow(Base):
    """The net amount that one connection has added to an engine, which holds the sum of its rows.

    Triggers write them, and a sweep merges rows under the backend 0: see the migration `totals`.
    """

    __tablename__ = "engine_totals"

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    backend: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    memories: Mapped[int]
    """Live memories; recoverable deleted ones are not counted."""
    sessions: Mapped[int]
    events: Mapped[int]
    """Events of sessions, and events of streams that still hold their content."""
    bytes: Mapped[int]
    """The length of the content of all of them, with revisions and session states."""
    artifact_bytes: Mapped[int] = mapped_column(server_default=text("0"))
    """The length of the artifacts of task memory, including uploads in progress."""


Totals = Mapping[Counted, int]
"""The amounts that an engine holds, by counted kind."""

_KEY = (EngineTotalsRow.engine_id, EngineTotalsRow.backend)
_SUMMED = 0
"""The backend of the rows into which others are merged; no connection has this number."""
_IS_OF_CONNECTION = EngineTotalsRow.backend != _SUMMED
FULL_AFTER = timedelta(hours=1)
"""The time in which any bucket fills: the settings allow no longer burst."""

# The row is locked before the time is read, or time could be counted twice. Units are granted only
# if they suffice: smaller parts could not be used yet and would lie idle in many processes.
_TAKE = text(
    """
    insert into rate_buckets as bucket (subject, tokens, granted, update_time)
    values (:subject, :capacity - :wanted, :wanted, clock_timestamp())
    on conflict (subject) do update set (tokens, granted, update_time) = (
        select present.units - taken.units, taken.units, here.moment
        from (select clock_timestamp() as moment) as here
        cross join lateral (
            select least(
                :capacity,
                bucket.tokens + :units_per_second * greatest(
                    0, extract(epoch from here.moment - bucket.update_time)::double precision
                )
            ) as units
        ) as present
        cross join lateral (
            select case when present.units >= :needed
                then least(:wanted, floor(present.units)) else 0 end as units
        ) as taken
    )
    returning granted, tokens
    """
)


async def read_totals(session: Session, engine_id: int) -> Totals:
    """Return an engine's totals, with all changes committed before this statement."""
    sums = (func.coalesce(func.sum(getattr(EngineTotalsRow, kind)), 0) for kind in Counted)
    statement = select(*sums).where(EngineTotalsRow.engine_id == engine_id)
    row = (await session.execute(statement)).one()
    return {kind: int(value) for kind, value in zip(Counted, row, strict=True)}


async def find_addable(session: Session, search: RowSearch) -> Sequence[Key]:
    """Find rows of connections, of all engines; for a sweep."""
    # In the order of engines: on one server all share a transaction, and two sweeps must not
    # deadlock.
    statement = select(*_KEY).where(_IS_OF_CONNECTION).order_by(*_KEY)
    return await find_keys(session, search.bounded(statement, _KEY))


async def add_up(session: Session, engine_id: int, keys: Sequence[Key]) -> int:
    """Merge an engine's rows of connections, except locked ones; return their number.

    A transaction about to write again waits for this one, which waits only for another sweep.
    """
    held = locked(_KEY, engine_id, keys, _IS_OF_CONNECTION).cte("held")
    statement = (
        delete(EngineTotalsRow)
        .where(
            EngineTotalsRow.engine_id == engine_id,
            EngineTotalsRow.backend.in_(select(held.c.backend)),
        )
        .returning(EngineTotalsRow)
        .execution_options(synchronize_session=False)
    )
    rows = (await session.execute(statement)).scalars().all()
    if rows:
        added = {kind.value: sum(getattr(row, kind) for row in rows) for kind in Counted}
        await _add(session, engine_id, added)
    return len(rows)


async def _add(session: Session, engine_id: int, added: Mapping[str, int]) -> None:
    statement = insert(EngineTotalsRow).values(engine_id=engine_id, backend=_SUMMED, **added)
    totals = {kind: getattr(EngineTotalsRow, kind) + statement.excluded[kind] for kind in Counted}
    await session.execute(statement.on_conflict_do_update(index_elements=_KEY, set_=totals))


async def take(
    session: Session, subject: str, needed: int, wanted: int, pace: BucketPace
) -> tuple[int, float]:
    """Lease the wanted units, or the rest if that is enough; return their number and the rest."""
    values = {
        "subject": subject,
        "needed": needed,
        "wanted": wanted,
        "capacity": pace.capacity,
        "units_per_second": pace.units_per_second,
    }
    granted, left = (await session.execute(_TAKE, values)).one()
    return granted, left


async def remove(session: Session, subjects: Collection[str]) -> int:
    """Remove buckets; return the number removed."""
    removed = await session.execute(
        delete(RateBucketRow)
        .where(RateBucketRow.subject.in_(subjects))
        .returning(RateBucketRow.subject)
        .execution_options(synchronize_session=False)
    )
    return len(removed.all())


def select_full(_: Session, search: RowSearch) -> Selected:
    """Select buckets that must be full: a missing bucket counts as full."""
    return search.bounded(select(RateBucketRow.subject).where(_is_full()), (RateBucketRow.subject,))


async def remove_full(session: Session, some: Selected) -> int:
    """Remove the selected full buckets; return the count."""
    statement = (
        delete(RateBucketRow)
        # Repeated: the bucket may have been used since it was selected.
        .where(_is_full(), RateBucketRow.subject.in_(some))
        .returning(RateBucketRow.subject)
        .execution_options(synchronize_session=False)
    )
    return len((await session.execute(statement)).all())


def _is_full() -> ColumnElement[bool]:
    return RateBucketRow.update_time < func.clock_timestamp() - bindparam(None, FULL_AFTER)
