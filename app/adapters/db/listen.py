"""Database notifications, so that workers wake without waiting for their next poll."""

import asyncio
from contextlib import suppress

import psycopg
import structlog
from psycopg import sql

from app.adapters.db.urls import plain_url

_RECONNECT_SECONDS = 1.0
log = structlog.get_logger()


class Notices:
    """The notifications of a channel, for whoever waits for the next.

    Attributes:
        are_heard: whether the database can be heard at the moment.
    """

    def __init__(self) -> None:
        self.are_heard = False
        self._came = asyncio.Event()

    def come(self) -> None:
        """End the wait."""
        self._came.set()

    def clear(self) -> None:
        """Forget what has come."""
        self._came.clear()

    async def wait(self, seconds: float) -> None:
        """Wait until something has come since `clear`, or for some seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._came.wait()


async def listen(url: str, channel: str, notices: Notices) -> None:
    """Pass notifications on until cancelled; reconnect if the server goes away.

    It holds a connection of its own, which must be direct: a transaction pooler drops LISTEN. A
    lost notification costs only the polling interval.
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
            # Whoever waits has to look by itself from now on.
            notices.come()
