"""The end of a process: by a signal, by a task that fails to stop, or by a hanging event loop.

A thread checks every second whether the event loop responds. A loop that has not responded for
`stall_exit_seconds` is considered hung, and all clients of the process would wait. The thread logs
the stacks of all threads and tasks and ends the process at once; a supervisor then restarts it. As
with kill -9, no acknowledged data is lost. The thread also receives and forwards signals, even
while the loop hangs.

Native code that never releases the interpreter's lock blocks this thread as well.
"""

import asyncio
import os
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from types import FrameType
from typing import Any

import structlog

from app.process.listening import ProcessPlace, tell_stopping
from app.settings.settings import Settings


class Stopping(asyncio.Event):
    """An event that is set once the process is asked to stop; a start in progress is cancelled."""

    def __init__(self, task: asyncio.Task[object]) -> None:
        super().__init__()
        self.is_up = False
        self.has_cancelled = False
        self._task = task

    def ask(self) -> None:
        """Ask the process to stop."""
        if not self.is_up and not self.is_set():
            self.has_cancelled = self._task.cancel()
        self.set()


@asynccontextmanager
async def until_signalled(settings: Settings, place: ProcessPlace) -> AsyncIterator[Stopping]:
    """Yield an event that SIGINT and SIGTERM set instead of their default effect.

    The watchdog ends a process whose event loop hangs, or that does not stop in time and has no
    supervisor to kill it.
    """
    loop = asyncio.get_running_loop()
    grace_seconds = settings.shutdown_grace_seconds
    is_supervised = place.tell_up is not None
    stop_seconds = grace_seconds + AFTER_GRACE_SECONDS
    if is_supervised:
        stop_seconds -= BEFORE_KILL_SECONDS
    async with until_asked() as stopping:

        def stop() -> None:
            if not (is_supervised or stopping.is_set()):
                tell_stopping(grace_seconds)
            stopping.ask()

        for number in SIGNALS:
            loop.add_signal_handler(number, stop)
        try:
            with Watchdog(loop, settings, stop_seconds).watching():
                yield stopping
        finally:
            for number in SIGNALS:
                loop.remove_signal_handler(number)


@asynccontextmanager
async def until_asked() -> AsyncIterator[Stopping]:
    """Yield an event with which the caller can ask the process to stop."""
    task = asyncio.current_task()
    assert task is not None
    stopping = Stopping(task)
    try:
        yield stopping
    except asyncio.CancelledError:
        # All resources were closed by the cancellation, and the process ends as requested.
        if not stopping.has_cancelled:
            raise
        task.uncancel()


log = structlog.get_logger()

EXIT_CODE = 70
"""Exit code of an ended process. Source: EX_SOFTWARE of sysexits.h."""
SIGNALS = (signal.SIGINT, signal.SIGTERM)
AFTER_GRACE_SECONDS = 5.0
"""Time for closing connections and the embedded Postgres after all work has ended."""
ONE_SECONDS = 1.0
"""Signals within this time count as one, because launchers may forward a signal twice."""
BEFORE_KILL_SECONDS = 2.0
"""Time for logging the reason before the supervisor kills the process."""
_LOOK_SECONDS = 1.0
_LOG_SECONDS = 3.0
_MAX_TASKS = 50
_MAX_FRAMES = 20
_LEFT = bytes([0])
"""Marker sent on the signal socket when the block ends."""


class Watchdog:
    """A watchdog of one event loop, in a thread; it also bounds the time of the stop."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, settings: Settings, stop_seconds: float
    ) -> None:
        self._loop = loop
        self._stall_seconds = settings.tuning.stall_exit_seconds
        self._stop_seconds = stop_seconds
        self._read, self._write = socket.socketpair()
        self._read.settimeout(_LOOK_SECONDS)
        self._write.setblocking(False)
        self._forward = -1
        """The file descriptor from which the loop reads its signals."""
        self._has_answered = True
        self._silent_seconds = 0.0
        self._asked: float | None = None
        """The time at which the process was asked to stop."""

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch during the block or, once the process is asked to stop, until it ends.

        Enter the block on the main thread, after the loop has installed its signal handlers.
        """
        self._forward = signal.set_wakeup_fd(self._write.fileno(), warn_on_full_buffer=False)
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()
        try:
            yield
        finally:
            signal.set_wakeup_fd(self._forward, warn_on_full_buffer=False)
            self._write.send(_LEFT)
            self._write.close()

    def _watch(self) -> None:
        with self._read:
            looked = time.monotonic()
            while _LEFT not in (numbers := self._signals()):
                now = time.monotonic()
                self._note(numbers, now)
                # After a pause of the whole process, count at most one missed check.
                self._look(min(now - looked, 2 * _LOOK_SECONDS))
                looked = now
        if self._asked is not None:
            # The loop has ended, but threads may keep the process alive.
            time.sleep(max(0.0, self._asked + self._stop_seconds - time.monotonic()))
            self._end("process.did_not_stop", self._stop_seconds)

    def _signals(self) -> bytes:
        try:
            return self._read.recv(64)
        except TimeoutError:
            return b""

    def _note(self, numbers: bytes, now: float) -> None:
        with suppress(OSError):
            os.write(self._forward, numbers)
        is_asked = bool(set(numbers) & set(SIGNALS))
        if self._asked is None:
            self._asked = now if is_asked else None
        elif is_asked and now - self._asked >= ONE_SECONDS:
            self._end("process.asked_again", now - self._asked)
        elif now - self._asked >= self._stop_seconds:
            self._end("process.did_not_stop", now - self._asked)

    def _look(self, seconds: float) -> None:
        if self._has_answered:
            self._has_answered, self._silent_seconds = False, 0.0
            # The loop is closed, and the marker for the end of the block will arrive soon.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._answer)
            return
        self._silent_seconds += seconds
        if 0 < self._stall_seconds <= self._silent_seconds:
            self._end("event_loop.stalled", self._silent_seconds)

    def _answer(self) -> None:
        self._has_answered = True

    def _end(self, why: str, seconds: float) -> None:
        """End the process; log the stacks first if the log accepts them in time."""

        def tell() -> None:
            stacks = {"threads": _threads(), "tasks": _tasks(self._loop)}
            log.critical(why, seconds=round(seconds, 1), exit_code=EXIT_CODE, **stacks)

        # From another thread: the log itself may be what blocks the process.
        telling = threading.Thread(target=tell, daemon=True)
        telling.start()
        telling.join(_LOG_SECONDS)
        os._exit(EXIT_CODE)


def _threads() -> list[str]:
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    return [
        f"{names.get(ident, '?')}: {_places(reversed(list(traceback.walk_stack(frame))))}"
        for ident, frame in sys._current_frames().items()  # noqa: SLF001 - documented
    ]


def _tasks(loop: asyncio.AbstractEventLoop) -> list[str]:
    return [
        _places(_awaiting(task.get_coro())) for task in list(asyncio.all_tasks(loop))[:_MAX_TASKS]
    ]


def _awaiting(awaited: Any) -> Iterator[tuple[FrameType, int]]:  # noqa: ANN401 - whatever it is
    for _ in range(_MAX_FRAMES):
        frame = getattr(awaited, "cr_frame", None) or getattr(awaited, "gi_frame", None)
        if frame is None:
            return
        yield frame, frame.f_lineno
        awaited = getattr(awaited, "cr_await", None) or getattr(awaited, "gi_yieldfrom", None)


def _places(frames: Iterable[tuple[FrameType, int]]) -> str:
    """Format frames as `app.kernel.errors` does, the innermost last."""
    places = [f"{frame.f_code.co_filename}:{line} {frame.f_code.co_name}" for frame, line in frames]
    return " > ".join(places[-_MAX_FRAMES:])
