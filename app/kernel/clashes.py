"""Repetition of work whose ids another process has made as well."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from app.kernel.errors import IdClash

_TRIES = 10
"""A tenth of the requests clash where sixteen processes write into one scope at once."""

Result = TypeVar("Result")


async def redone(attempt: Callable[[], Awaitable[Result]]) -> Result:
    """Return the result of an attempt, which is made up to ten times while ids clash.

    Raises:
        IdClash: they clashed each time.
    """
    for _ in range(_TRIES - 1):
        with suppress(IdClash):
            return await attempt()
    return await attempt()
