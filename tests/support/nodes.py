"""A double of a pool on a distributed database of which one node hangs.

What asks one engine is sent to Postgres, since the node of that engine answers. What asks all of
them waits for the node that hangs, and not even a cancellation ends it.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import psycopg
from typing_extensions import override

from app.adapters.db.engine import Connection, open_engine
from app.adapters.db.session import Database
from app.settings.settings import Settings
from tests.architecture.tenancy import unconfined
from tests.architecture.trees import is_judged


class HangingNode:
    """A node that hangs while a block runs.

    Attributes:
        waiting: the statements that wait for it.
        waited: all that have waited for it.
    """

    def __init__(self) -> None:
        self.waiting: list[str] = []
        self.waited: list[str] = []
        self._answers = asyncio.Event()
        self._answers.set()

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """Have the node hang for the block."""
        self._answers.clear()
        try:
            yield
        finally:
            self._answers.set()

    async def watch(self, connection: Connection) -> None:
        """Have the statements of a new connection wait for the node where they ask it."""
        node = self

        class Cursor(psycopg.AsyncCursor[Any]):
            @override
            async def execute(self, query: Any, *arguments: Any, **options: Any) -> Any:
                await node.ask(query if isinstance(query, str) else "")
                return await super().execute(query, *arguments, **options)

        connection.cursor_factory = Cursor

    async def ask(self, statement: str) -> None:
        """Wait until the node answers, if a statement asks all nodes."""
        if self._answers.is_set() or not is_judged(statement) or not unconfined(statement):
            return
        self.waited.append(statement)
        self.waiting.append(statement)
        while not self._answers.is_set():
            with suppress(asyncio.CancelledError):
                await self._answers.wait()
        self.waiting.remove(statement)


@asynccontextmanager
async def distributed_with(
    node: HangingNode, url: str, settings: Settings
) -> AsyncIterator[Database]:
    """Open a database as if it were distributed, one of whose nodes may hang."""
    database = Database(open_engine(url, settings, check=node.watch))
    database.is_distributed = True
    try:
        yield database
    finally:
        await database.close()
