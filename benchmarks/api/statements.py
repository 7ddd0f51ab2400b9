"""The statements that a request of ours sends, and the same again with ids of their own."""

import itertools
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import AsyncRawCursor
from psycopg.types.json import Jsonb
from psycopg_pool import AsyncConnectionPool

from app.kernel.guard import open_transaction

_ID = re.compile(r"\d{18}")
_fresh = itertools.count(10**17)


@dataclass(frozen=True)
class Statement:
    """What was sent, and whether it was a transaction of its own."""

    query: Any
    values: Any
    is_alone: bool


@dataclass
class Recorded:
    """The statements of one request, in their order."""

    statements: list[Statement] = field(default_factory=list)

    def again(self) -> list[Statement]:
        """Return them with new ids in the place of those that were made for the request."""
        ids: dict[str, str] = {}
        return [
            Statement(one.query, _renewed(one.values, ids), one.is_alone) for one in self.statements
        ]


def _renewed(value: Any, ids: dict[str, str]) -> Any:  # noqa: ANN401 - whatever is sent
    match value:
        case Mapping():
            return {name: _renewed(one, ids) for name, one in value.items()}
        case Jsonb():
            return Jsonb(_renewed(value.obj, ids))
        case list():
            return [_renewed(one, ids) for one in value]
        case str() | int() if not isinstance(value, bool):
            renewed = _ID.sub(lambda found: _new(found[0], ids), str(value))
            return type(value)(renewed)
        case _:
            return value


def _new(known: str, ids: dict[str, str]) -> str:
    return ids.setdefault(known, str(next(_fresh)))


@contextmanager
def recording(recorded: Recorded) -> Iterator[None]:
    """Note what is sent for callers while the block runs, which should be one request."""
    original = psycopg.AsyncCursor.execute

    async def execute(self: Any, query: Any, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - as the driver's
        transaction = open_transaction()
        # The worker and the sweeps of this process send statements, too; they have no caller.
        if transaction is not None and transaction.caller is not None:
            values = arguments[0] if arguments else options.get("params")
            recorded.statements.append(Statement(query, values, self.connection.autocommit))
        return await original(self, query, *arguments, **options)

    psycopg.AsyncCursor.execute = execute  # type: ignore[method-assign]  # put back below
    try:
        yield
    finally:
        psycopg.AsyncCursor.execute = original  # type: ignore[method-assign]  # as it was


async def send(pool: AsyncConnectionPool[Any], statements: list[Statement]) -> list[Any]:
    """Send statements as they were: alone, or together in a transaction; return the last rows."""
    rows: list[Any] = []
    async with pool.connection() as connection:
        together = any(not one.is_alone for one in statements)
        await connection.set_autocommit(not together)
        for one in statements:
            has_numbers = isinstance(one.values, list)
            cursor = AsyncRawCursor(connection) if has_numbers else connection.cursor()
            await cursor.execute(one.query, one.values, binary=has_numbers)
            if cursor.description is not None:
                rows = await cursor.fetchall()
    return rows
