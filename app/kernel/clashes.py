"""Retries of work whose new ids clash with another process's ids."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from app.kernel.errors import IdClash

_TRIES = 10
"""A tenth of the requests clash when sixteen processes write to one scope at once."""

Result = TypeVar("Result")


async def redone(attempt: Callable[[], Awaitable[Result]]) -> Result:
    """Run an attempt up to ten times while its ids clash, and return its result.

    Raises:
        IdClash: the ids clashed in every attempt.
    """
    for _ in range(_TRIES - 1):
        with suppress(IdClash):
            return await attempt()
    return await attempt()
