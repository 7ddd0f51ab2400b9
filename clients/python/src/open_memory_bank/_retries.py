"""When a request is sent again, and how long before."""

from __future__ import annotations

import random

import httpx

from open_memory_bank.errors import ApiError

MOST = 3
"""Times that a request is sent again."""
_FIRST_SECONDS = 0.25
_LONGEST_WAIT_SECONDS = 60.0
_NOT_DONE = frozenset({429})
_PERHAPS_DONE = frozenset({502, 503, 504})
_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


def after_error(error: ApiError, attempt: int, *, is_repeatable: bool) -> float | None:
    """Return the seconds to wait before the request is sent again; None: do not."""
    passes = (
        error.http_status in _NOT_DONE
        or (error.http_status in _PERHAPS_DONE and is_repeatable)
        or (error.http_status == httpx.codes.CONFLICT and error.reason == "CONCURRENT_CHANGE")
    )
    if not passes or attempt >= MOST:
        return None
    if error.retry_after is None:
        return _pause(attempt)
    return error.retry_after if error.retry_after <= _LONGEST_WAIT_SECONDS else None


def after_failure(
    failure: httpx.TransportError, attempt: int, *, is_repeatable: bool
) -> float | None:
    """Return the seconds to wait after a connection failed; None: do not send it again."""
    passes = is_repeatable or isinstance(failure, _NEVER_SENT)
    if isinstance(failure, httpx.UnsupportedProtocol):
        passes = False
    return _pause(attempt) if passes and attempt < MOST else None


def _pause(attempt: int) -> float:
    longest: float = _FIRST_SECONDS * 2**attempt
    return random.uniform(longest / 2, longest)  # noqa: S311 - spreads clients, hides nothing
