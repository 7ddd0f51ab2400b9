"""Counts the statements that the service sends to a database."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event

from app.adapters.db.session import Database

_OF_OTHERS = ("api_key_changes", "reltuples")
"""Parts of the statements that tell what changed in other processes, and how old statistics are."""


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


def beside_admission(statements: Iterable[str]) -> list[str]:
    """Return what the requests themselves sent.

    Whether a key has ended is asked again about once a second, and tables that an import filled are
    analysed some time after it, so within any request where the machine is slow.
    """
    return [one for one in statements if not any(part in one for part in _OF_OTHERS)]
