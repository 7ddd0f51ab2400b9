"""Calls of a provider, with bounded retries, bounded concurrency and a circuit breaker."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from math import inf
from random import SystemRandom
from typing import TypeVar

from app.adapters.llm.breaker import Admission, Breaker, Spared
from app.adapters.llm.words import SILENCE, Words
from app.kernel.errors import (
    BadGateway,
    DeadlineExceeded,
    FailedPrecondition,
    Reason,
    ResourceExhausted,
    ServiceError,
    Unavailable,
)
from app.settings.settings import Settings

FIRST_DELAY_SECONDS = 0.5
"""Longest pause before the first retry; it doubles with each further one."""
_LONGEST_DELAY_SECONDS = 8.0
_FAIR_SHARE = 0.5
"""The share of the time limit that a request must have had for its timeout to count."""
_MAY_PASS = (408, 425, 429)
"""4xx statuses that may pass on a retry. Source: RFC 9110, RFC 8470 and RFC 6585."""
_NOT_IMPLEMENTED = 501
_ABOUT_THE_KEY = (401, 403)
_random = SystemRandom()

T = TypeVar("T")


class RequestFailed(Exception):
    """A request without an answer: its HTTP status and words, if there was a reply at all."""

    def __init__(
        self,
        status: int | None = None,
        retry_after_seconds: float | None = None,
        words: Words = SILENCE,
    ) -> None:
        super().__init__(f"status {status}")
        self.status = status
        self.retry_after_seconds = retry_after_seconds
        self.words = words

    @property
    def log_fields(self) -> Mapping[str, int | str | None]:
        """The failure as logs show it: nothing that was meant for people."""
        return {
            "http_status": self.status,
            "provider_code": self.words.code,
            "provider_type": self.words.kind,
        }

    @property
    def is_rate_limit(self) -> bool:
        """True if the provider accepts no more requests at the moment."""
        return self.status == 429

    @property
    def is_refusal(self) -> bool:
        """True if the same request would be refused again."""
        if self.status is None or self.status in _MAY_PASS:
            return False
        return 300 <= self.status < 500 or self.status == _NOT_IMPLEMENTED


class Unread(Exception):
    """A reply that is not read; the message says why. A retry would not help."""


@dataclass(frozen=True)
class ProviderTarget:
    """A model at a provider, and the settings that name it and its key."""

    model: str
    setting: str
    key_setting: str


class Provider:
    """One provider at one address, shared by all of its models.

    `patience_seconds` is how long a call waits while the breaker is open.
    """

    def __init__(self, settings: Settings, patience_seconds: float = inf) -> None:
        self._max_attempts = settings.tuning.model_max_attempts
        self._fair_seconds = settings.model_timeout_seconds * _FAIR_SHARE
        self._patience_seconds = patience_seconds
        self._breaker = Breaker(
            settings.tuning.model_breaker_failures, settings.tuning.model_breaker_seconds
        )
        self._slots = asyncio.Semaphore(settings.model_concurrency)

    async def call(
        self, request: Callable[[], Awaitable[T]], deadline: float, target: ProviderTarget
    ) -> T:
        """Return the result of `request`, retried if that may help.

        `request` raises RequestFailed or Unread; `deadline` is a time of the event loop. A request
        may take all the remaining time: cutting it off earlier would never let a slow model finish.

        Raises:
            ResourceExhausted: the provider keeps refusing with 429.
            Unavailable: the provider keeps failing, or its breaker stays open for too long.
            DeadlineExceeded: the deadline has passed.
            FailedPrecondition: the provider refuses the request or the key.
            BadGateway: the reply is too long, or compressed.
        """
        for attempt in range(1, self._max_attempts + 1):
            try:
                return await self._attempt(request, deadline)
            except RequestFailed as failed:
                delay = _delay(failed, attempt)
                is_last = attempt == self._max_attempts or _now() + delay >= deadline
                if is_last or failed.is_refusal:
                    raise _as_service_error(failed, target) from None
            await asyncio.sleep(delay)
        raise AssertionError("The last attempt returns or raises.")

    async def _attempt(self, request: Callable[[], Awaitable[T]], deadline: float) -> T:
        """Make one request once a slot is free."""
        admission = await self._admitted(deadline)
        try:
            return await self._counted(request, deadline, admission)
        finally:
            self._slots.release()

    async def _admitted(self, deadline: float) -> Admission:
        """Wait for a slot and for the breaker to admit; the caller must release the slot.

        No slot is held while the breaker is open: the trial that may close it needs one.
        """
        limit = min(deadline, _now() + self._patience_seconds)
        while True:
            await self._take_slot(deadline)
            try:
                return self._breaker.admit(_now())
            except Spared as spared:
                self._slots.release()
                pause = spared
            await _outlast(pause, limit)

    async def _take_slot(self, deadline: float) -> None:
        if _now() >= deadline:
            raise _too_late()
        try:
            async with asyncio.timeout_at(deadline):
                await self._slots.acquire()
        except TimeoutError:
            raise _too_late() from None

    async def _counted(
        self, request: Callable[[], Awaitable[T]], deadline: float, admission: Admission
    ) -> T:
        """Make one request, and report its outcome to the breaker."""
        succeeded = partial(self._breaker.succeeded, admission)
        tell = partial(self._breaker.ended, admission)
        began = _now()
        try:
            async with asyncio.timeout_at(deadline):
                answer = await request()
            tell = succeeded
        except TimeoutError:
            if deadline - began >= self._fair_seconds:
                tell = self._failed(admission)
            raise _too_late() from None
        except Unread as unread:
            tell = succeeded
            raise BadGateway(str(unread), Reason.MODEL_OUTPUT_INVALID) from None
        except RequestFailed as failed:
            if failed.is_refusal:
                tell = succeeded
            elif not failed.is_rate_limit:
                tell = self._failed(admission)
            raise
        finally:
            tell()
        return answer

    def _failed(self, admission: Admission) -> partial[None]:
        return partial(self._breaker.failed, admission, _now())


def _now() -> float:
    return asyncio.get_running_loop().time()


def _delay(failed: RequestFailed, attempt: int) -> float:
    """Return the seconds until the next attempt: what the provider asks for, plus full jitter."""
    longest = min(FIRST_DELAY_SECONDS * 2.0 ** (attempt - 1), _LONGEST_DELAY_SECONDS)
    return (failed.retry_after_seconds or 0) + longest * _random.random()


async def _outlast(pause: Spared, limit: float) -> None:
    """Wait until another request may be admitted.

    Raises:
        Unavailable: that is not before `limit`.
    """
    if pause.trial is not None:
        try:
            async with asyncio.timeout_at(limit):
                await pause.trial.over.wait()
        except TimeoutError:
            raise _is_spared(pause) from None
    elif pause.until >= limit:
        raise _is_spared(pause)
    else:
        await asyncio.sleep(pause.until - _now())


def _is_spared(pause: Spared) -> Unavailable:
    return Unavailable(
        "The model's provider keeps failing; requests to it are paused.",
        Reason.MODEL_UNAVAILABLE,
        retry_after_seconds=max(round(pause.until - _now(), 1), 1),
    )


def _too_late() -> DeadlineExceeded:
    return DeadlineExceeded("The model did not answer in time.", Reason.MODEL_TIMEOUT)


def _as_service_error(failed: RequestFailed, target: ProviderTarget) -> ServiceError:
    metadata = {} if failed.status is None else {"httpStatus": str(failed.status)}
    if failed.is_rate_limit:
        return ResourceExhausted(
            _message("accepts no more requests at the moment", failed, target),
            Reason.MODEL_RATE_LIMITED,
            retry_after_seconds=failed.retry_after_seconds,
            metadata=metadata,
        )
    if failed.is_refusal:
        return FailedPrecondition(
            _message(f"refuses the request with HTTP {failed.status}", failed, target),
            Reason.MODEL_REFUSED,
            metadata=metadata,
        )
    return Unavailable(
        _message("keeps failing", failed, target),
        Reason.MODEL_UNAVAILABLE,
        retry_after_seconds=failed.retry_after_seconds,
        metadata=metadata,
    )


def _message(what: str, failed: RequestFailed, target: ProviderTarget) -> str:
    """Return the provider's behaviour, the setting to look at, and the provider's own words."""
    setting = target.key_setting if failed.status in _ABOUT_THE_KEY else target.setting
    message = f"The provider of {target.model} {what}; see {setting}."
    words = failed.words
    if not words.message:
        return message
    return f"{message} It {'sends a page' if words.is_page else 'says'}: {words.message}"
