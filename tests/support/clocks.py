"""Clocks of processes that are wrong.

`python -m tests.support.clocks SECONDS` runs a worker whose clock is so far ahead.
"""

import sys
from datetime import datetime, timedelta

from typing_extensions import override

from app.adapters.logs import configure_logs
from app.kernel.clock import Clock, SystemClock
from app.process.serving import run, work
from app.settings.settings import Settings


class ShiftedClock(SystemClock):
    """The clock of the machine, ahead by a length; behind, if that is less than 0."""

    def __init__(self, by: timedelta) -> None:
        self._by = by

    @override
    def now(self) -> datetime:
        return super().now() + self._by


def _run_worker(clock: Clock) -> None:
    settings = Settings()
    configure_logs(settings)
    run(lambda: work(settings, clock))


if __name__ == "__main__":
    _run_worker(ShiftedClock(timedelta(seconds=float(sys.argv[1]))))
