"""How a provider is asked: again after what may pass, not for ever, and not by all at once."""

import asyncio
from collections.abc import Awaitable, Callable
from random import SystemRandom
from typing import TypeVar

from app.core.errors import (
    DeadlineExceeded,
    FailedPrecondition,
    Internal,
    Reason,
    ResourceExhausted,
    ServiceError,
    Unavailable,
)
from app.llm.breaker import Breaker
from app.settings import Settings

_FIRST_DELAY_SECONDS = 0.5
_LONGEST_DELAY_SECONDS = 8.0
_SHARE = 2 / 3
"""Of the time that is left, for one request when others may follow: one that hangs leaves some."""
_MAY_PASS = (408, 425, 429)
"""Of 4xx: what says nothing against the request. Source: RFC 9110, RFC 8470 and RFC 6585."""
_NOT_IMPLEMENTED = 501
_random = SystemRandom()

T = TypeVar("T")


class RequestFailed(Exception):
    """A request that brought no answer: its HTTP status, if there was a reply at all."""

    def __init__(
        self,
        status: int | None = None,
        retry_after_seconds: float | None = None,
        *,
        is_timeout: bool = False,
    ) -> None:
        super().__init__(f"status {status}")
        self.status = status
        self.retry_after_seconds = retry_after_seconds
        self.is_timeout = is_timeout

    @property
    def is_rate_limit(self) -> bool:
        """Whether the provider takes no more requests at the moment."""
        return self.status == 429

    @property
    def is_refusal(self) -> bool:
        """Whether the same request would be refused again."""
        if self.status is None or self.status in _MAY_PASS:
            return False
        return 300 <= self.status < 500 or self.status == _NOT_IMPLEMENTED


class Oversized(Exception):
    """The reply was longer than is read; asking again would bring the like."""


class Provider:
    """One provider at one address, shared by all models that are asked there."""

    def __init__(self, settings: Settings) -> None:
        self._max_attempts = settings.model_max_attempts
        self._breaker = Breaker(settings.model_breaker_failures, settings.model_breaker_seconds)
        self._slots = asyncio.Semaphore(settings.model_concurrency)

    async def call(self, request: Callable[[], Awaitable[T]], deadline: float) -> T:
        """Return what `request` brings, tried again where that may help.

        `request` raises RequestFailed or Oversized; `deadline` is a time of the event loop.

        Raises:
            ResourceExhausted: the provider keeps refusing with 429.
            Unavailable: the provider keeps failing, or is spared.
            DeadlineExceeded: the deadline has come.
            FailedPrecondition: the provider refuses the request or the key.
            Internal: the reply is longer than is read.
        """
        for attempt in range(1, self._max_attempts + 1):
            is_last = attempt == self._max_attempts
            try:
                return await self._attempt(request, deadline, is_last=is_last)
            except RequestFailed as failed:
                delay = _delay(failed, attempt)
                if is_last or failed.is_refusal or _now() + delay >= deadline:
                    raise _as_service_error(failed) from None
            await asyncio.sleep(delay)
        raise AssertionError("The last attempt returns or raises.")

    async def _attempt(
        self, request: Callable[[], Awaitable[T]], deadline: float, *, is_last: bool
    ) -> T:
        """Make one request, when there is a slot for it."""
        try:
            async with asyncio.timeout_at(deadline):
                await self._slots.acquire()
        except TimeoutError:
            raise _too_late() from None
        try:
            if (now := _now()) >= deadline:
                raise _too_late()
            self._breaker.admit(now)
            limit = deadline if is_last else now + (deadline - now) * _SHARE
            return await self._counted(request, limit)
        finally:
            self._slots.release()

    async def _counted(self, request: Callable[[], Awaitable[T]], limit: float) -> T:
        """Make one request until `limit`, and tell the breaker how it has ended."""
        tell = self._breaker.ended
        try:
            async with asyncio.timeout_at(limit):
                found = await request()
            tell = self._breaker.succeeded
        except TimeoutError:
            tell = self._has_failed
            raise RequestFailed(is_timeout=True) from None
        except Oversized:
            tell = self._breaker.succeeded
            raise Internal(
                "The model's reply is longer than is read.", Reason.MODEL_OUTPUT_INVALID
            ) from None
        except RequestFailed as failed:
            if failed.is_refusal:
                tell = self._breaker.succeeded
            elif not failed.is_rate_limit:
                tell = self._has_failed
            raise
        finally:
            tell()
        return found

    def _has_failed(self) -> None:
        self._breaker.failed(_now())


def _now() -> float:
    return asyncio.get_running_loop().time()


def _delay(failed: RequestFailed, attempt: int) -> float:
    """Return the seconds until the next attempt: what the provider asks for, and full jitter."""
    longest = min(_FIRST_DELAY_SECONDS * 2.0 ** (attempt - 1), _LONGEST_DELAY_SECONDS)
    return (failed.retry_after_seconds or 0) + longest * _random.random()


def _too_late() -> DeadlineExceeded:
    return DeadlineExceeded("The model gave no answer in time.", Reason.MODEL_TIMEOUT)


def _as_service_error(failed: RequestFailed) -> ServiceError:
    if failed.is_timeout:
        return _too_late()
    metadata = {} if failed.status is None else {"httpStatus": str(failed.status)}
    if failed.is_rate_limit:
        return ResourceExhausted(
            "The model's provider takes no more requests at the moment.",
            Reason.MODEL_RATE_LIMITED,
            retry_after_seconds=failed.retry_after_seconds,
            metadata=metadata,
        )
    if failed.is_refusal:
        return FailedPrecondition(
            f"The model's provider refuses the request with HTTP {failed.status}.",
            Reason.MODEL_REFUSED,
            metadata=metadata,
        )
    return Unavailable(
        "The model's provider keeps failing.",
        Reason.MODEL_UNAVAILABLE,
        retry_after_seconds=failed.retry_after_seconds,
        metadata=metadata,
    )
