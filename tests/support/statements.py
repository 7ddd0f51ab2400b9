"""Counts the statements that the service sends to a database."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event

from app.adapters.db.session import Database


@contextmanager
def statements_on(database: Database, table: str) -> Iterator[list[str]]:
    """Collect the statements that name a table while the block runs."""
    found: list[str] = []

    def note(*arguments: Any) -> None:
        if table in arguments[2]:
            found.append(arguments[2])

    engine = database.engine.sync_engine
    event.listen(engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(engine, "before_cursor_execute", note)
