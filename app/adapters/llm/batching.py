"""Embedding of the texts of several callers by one request."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from contextvars import Context
from itertools import chain
from typing import Any

from app.adapters.llm.ports import Vectors
from app.adapters.llm.provider import in_time, now
from app.kernel.errors import ServiceError

_LONGEST_WAIT_SECONDS = 0.005
"""The longest wait for a request under way, so that a slow server delays no further text."""
_FEWEST = 2
_MOST_CHARS = 4_000
"""The most characters of a shared request: a search does not wait for the vectors of long texts."""

Ask = Callable[[Sequence[str], float], Coroutine[Any, Any, Vectors]]
"""Embeds texts until a deadline, a time of the event loop."""
Callers = dict[asyncio.Future[Vectors | None], Sequence[str]]
"""The texts of callers, by the result that each awaits; None tells a caller to ask alone."""


class Batcher:
    """Sends the texts of the same moment together.

    Texts that arrive while a request is under way are sent together after it. If a shared request
    fails, each of its callers asks alone, so that one caller's text cannot fail another's. After
    that fewer texts share a request; each success adds one.
    """

    def __init__(self, ask: Ask, ask_once: Ask, shared_seconds: float) -> None:
        """`ask_once` is for shared requests, which take no longer than `shared_seconds`."""
        self._ask = ask
        self._ask_once = ask_once
        self._shared_seconds = shared_seconds
        self._under_way = 0
        self._most: int | None = None
        self._waiting: Callers = {}
        self._timer: asyncio.TimerHandle | None = None
        self._shared: dict[asyncio.Task[None], Callers] = {}

    async def embed(self, texts: Sequence[str], deadline: float, most: int) -> Vectors:
        """Return the vectors of one caller's texts, or fail as if the caller were the only one."""
        if len(texts) < most and _length(texts) < _MOST_CHARS:
            vectors = await self._join(texts, deadline, most)
            if vectors is not None:
                return vectors
        with self._sending(most):
            return await self._ask(texts, deadline)

    async def close(self) -> None:
        """Cancel the shared requests."""
        tasks = list(self._shared)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _join(self, texts: Sequence[str], deadline: float, most: int) -> Vectors | None:
        loop = asyncio.get_running_loop()
        result: asyncio.Future[Vectors | None] = loop.create_future()
        self._waiting[result] = texts
        if self._timer is None:
            longest = _LONGEST_WAIT_SECONDS if self._under_way else 0
            self._timer = loop.call_later(longest, self._send, most)
        try:
            async with in_time(deadline):
                return await result
        finally:
            self._waiting.pop(result, None)
            for task, callers in self._shared.items():
                if all(caller.cancelled() for caller in callers):
                    task.cancel()

    @contextmanager
    def _sending(self, most: int) -> Iterator[None]:
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            self._send(most)

    def _send(self, most: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting, self._waiting = self._waiting, {}
        for callers in _batches(waiting, min(most, self._most or most)):
            if len(callers) == 1:
                _settle(callers, None)
                continue
            # Without the context of a caller, since its log lines concern several.
            task = asyncio.create_task(self._share(callers, most), context=Context())
            self._shared[task] = callers
            task.add_done_callback(self._end)

    async def _share(self, callers: Callers, most: int) -> None:
        texts = list(chain.from_iterable(callers.values()))
        try:
            with self._sending(most):
                vectors = await self._ask_once(texts, now() + self._shared_seconds)
        except ServiceError:
            self._most = max(_FEWEST, len(texts) // 2)
        else:
            self._most = min(most, (self._most or most) + 1)
            _settle(callers, vectors)

    def _end(self, task: asyncio.Task[None]) -> None:
        _settle(self._shared.pop(task), None)


def _batches(waiting: Callers, most: int) -> Iterator[Callers]:
    """Yield callers in order, each time as many as may share a request of `most` texts."""
    batch: Callers = {}
    count = length = 0
    for result, texts in waiting.items():
        if result.done():
            continue
        more = _length(texts)
        if batch and (count + len(texts) > most or length + more > _MOST_CHARS):
            yield batch
            batch, count, length = {}, 0, 0
        batch[result] = texts
        count += len(texts)
        length += more
    if batch:
        yield batch


def _length(texts: Sequence[str]) -> int:
    return sum(map(len, texts))


def _settle(callers: Callers, vectors: Vectors | None) -> None:
    at = 0
    for result, texts in callers.items():
        if not result.done():
            result.set_result(None if vectors is None else vectors[at : at + len(texts)])
        at += len(texts)
