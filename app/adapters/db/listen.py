"""Database notifications, which wake workers before their next poll."""

import asyncio
from contextlib import suppress

import psycopg
import structlog
from psycopg import sql

from app.adapters.db.urls import plain_url

_RECONNECT_SECONDS = 1.0
log = structlog.get_logger()


class Notices:
    """The notifications of a channel, for tasks that wait for the next.

    Attributes:
        are_heard: whether the listener is connected at the moment.
    """

    def __init__(self) -> None:
        self.are_heard = False
        self._came = asyncio.Event()

    def come(self) -> None:
        """Record a notification, which ends the waits."""
        self._came.set()

    def clear(self) -> None:
        """Forget earlier notifications."""
        self._came.clear()

    async def wait(self, seconds: float) -> None:
        """Wait for a notification since the last `clear`, or for some seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._came.wait()


async def listen(url: str, channel: str, notices: Notices) -> None:
    """Pass notifications on until cancelled; reconnect if the server goes away.

    It holds a separate connection, which must be direct: a transaction pooler drops LISTEN. A lost
    notification only delays the work until the next poll.
    """
    while True:
        try:
            await _listen_once(url, channel, notices)
        except psycopg.Error as error:
            log.debug("listen.reconnect", error=type(error).__name__)
        await asyncio.sleep(_RECONNECT_SECONDS)


async def _listen_once(url: str, channel: str, notices: Notices) -> None:
    connection = await psycopg.AsyncConnection.connect(plain_url(url), autocommit=True)
    async with connection:
        statement = sql.SQL("listen {}").format(sql.Identifier(channel))
        await connection.execute(statement)
        notices.are_heard = True
        notices.come()
        try:
            async for _ in connection.notifies():
                notices.come()
        finally:
            notices.are_heard = False
            # From now on, waiting tasks must poll.
            notices.come()
