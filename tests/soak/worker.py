"""A worker whose clock jumps.

`python -m tests.soak.worker` runs it; with each SIGUSR1 its clock is at the next of `JUMPS`.
"""

import asyncio
import signal
from datetime import datetime, timedelta
from itertools import cycle

from typing_extensions import override

from app.adapters.logs import configure_logs
from app.kernel.clock import SystemClock
from app.process.serving import run, work
from app.settings.settings import Settings

JUMPS = (timedelta(days=3), timedelta(days=-3), timedelta(seconds=31), timedelta())


class JumpingClock(SystemClock):
    """The clock of the machine until it jumps."""

    def __init__(self) -> None:
        self._jumps = cycle(JUMPS)
        self._by = timedelta()

    @override
    def now(self) -> datetime:
        return super().now() + self._by

    def jump(self) -> None:
        """Go to the next distance from the machine's clock."""
        self._by = next(self._jumps)


async def _work() -> None:
    settings, clock = Settings(), JumpingClock()
    configure_logs(settings)
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, clock.jump)
    await work(settings, clock)


if __name__ == "__main__":
    run(_work)
