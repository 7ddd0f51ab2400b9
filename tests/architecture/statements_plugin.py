"""Records every SQL statement that the suite sends, where it leaves: at the driver.

`pytest_plugins` in `tests/conftest.py` names this module, so it is on for every run.
`tests/architecture/test_statements.py` judges what was recorded, after all other tests.
"""

import os
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import psycopg
import pytest
from psycopg import sql

_ROOT = Path(__file__).parents[2]
_APP = f"{_ROOT / 'app'}{os.sep}"
_TESTS = f"{_ROOT / 'tests'}{os.sep}"
_CURSORS: tuple[type[Any], ...] = (
    psycopg.AsyncCursor,
    psycopg.AsyncServerCursor,
    psycopg.Cursor,
    psycopg.ServerCursor,
)
_LAST = "test_statements.py"

recorded: dict[str, set[str]] = {}
"""The distinct statements, each with the functions of the service that sent it."""


def pytest_configure() -> None:
    """Put a recorder before each method of the driver that takes a statement."""
    for cursor in _CURSORS:
        for name in ("execute", "executemany", "stream", "copy"):
            if name in vars(cursor):
                _wrap(cursor, name)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Judge when everything else has run."""
    items.sort(key=lambda item: item.path.name == _LAST)


def _wrap(cursor: type[Any], name: str) -> None:
    original = getattr(cursor, name)

    # Not a coroutine function, so that the stack still holds who called.
    def recording(self: object, query: object, *arguments: object, **options: object) -> object:
        _record(query)
        found: object = original(self, query, *arguments, **options)
        return found

    setattr(cursor, name, recording)


def _record(query: object) -> None:
    sender = _sender(sys._getframe(2))
    if sender is not None:
        recorded.setdefault(_text(query), set()).add(sender)


def _text(query: object) -> str:
    if isinstance(query, sql.Composable):
        return query.as_string(None)
    return query.decode() if isinstance(query, bytes) else str(query)


def _sender(frame: FrameType | None) -> str | None:
    """Return `module.function` of the innermost function of ours, unless it is a test's."""
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(_TESTS):
            return None
        if file.startswith(_APP):
            function = frame.f_code.co_qualname.partition(".<locals>")[0]
            return f"{frame.f_globals['__name__']}.{function}"
        frame = frame.f_back
    return None
