"""Structured logs on standard error. No line holds the text of a memory."""

import json
import logging
import sys
from collections.abc import Mapping
from types import TracebackType

import structlog
from typing_extensions import override

from app.core.failures import describe
from app.settings import LogFormat, Settings


class _QuietFormatter(logging.Formatter):
    """Writes where an exception of a library came from, without its message."""

    @override
    def formatException(
        self,
        ei: tuple[type[BaseException], BaseException, TracebackType | None]
        | tuple[None, None, None],
    ) -> str:
        return describe(ei[1]) if ei[1] is not None else ""


_ENCODER = json.JSONEncoder(default=repr)
"""Made once; `json.dumps` would make one for every line."""


def _write_json(line: Mapping[str, object], **_: object) -> str:
    return _ENCODER.encode(line)


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
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_QuietFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
