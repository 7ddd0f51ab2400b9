"""Leases of units from the buckets that all processes share.

As for other leases, time is by the clock of the database, the only one that processes on several
machines share. All functions take part in the caller's transaction.
"""

from collections.abc import Collection
from datetime import timedelta

from sqlalchemy import ColumnElement, bindparam, delete, func, select, text

from app.adapters.db.session import Session
from app.adapters.db.spread import RowSearch, Selected
from app.platform.limits.logic.blocks import BucketPace
from app.platform.limits.store.tables import RateBucketRow

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


async def take(
    session: Session, subject: str, needed: int, wanted: int, pace: BucketPace
) -> tuple[int, float]:
    """Lease the wanted units or as many as there are, but none if fewer than needed.

    Returns:
        The number of units leased, and the number left.
    """
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
