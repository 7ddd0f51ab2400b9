"""The end of a process by a signal, which also cancels a start in progress."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.process.listening import ProcessPlace, tell_stopping
from app.process.watchdog import (
    AFTER_GRACE_SECONDS,
    BEFORE_KILL_SECONDS,
    SIGNALS,
    Watchdog,
)
from app.settings.settings import Settings


class Stopping(asyncio.Event):
    """An event that is set once the process is asked to stop; a start in progress is cancelled.

    Args:
        task: the process's main task.
    """

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

    The watchdog ends a process that does not stop in time, or whose event loop hangs.

    Args:
        settings: the settings with the grace period of running work.
        place: whether there is a supervisor, which announces the stop of all processes once, and
            kills a process that does not stop.
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
