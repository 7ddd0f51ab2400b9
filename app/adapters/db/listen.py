"""Database notifications, so that workers wake without waiting for their next poll."""

import asyncio
from collections.abc import Callable

import psycopg
import structlog
from psycopg import sql

from app.adapters.db.urls import plain_url

_RECONNECT_SECONDS = 1.0
log = structlog.get_logger()


async def listen(url: str, channel: str, on_notice: Callable[[], None]) -> None:
    """Call `on_notice` for each notification until cancelled; reconnect if the server goes away.

    It holds a connection of its own, which must be direct: a transaction pooler drops LISTEN. A
    lost notification costs only the polling interval.
    """
    while True:
        try:
            await _listen_once(url, channel, on_notice)
        except psycopg.Error as error:
            log.debug("listen.reconnect", error=type(error).__name__)
        await asyncio.sleep(_RECONNECT_SECONDS)


async def _listen_once(url: str, channel: str, on_notice: Callable[[], None]) -> None:
    connection = await psycopg.AsyncConnection.connect(plain_url(url), autocommit=True)
    async with connection:
        statement = sql.SQL("listen {}").format(sql.Identifier(channel))
        await connection.execute(statement)
        on_notice()
        async for _ in connection.notifies():
            on_notice()
