"""What those are told who ask for too much, and how many were."""

from enum import StrEnum
from math import ceil

from prometheus_client import Counter

from app.kernel.errors import Reason, ResourceExhausted


class Bound(StrEnum):
    """What a request was refused by."""

    KEY = "key"
    ENGINE = "engine"
    PLACES = "places"
    BODIES = "bodies"


_REFUSED = Counter(
    "memory_bank_requests_refused",
    "Requests refused by the rate of their key, by that of their engine, for want of a place, or"
    " because of the bodies that are open.",
    ["by"],
)
for _bound in Bound:
    _REFUSED.labels(_bound)


def too_fast(by: Bound, units_per_second: int, seconds: float) -> ResourceExhausted:
    """Count a request that was refused by a rate; return what says so.

    `seconds` is when there will be enough.
    """
    _REFUSED.labels(by).inc()
    return ResourceExhausted(
        f"The {by} has used up its rate of {units_per_second} units per second.",
        Reason.RATE_LIMIT_EXCEEDED,
        metadata={"limit": by.value, "unitsPerSecond": str(units_per_second)},
        # Up to the next millisecond: whoever comes back then must not be early.
        retry_after_seconds=ceil(seconds * 1_000) / 1_000,
    )


def too_many(whose: str, limit: int) -> ResourceExhausted:
    """Count a request that found no place; return what says so."""
    _REFUSED.labels(Bound.PLACES).inc()
    return ResourceExhausted(
        f"The {whose} has {limit} costly requests under way, and takes no more.",
        Reason.TOO_MANY_AT_ONCE,
        metadata={"limit": whose, "requests": str(limit)},
        retry_after_seconds=1,
    )


def count_given_up() -> None:
    """Count a request whose body is not waited for, since its connection is needed for others."""
    _REFUSED.labels(Bound.BODIES).inc()


def too_many_bodies(whose: str, what: str, limit: int) -> ResourceExhausted:
    """Count a request whose body is not read to its end; return what says so.

    `what` there is too much of: `requests` or `bytes`.
    """
    _REFUSED.labels(Bound.BODIES).inc()
    found = f"{limit} slow ones" if what == "requests" else f"{limit} bytes"
    error = ResourceExhausted(
        f"The request bodies of this {whose} may not be more than {found} at once.",
        Reason.TOO_MANY_AT_ONCE,
        metadata={"limit": whose, what: str(limit)},
        retry_after_seconds=1,
    )
    error.ends_connection = True
    return error
