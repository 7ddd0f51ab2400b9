"""Calls of a provider, with bounded retries, bounded concurrency and a circuit breaker."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import KW_ONLY, dataclass, field
from math import inf
from random import SystemRandom
from typing import TypeVar

import httpx2
from typing_extensions import override

from app.adapters.llm.http import ReplyUnread
from app.adapters.llm.words import CUT, SILENCE, Words, is_of_mode, is_of_size
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
_OK = 200
_NOT_IMPLEMENTED = 501
_NO_KEY = 401
_ABOUT_THE_KEY = (_NO_KEY, 403)
_MODE_REFUSED = (400, 422, 501)
"""Statuses with which servers refuse an unknown output mode, whatever their words."""
_REFUSED_BY_WORDS = (_OK, 500)
"""Statuses of servers that tell only by their words that they refuse a request."""
_OF_MODE = "MEMORY_BANK_MODEL_OUTPUT"
_random = SystemRandom()
T = TypeVar("T")


@dataclass(eq=False)
class RequestFailed(Exception):
    """A request without an answer; if `is_final`, something smaller is to be requested."""

    status: int | None = None
    retry_after_seconds: float | None = None
    words: Words = field(default=SILENCE, repr=False)
    _: KW_ONLY
    is_unreachable: bool = False
    is_final: bool = False

    @override
    def __str__(self) -> str:
        return f"status {self.status}"

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
        if self.is_final or self.status is None or self.status in _MAY_PASS:
            return self.is_final
        if self.status in _REFUSED_BY_WORDS:
            return is_of_mode(self.words.whole) or is_of_size(self.words.whole)
        return 300 <= self.status < 500 or self.status == _NOT_IMPLEMENTED

    @property
    def is_of_mode(self) -> bool:
        """True if another way of requesting a structure may be accepted."""
        if self.status in _MODE_REFUSED:
            return True
        return self.is_refusal and self.status != _NO_KEY and is_of_mode(self.words.whole)


def without_reply(error: httpx2.TransportError) -> RequestFailed | BadGateway:
    """Return the failure of a request whose reply was not read to its end."""
    if isinstance(error, ReplyUnread):
        # A retry would not help.
        return BadGateway(str(error), Reason.MODEL_OUTPUT_INVALID)
    is_unreachable = isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout)
    return RequestFailed(is_unreachable=is_unreachable)


@dataclass(frozen=True)
class ProviderTarget:
    """A model at a provider, and the settings that name it, its key, address and longest prompt."""

    model: str
    setting: str
    key_setting: str
    address_setting: str
    length_setting: str

    def setting_of(self, failed: RequestFailed) -> str:
        """Return the setting to look at after a failure."""
        if failed.is_unreachable:
            return self.address_setting
        if failed.status in _ABOUT_THE_KEY:
            return self.key_setting
        if is_of_mode(failed.words.whole):
            return _OF_MODE
        return self.length_setting if "context" in failed.words.whole else self.setting


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

    @property
    def is_spared(self) -> bool:
        """True while its breaker is open."""
        return self._breaker.is_open()

    async def call(
        self,
        request: Callable[[], Awaitable[T]],
        deadline: float,
        target: ProviderTarget,
        *,
        is_once: bool = False,
    ) -> T:
        """Return the result of `request`, retried if that may help, unless `is_once`.

        `request` raises RequestFailed or BadGateway; `deadline` is a time of the event loop. A
        request may take all the remaining time: cutting it off earlier would never let a slow model
        finish.

        Raises:
            ResourceExhausted: the provider keeps refusing with 429.
            Unavailable: the provider keeps failing, or its breaker stays open for too long.
            DeadlineExceeded: the deadline has passed.
            FailedPrecondition: the provider refuses the request or the key.
            BadGateway: the reply is not read.
        """
        attempts = 1 if is_once else self._max_attempts
        for attempt in range(1, attempts + 1):
            try:
                return await self._attempt(request, deadline, target)
            except RequestFailed as failed:
                delay = _delay(failed, attempt)
                is_last = attempt == attempts or now() + delay >= deadline
                if is_last or failed.is_refusal:
                    raise _as_service_error(failed, target) from None
            await asyncio.sleep(delay)
        raise AssertionError("The last attempt returns or raises.")

    async def _attempt(
        self, request: Callable[[], Awaitable[T]], deadline: float, target: ProviderTarget
    ) -> T:
        limit = min(deadline, now() + self._patience_seconds)
        while True:
            async with self._breaker.admitted(limit) as is_trial:
                async with in_time(deadline):
                    await self._slots.acquire()
                try:
                    if is_trial or not self._breaker.is_open():
                        return await self._counted(request, deadline, target, is_trial=is_trial)
                finally:
                    self._slots.release()

    async def _counted(
        self,
        request: Callable[[], Awaitable[T]],
        deadline: float,
        target: ProviderTarget,
        *,
        is_trial: bool,
    ) -> T:
        began = now()
        try:
            async with in_time(deadline):
                answer = await request()
        except DeadlineExceeded as late:
            if deadline - began >= self._fair_seconds:
                self._breaker.failed(late.message, is_trial=is_trial)
            raise
        except BadGateway:
            self._breaker.succeeded(is_trial=is_trial)
            raise
        except RequestFailed as failed:
            if failed.is_refusal:
                self._breaker.succeeded(is_trial=is_trial)
            elif not failed.is_rate_limit:
                self._breaker.failed(_lasting(failed, target), is_trial=is_trial)
            raise
        self._breaker.succeeded(is_trial=is_trial)
        return answer


def _delay(failed: RequestFailed, attempt: int) -> float:
    """Return the seconds until the next attempt: what the provider asks for, plus full jitter."""
    longest = min(FIRST_DELAY_SECONDS * 2.0 ** (attempt - 1), _LONGEST_DELAY_SECONDS)
    return (failed.retry_after_seconds or 0) + longest * _random.random()


@asynccontextmanager
async def in_time(deadline: float) -> AsyncIterator[None]:
    """Cancel the block at `deadline`, a time of the event loop; then raise `DeadlineExceeded`."""
    try:
        async with asyncio.timeout_at(deadline):
            # Too late, nothing begins.
            await asyncio.sleep(0)
            yield
    except TimeoutError:
        raise DeadlineExceeded("The model did not answer in time.", Reason.MODEL_TIMEOUT) from None


def _as_service_error(failed: RequestFailed, target: ProviderTarget) -> ServiceError:
    message, wait = _message(failed, target), failed.retry_after_seconds
    error: ServiceError
    if failed.is_rate_limit:
        error = ResourceExhausted(message, Reason.MODEL_RATE_LIMITED, retry_after_seconds=wait)
    elif failed.is_refusal:
        error = FailedPrecondition(message, Reason.MODEL_REFUSED)
    else:
        error = Unavailable(message, Reason.MODEL_UNAVAILABLE, retry_after_seconds=wait)
    if failed.status is not None:
        error.metadata["httpStatus"] = str(failed.status)
    return error


def _lasting(failed: RequestFailed, target: ProviderTarget) -> str:
    """Return a failure's message for other callers, who must not see each other's words."""
    repeats = CUT in failed.words.message
    return _message(RequestFailed(failed.status) if repeats else failed, target)


def _message(failed: RequestFailed, target: ProviderTarget) -> str:
    if failed.is_rate_limit:
        what = "accepts no more requests at the moment"
    elif failed.is_refusal:
        what = f"refuses the request with HTTP {failed.status}"
    elif failed.is_unreachable:
        what = "cannot be reached"
    else:
        what = "sends no answer that can be read" if failed.status == _OK else "keeps failing"
    setting = target.setting_of(failed)
    return f"The provider of {target.model} {what}; see {setting}.{failed.words.sentence}"


class Breaker:
    """A circuit breaker that opens after a number of failures in a row, and later admits a trial.

    While the breaker is open only the trial counts: earlier requests show only the past.
    """

    def __init__(self, failures: int, seconds: float) -> None:
        self._failures = failures
        self._seconds = seconds
        self._failed = 0
        self._cause = ""
        self._pause_end = 0.0
        self._trial = asyncio.Lock()
        """Held by the trial; those that wait for it look again at the breaker afterwards."""

    def is_open(self) -> bool:
        """Return True while the provider is spared."""
        return self._failed >= self._failures

    @asynccontextmanager
    async def admitted(self, limit: float) -> AsyncIterator[bool]:
        """Wait until a request may be made in the block; yield True if it is the trial.

        Raises:
            Unavailable: that is not before `limit`, in seconds of the event loop's clock.
        """
        while self.is_open():
            if self._pause_end >= limit:
                raise self._refusal()
            await asyncio.sleep(self._pause_end - now())
            try:
                async with asyncio.timeout_at(limit):
                    await self._trial.acquire()
            except TimeoutError:
                raise self._refusal() from None
            try:
                if self.is_open() and self._pause_end <= now():
                    yield True
                    return
            finally:
                self._trial.release()
        yield False

    def succeeded(self, *, is_trial: bool) -> None:
        """Count an answer of the provider, of any kind."""
        if is_trial or not self.is_open():
            self._failed = 0

    def failed(self, cause: str, *, is_trial: bool) -> None:
        """Count a failure of the provider; the cause of the first in a row is told to others."""
        if is_trial or not self.is_open():
            self._cause = self._cause if self._failed else cause
            self._failed += 1
            self._pause_end = now() + self._seconds

    def _refusal(self) -> Unavailable:
        seconds = max(round(self._pause_end - now(), 1), 1)
        unit = "second" if seconds == 1 else "seconds"
        return Unavailable(
            f"{self._cause} Requests to the provider are paused for {seconds:g} {unit}.",
            Reason.MODEL_UNAVAILABLE,
            retry_after_seconds=seconds,
        )


def now() -> float:
    """Return the time of the event loop, in seconds."""
    return asyncio.get_running_loop().time()
