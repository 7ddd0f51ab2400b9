"""What the tests of contexts have in common."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import event

from app.adapters.db.session import Database


@pytest.fixture
def sent(database: Database) -> Iterator[list[tuple[str, Any]]]:
    """The statements that go to the database, with their values."""
    found: list[tuple[str, Any]] = []

    def note(*arguments: Any) -> None:
        found.append((arguments[2], arguments[3]))

    engine = database.engine.sync_engine
    event.listen(engine, "before_cursor_execute", note)
    yield found
    event.remove(engine, "before_cursor_execute", note)
