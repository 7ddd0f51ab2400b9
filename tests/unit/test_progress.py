"""Progress of commands: what a terminal and a log see, and how Ctrl-C ends them."""

import io

import pytest
import typer
from typing_extensions import override

from app.process.progress import INTERRUPTED, progress, stoppable

_ERASED = "\x1b[1A\x1b[2K"
"""One line up, and away with it."""


class _Terminal(io.StringIO):
    @override
    def isatty(self) -> bool:
        return True


class _Seconds:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_log_gets_a_line_a_minute() -> None:
    out, seconds = io.StringIO(), _Seconds()
    with progress("Importing", 1_000, stream=out, seconds=seconds) as done:
        for minute in (0.5, 0.9, 1.0, 1.5, 2.1):
            seconds.now = 60 * minute
            done.advance(100)
    assert out.getvalue().splitlines() == [
        "Importing: 300 rows, 5 rows/s, 0:02:20 left.",
        "Importing: 500 rows, 4 rows/s, 0:02:06 left.",
    ]


def test_rows_can_be_another_measure_than_the_total() -> None:
    out, seconds = io.StringIO(), _Seconds()
    with progress("Reading", 4_000, stream=out, seconds=seconds) as done:
        seconds.now = 60
        done.advance(30, amount=1_000)
    assert out.getvalue() == "Reading: 30 rows, 0 rows/s, 0:03:00 left.\n"


def test_nothing_is_said_of_a_time_left_that_nobody_knows() -> None:
    out, seconds = io.StringIO(), _Seconds()
    with progress("Exporting", unit="lines", stream=out, seconds=seconds) as done:
        seconds.now = 60
        done.advance(120)
    assert out.getvalue() == "Exporting: 120 lines, 2 lines/s.\n"


def test_a_terminal_gets_a_bar_that_goes_when_the_work_ends() -> None:
    out, seconds = _Terminal(), _Seconds()
    with progress("Importing", 200, stream=out, seconds=seconds) as done:
        seconds.now = 2
        done.advance(100)
    shown = out.getvalue()
    assert "Importing" in shown
    assert "100 rows, 50 rows/s, 0:00:02 left" in shown
    assert shown.endswith(_ERASED)


def test_an_interrupted_command_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as raised, stoppable("The same command goes on."):
        raise KeyboardInterrupt
    assert raised.value.exit_code == INTERRUPTED
    assert capsys.readouterr().err == "The same command goes on.\n"
