"""The pause before a request is sent again."""

from __future__ import annotations

import random

import httpx

from open_memory_bank.errors import ApiError

MOST = 3
"""Times that a request is sent again, unless a transport has its own."""
_FIRST_SECONDS = 0.25
_LONGEST_WAIT_SECONDS = 60.0
_PERHAPS_DONE = frozenset({502, 503, 504})
_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


def pause(
    failure: ApiError | httpx.RequestError, attempt: int, *, most: int, is_repeatable: bool
) -> float | None:
    """Return the seconds to wait before the request is sent again; None: it is not.

    Args:
        failure: the error of the last attempt.
        attempt: its number, from 0.
        most: times that the request may be sent again.
        is_repeatable: doing the request twice does no harm.
    """
    if attempt >= most or not _passes(failure, is_repeatable=is_repeatable):
        return None
    asked = failure.retry_after if isinstance(failure, ApiError) else None
    if asked is not None:
        return asked if asked <= _LONGEST_WAIT_SECONDS else None
    longest: float = _FIRST_SECONDS * 2**attempt
    return random.uniform(longest / 2, longest)  # noqa: S311 - spreads clients, hides nothing


def _passes(failure: ApiError | httpx.RequestError, *, is_repeatable: bool) -> bool:
    if isinstance(failure, ApiError):
        is_refused = failure.http_status == httpx.codes.TOO_MANY_REQUESTS
        is_beaten = failure.status == "ABORTED" and failure.reason == "CONCURRENT_CHANGE"
        is_away = failure.http_status in _PERHAPS_DONE
        return is_refused or is_beaten or (is_away and is_repeatable)
    if isinstance(failure, httpx.LocalProtocolError):  # such as a header that cannot be sent
        return False
    return is_repeatable or isinstance(failure, _NEVER_SENT)
