"""Lines of libraries: structured as those of the service, and as few as clients cannot choose."""

import json
import logging
import subprocess
import sys

import pytest
from structlog.testing import capture_logs

from app.adapters.logs import _Libraries


class _Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> _Clock:
    return _Clock()


@pytest.fixture
def handler(clock: _Clock) -> _Libraries:
    return _Libraries(clock)


def _log(handler: logging.Handler, name: str, level: int, message: str, *values: object) -> None:
    handler.handle(logging.LogRecord(name, level, __file__, 1, message, values, None))


def test_a_line_of_a_library_is_a_structured_one(handler: _Libraries) -> None:
    with capture_logs() as lines:
        _log(handler, "some.library", logging.WARNING, "slow: %s", 3)
        _log(handler, "some.library", 35, "odd")
    assert lines == [
        {
            "event": "library.warned",
            "log_level": "warning",
            "logger": "some.library",
            "message": "slow: 3",
        },
        {
            "event": "library.warned",
            "log_level": "warning",
            "logger": "some.library",
            "message": "odd",
        },
    ]


def test_an_exception_is_told_without_its_message(handler: _Libraries) -> None:
    record = logging.LogRecord("some.library", logging.ERROR, __file__, 1, "failed", (), None)
    try:
        int("s3cret")
    except ValueError:
        record.exc_info = sys.exc_info()
    with capture_logs() as lines:
        handler.handle(record)
    (line,) = lines
    assert line["error"].startswith("ValueError at ")
    assert "s3cret" not in str(lines)


def test_the_server_warns_at_most_once_a_second_and_counts_the_rest(
    handler: _Libraries, clock: _Clock
) -> None:
    server = "uvicorn.error"
    with capture_logs() as lines:
        for moment in (100.0, 100.1, 100.9, 101.0, 101.5, 200.0):
            clock.now = moment
            _log(handler, server, logging.WARNING, "Invalid HTTP request received.")
        _log(handler, "other", logging.WARNING, "never left out")
        _log(handler, server, logging.ERROR, "never left out")
    assert [line.get("left_out") for line in lines] == [0, 2, 1, None, None]


def test_a_warning_of_python_is_a_line_without_its_message() -> None:
    """It may quote a text; and a process that writes JSON writes nothing else."""
    code = (
        "import warnings; from app.adapters.logs import configure_logs;"
        "from app.settings.settings import Settings;"
        "configure_logs(Settings(log_format='json')); warnings.warn('SECRET', UserWarning)"
    )
    ended = subprocess.run(
        [sys.executable, "-W", "default", "-c", code], capture_output=True, text=True, check=True
    )
    (line,) = map(json.loads, ended.stderr.splitlines())
    assert (line["event"], line["level"]) == ("library.warned", "warning")
    assert line["message"] == "<string>:1: UserWarning"
    assert "SECRET" not in ended.stderr
