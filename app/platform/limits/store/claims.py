"""Takes units from the buckets that all processes share.

As for other leases, time is that of the database: processes on several machines share no other
clock. All functions take part in the caller's transaction.
"""

from datetime import timedelta

from sqlalchemy import bindparam, delete, func, select, text

from app.adapters.db.session import Session
from app.platform.limits.logic.blocks import Pace
from app.platform.limits.store.tables import RateBucketRow

FULL_AFTER = timedelta(hours=1)
"""In which time any bucket fills: the settings allow no longer burst."""

# The row is locked before the moment is read, so that no time is counted twice. What is there is
# taken only if it suffices: parts that nobody can use yet would lie about in many processes.
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
    session: Session, subject: str, needed: int, wanted: int, pace: Pace
) -> tuple[int, float]:
    """Take as many units as are wanted, or as are there, but none if that is less than needed.

    Returns:
        How many were taken, and how many are left.
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


async def remove_full(session: Session, limit: int) -> int:
    """Remove up to `limit` buckets that must be full, as one that is not there is.

    Returns how many went.
    """
    is_full = RateBucketRow.update_time < func.clock_timestamp() - bindparam(None, FULL_AFTER)
    some = select(RateBucketRow.subject).where(is_full).limit(limit)
    statement = (
        delete(RateBucketRow)
        # Once more: it may have been used since it was found.
        .where(is_full, RateBucketRow.subject.in_(some))
        .returning(RateBucketRow.subject)
        .execution_options(synchronize_session=False)
    )
    return len((await session.execute(statement)).all())
