"""A database of the tests, used for a while as if it were distributed."""

from collections.abc import Iterator
from contextlib import contextmanager

from app.adapters.db.session import Database


@contextmanager
def used_as_distributed(database: Database) -> Iterator[None]:
    """Have the process take a database for a distributed one in the block.

    It is known of the server, which all tests share, so it is taken back.
    """
    before, database.is_distributed = database.is_distributed, True
    try:
        yield
    finally:
        database.is_distributed = before
