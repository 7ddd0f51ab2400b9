"""Structured logs on standard error. No line contains the text of a memory."""

import json
import logging
import sys
import time
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, MutableMapping
from time import monotonic
from typing import Any

import structlog
from typing_extensions import override

from app.kernel.errors import describe
from app.settings.settings import LogFormat, Settings

log = structlog.get_logger()
_SERVER = "uvicorn.error"
_PYTHON = "py.warnings"
"""The logger of warnings as `FILE:LINE: CATEGORY: WORDS`."""
_PAUSE_SECONDS = 1.0
_ENCODER = json.JSONEncoder(default=repr)
"""One encoder for all lines; `json.dumps` would create one per line."""
_RARE_SECONDS = 60.0
"""Pause between two lines of the same kind."""


class _Libraries(logging.Handler):
    """A handler that writes library logs in this service's format, exceptions without messages.

    Clients can provoke warnings of the server, so these are limited to one line a second.
    """

    def __init__(self, seconds: Callable[[], float] = monotonic) -> None:
        super().__init__()
        self._seconds = seconds
        self._next = 0.0
        self._left_out = 0

    @override
    def emit(self, record: logging.LogRecord) -> None:
        details: dict[str, object] = {}
        if record.name == _SERVER and record.levelno < logging.ERROR:
            now = self._seconds()
            if now < self._next:
                self._left_out += 1
                return
            details["left_out"] = self._left_out
            self._next, self._left_out = now + _PAUSE_SECONDS, 0
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            details["error"] = describe(error)
        message = record.getMessage()
        if record.name == _PYTHON:
            # The words may quote a text.
            message = ": ".join(message.split(": ")[:2])
        log.log(
            # structlog supports only Python's own levels.
            min(record.levelno // 10 * 10, logging.CRITICAL),
            "library.warned",
            logger=record.name,
            message=message,
            **details,
        )


def _write_json(line: Mapping[str, object], **_: object) -> str:
    return _ENCODER.encode(line)


def request_id() -> str | None:
    """Return the id of the request that this task serves, or that started its operation."""
    found: str | None = structlog.contextvars.get_contextvars().get("request_id")
    return found


def _add_process(_: object, __: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    if (name := get_process_name()) is not None:
        line["process"] = int(name) if name.isdigit() else name
    return line


def configure_logs(settings: Settings) -> None:
    """Send the lines of this service and the warnings of its libraries to standard error."""
    level = logging.getLevelNamesMapping()[settings.log_level]
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer(_write_json)
        if settings.log_format is LogFormat.JSON
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            _add_process,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        # One write call per line, because several processes may write to the same file.
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=logging.WARNING, handlers=[_Libraries()], force=True)
    logging.captureWarnings(True)


class _Own:
    name: str | None = None


def set_process_name(name: str) -> None:
    """Set the name of this process, just after the fork."""
    _Own.name = name


def get_process_name() -> str | None:
    """Return the name of this process; None: it is the only process, or the parent."""
    return _Own.name


class RareLines:
    """The lines that one part of a process writes rarely, by their kinds, which are few."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._written: dict[Hashable, float] = {}
        self._left_out: Counter[Hashable] = Counter()

    def due(self, kind: Hashable) -> int | None:
        """Return how many lines of a kind were left out before this one; None: leave it out."""
        now = self._monotonic()
        if kind in self._written and now - self._written[kind] < _RARE_SECONDS:
            self._left_out[kind] += 1
            return None
        self._written[kind] = now
        return self._left_out.pop(kind, 0)
