"""Refusals of requests beyond a limit, counted in the metrics."""

from enum import StrEnum
from math import ceil

from prometheus_client import Counter

from app.kernel.errors import Reason, ResourceExhausted


class Bound(StrEnum):
    """The limit that refused a request."""

    KEY = "key"
    ENGINE = "engine"
    PLACES = "places"
    BODIES = "bodies"


_REFUSED = Counter(
    "memory_bank_requests_refused",
    "Requests refused by the rate of their key, by that of their engine, for lack of a place, or"
    " because of the open bodies.",
    ["by"],
)
for _bound in Bound:
    _REFUSED.labels(_bound)


def too_fast(by: Bound, units_per_second: int, seconds: float) -> ResourceExhausted:
    """Count a request refused by a rate and return its error.

    `seconds` is the time until enough units are available.
    """
    _REFUSED.labels(by).inc()
    return ResourceExhausted(
        f"The {by} has used up its rate of {units_per_second} units per second.",
        Reason.RATE_LIMIT_EXCEEDED,
        metadata={"limit": by.value, "unitsPerSecond": str(units_per_second)},
        # Rounded up to a millisecond: a client that retries then must not be early.
        retry_after_seconds=ceil(seconds * 1_000) / 1_000,
    )


def too_many(whose: str, limit: int) -> ResourceExhausted:
    """Count a request refused for lack of a free slot and return its error."""
    _REFUSED.labels(Bound.PLACES).inc()
    return ResourceExhausted(
        f"The {whose} has {limit} costly requests in progress, which is its limit.",
        Reason.TOO_MANY_AT_ONCE,
        metadata={"limit": whose, "requests": str(limit)},
        retry_after_seconds=1,
    )


def count_given_up() -> None:
    """Count a request whose body is given up, since its connection is needed for others."""
    _REFUSED.labels(Bound.BODIES).inc()


def too_many_bodies(whose: str, what: str, limit: int) -> ResourceExhausted:
    """Count a request whose body is not read to its end and return its error.

    `what` is the exceeded bound: `requests` or `bytes`.
    """
    _REFUSED.labels(Bound.BODIES).inc()
    amount = f"{limit} slow ones" if what == "requests" else f"{limit} bytes"
    error = ResourceExhausted(
        f"The request bodies and answers of this {whose} may not be more than {amount} at once.",
        Reason.TOO_MANY_AT_ONCE,
        metadata={"limit": whose, what: str(limit)},
        retry_after_seconds=1,
    )
    error.ends_connection = True
    return error
