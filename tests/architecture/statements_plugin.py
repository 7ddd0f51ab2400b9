"""Records every SQL statement that the suite sends, where it leaves: at the driver.

`pytest_plugins` in `tests/conftest.py` names this module, so it is on for every run.
`tests/architecture/test_statements.py` judges what was recorded, after all other tests.
"""

import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import psycopg
import pytest
from psycopg import sql

_APP = str(Path(__file__).parents[2] / "app")
_LAST = "test_statements.py"

recorded: dict[str, set[str]] = {}
"""The distinct statements, each with the functions of the service that sent it."""


def pytest_configure() -> None:
    """Put a recorder before each method of the driver that takes a statement."""
    for cursor in (psycopg.AsyncCursor, psycopg.Cursor):
        for name in ("execute", "executemany", "stream"):
            _wrap(cursor, name)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Judge when everything else has run."""
    items.sort(key=lambda item: item.path.name == _LAST)


def _wrap(cursor: type[Any], name: str) -> None:
    original = getattr(cursor, name)

    # Not a coroutine function, so that the stack still holds who called.
    def recording(
        self: object, query: object, *arguments: object, **options: object
    ) -> AsyncIterator[Any] | Iterator[Any]:
        _record(query)
        found: AsyncIterator[Any] | Iterator[Any]
        found = original(self, query, *arguments, **options)
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
    """Return `module.function` of the innermost function of the service on the stack."""
    ...
