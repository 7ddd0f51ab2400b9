"""Progress of long commands on standard error: a bar on a terminal, else a line per minute."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TextIO

from typing_extensions import override

from app.adapters.terminal import fail

INTERRUPTED = 130
"""Exit code of a command ended by Ctrl-C."""
_LINE_SECONDS = 60.0


@dataclass
class Progress:
    """Progress of running work.

    Attributes:
        total: the total amount in any measure, such as rows or bytes; None if unknown.
        done: the part of `total` that is done.
    """

    doing: str
    total: int | None
    unit: str
    show: Callable[["Progress"], None]
    seconds: Callable[[], float]
    rows: int = 0
    done: int = 0

    def __post_init__(self) -> None:
        self._began = self.seconds()

    def advance(self, rows: int = 1, amount: int | None = None) -> None:
        """Add rows to the count, and `amount` to a total that has another measure; show it."""
        self.rows += rows
        self.done += rows if amount is None else amount
        self.show(self)

    @override
    def __str__(self) -> str:
        """Return the count, the rate and the remaining time, as far as known."""
        elapsed = self.seconds() - self._began
        parts = [f"{self.rows:,} {self.unit}"]
        if elapsed > 0:
            parts.append(f"{self.rows / elapsed:,.0f} {self.unit}/s")
        if elapsed > 0 and self.done > 0 and self.total is not None:
            left = elapsed * max(0, self.total - self.done) / self.done
            parts.append(f"{timedelta(seconds=round(left))} left")
        return ", ".join(parts)


@contextmanager
def progress(
    doing: str,
    total: int | None = None,
    unit: str = "rows",
    *,
    stream: TextIO | None = None,
    seconds: Callable[[], float] = time.monotonic,
) -> Iterator[Progress]:
    """Yield a count that displays the progress of the block; the bar disappears at its end."""
    out = stream or sys.stderr
    if not out.isatty():
        yield Progress(doing, total, unit, _lines(out, seconds), seconds)
        return
    # Imported here, because other commands do not need it.
    from rich.console import Console  # noqa: PLC0415 - slow import
    from rich.progress import BarColumn, TextColumn  # noqa: PLC0415 - slow import
    from rich.progress import Progress as Bar  # noqa: PLC0415 - slow import

    with Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[count]}"),
        console=Console(file=out),
        transient=True,
    ) as bar:
        task = bar.add_task(doing, total=total, count="")
        yield Progress(
            doing,
            total,
            unit,
            lambda now: bar.update(task, completed=now.done, count=str(now)),
            seconds,
        )


def _lines(out: TextIO, seconds: Callable[[], float]) -> Callable[[Progress], None]:
    last = seconds()

    def show(now: Progress) -> None:
        nonlocal last
        if seconds() - last >= _LINE_SECONDS:
            last = seconds()
            out.write(f"{now.doing}: {now}.\n")
            out.flush()

    return show


@contextmanager
def stoppable(sentence: str) -> Iterator[None]:
    """End the command with status 130 and a sentence about its state on Ctrl-C."""
    try:
        yield
    except KeyboardInterrupt:
        fail(sentence, INTERRUPTED)
