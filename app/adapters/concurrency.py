"""Asynchronous work: shared by callers, in the background, in steps, and in threads."""

import asyncio
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Generator,
    Iterable,
    Iterator,
)
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from time import perf_counter
from typing import Any, Generic, ParamSpec, Self, TypeVar

from app.kernel.errors import Aborted, DeadlineExceeded, Reason

_V = TypeVar("_V")
_TURN_SECONDS = 0.001
"""As short as a small request: a task that waits for several turns waits a few milliseconds."""
READ_SECONDS = 60
In = TypeVar("In")
Out = TypeVar("Out")
_LONG = 65_536
"""Length of long input, in characters or bytes; a hundred times as many would block a second."""
P = ParamSpec("P")
T = TypeVar("T")


class Shared(Generic[_V]):
    """A coroutine that runs once for all callers who await it during the run."""

    def __init__(self, work: Callable[[], Coroutine[None, None, _V]]) -> None:
        self._work = work
        self._task: asyncio.Task[_V] | None = None

    async def result(self) -> _V:
        """Return the result of the current run, or of a new one; always yield to the event loop."""
        # A task that was cancelled before its first step cannot clear itself.
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())
            self._task.add_done_callback(consume_exception)
        # Cancelling one waiter must not cancel the work for the others.
        return await asyncio.shield(self._task)

    async def stop(self) -> None:
        """End the current run, if there is one."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> _V:
        try:
            return await self._work()
        finally:
            # Not in a callback, which would run one step later: until then, callers would get the
            # finished task.
            self._task = None


class SingleFlight(Generic[_V]):
    """Work that concurrent callers with equal keys share; after a failure the next repeats it."""

    def __init__(self) -> None:
        self._under_way: dict[bytes, asyncio.Future[_V]] = {}

    async def result(self, key: bytes, work: Callable[[], Awaitable[_V]]) -> _V:
        """Return the result of the current work for a key; if there is none, do the work."""
        while (first := self._under_way.get(key)) is not None:
            # Unlike `await first`, this propagates neither a failure nor a cancellation.
            await asyncio.wait([first])
            if not first.cancelled():
                return first.result()
        done: asyncio.Future[_V] = asyncio.get_running_loop().create_future()
        self._under_way[key] = done
        try:
            result = await work()
            done.set_result(result)
        finally:
            del self._under_way[key]
            done.cancel()
        return result


@asynccontextmanager
async def in_background(work: Coroutine[object, object, object]) -> AsyncIterator[None]:
    """Run work during the block, then cancel it; the end of the block raises its error, if any."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        await end(task)


async def end(*tasks: asyncio.Task[object]) -> None:
    """Cancel tasks and wait for their ends; raise the first error that is no cancellation."""
    for task in tasks:
        task.cancel()
    # Unlike `await task`, this tells a cancellation of the caller from one of the task.
    await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.result()


def raise_if_cancelled() -> None:
    """Raise CancelledError if the running task has been cancelled.

    A loop that catches errors calls it: a driver that is cancelled may raise an error of its own
    instead, and the loop would never end.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


@asynccontextmanager
async def in_time(seconds: float, message: str) -> AsyncIterator[None]:
    """Limit the time in which a text is read; raise DeadlineExceeded with the message after it."""
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            yield
    except TimeoutError:
        if not limit.expired():
            raise
        raise DeadlineExceeded(message, Reason.TEXT_TAKES_TOO_LONG) from None


def consume_exception(done: "asyncio.Future[_V]") -> None:
    """Retrieve the exception of a task without waiters; asyncio would log it otherwise."""
    if not done.cancelled():
        done.exception()


class WriteBehind:
    """A background task for one write at a time.

    A caller that starts writes must call `settle` in a `finally`; otherwise a write may outlive it.
    """

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None

    @property
    def is_busy(self) -> bool:
        """True while a write runs."""
        return self._task is not None and not self._task.done()

    async def start(self, write: Coroutine[Any, Any, None]) -> None:
        """Start a write once the previous one has ended.

        Raises:
            ServiceError: the previous write failed; this one is not started.
        """
        try:
            await self.end()
        except BaseException:
            write.close()
            raise
        self._task = asyncio.create_task(write)

    async def end(self) -> None:
        """Wait for the current write, if any; raise the `ServiceError` with which it failed."""
        if self._task is not None:
            await asyncio.wait({self._task})
            # Not cleared earlier: after a cancellation, `settle` must still find the write.
            ended, self._task = self._task, None
            ended.result()

    async def settle(self) -> None:
        """Wait for the current write, if any, and ignore its failure."""
        if self._task is not None:
            await asyncio.wait({self._task})
            if not self._task.cancelled():
                # Retrieved because asyncio would log it; the caller reports an earlier failure.
                self._task.exception()


async def each(
    items: Iterable[In], work: Callable[[In], Out], *, pause_seconds: float = 0
) -> list[Out]:
    """Return `work(item)` of each item, yielding to the event loop first and every millisecond.

    One call of `work` must take a small part of a millisecond. With a pause, background work gives
    way to a whole request instead of one step of it.
    """
    results: list[Out] = []
    ends = 0.0
    for item in items:
        if perf_counter() >= ends:
            await asyncio.sleep(pause_seconds)
            ends = perf_counter() + _TURN_SECONDS
        results.append(work(item))
    return results


async def offloaded(length: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return the result of `work`, run in a thread if its input is long enough to be worth it."""
    if length < _LONG:
        return work(*args, **kwargs)
    return await asyncio.to_thread(work, *args, **kwargs)


async def stepped(work: Generator[T, None, None], name: str) -> AsyncIterator[T]:
    """Yield the values of a generator whose steps, and whose end, run in one separate thread."""
    loop = asyncio.get_running_loop()
    thread = ThreadPoolExecutor(1, thread_name_prefix=name)
    try:
        while True:
            # A thread cannot raise `StopIteration` through a future.
            stepped = await loop.run_in_executor(thread, lambda: [*_first(work)])
            if not stepped:
                return
            yield stepped[0]
    finally:
        thread.submit(work.close)
        thread.shutdown(wait=False)


def _first(work: Generator[T, None, None]) -> Generator[T, None, None]:
    for value in work:
        yield value
        return


class ReadInThread(Generic[_V]):
    """Numbered parts that a thread reads through the event loop, until the block ends.

    `read` may look for a cancellation: a thread may read many parts before it returns.
    """

    def __init__(self, read: Callable[[int], Coroutine[None, None, _V]]) -> None:
        self._read = read
        self._loop = asyncio.get_running_loop()
        self._is_over = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        # Cancelling the task does not stop the thread, which checks this flag.
        self._is_over = True

    def parts(self, count: int) -> Iterator[_V]:
        """Yield the first parts, in the thread."""
        for number in range(count):
            if self._is_over:
                raise Aborted("The work was interrupted.", Reason.REQUEST_ABANDONED)
            coming = asyncio.run_coroutine_threadsafe(self._read(number), self._loop)
            try:
                part = coming.result(READ_SECONDS)
            except TimeoutError:
                coming.cancel()
                raise DeadlineExceeded(
                    "The database is too slow at the moment.", Reason.DATABASE_UNAVAILABLE
                ) from None
            yield part
