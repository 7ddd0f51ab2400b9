"""Creation of connection pools."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import psycopg
from sqlalchemy import Engine, create_engine
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from app.adapters.db.opener import OPENER, Connect, Connection, Opener
from app.adapters.db.urls import plain_url
from app.settings.settings import Settings

Check = Callable[[Connection], Awaitable[None]]
TRANSACTION_LIMIT = "transaction_limit"
"""Option of an engine: its `TransactionLimit`."""
_DIALECT = "postgresql+psycopg://"
"""Only the dialect: the driver itself connects, because it supports addresses of several hosts."""


@dataclass(frozen=True)
class TransactionLimit:
    """The longest time of a transaction that may write vectors.

    Attributes:
        milliseconds: the time.
        is_default: True if it is a setting of connections; otherwise each transaction sets it.
    """

    milliseconds: int
    is_default: bool


def _limit(settings: Settings) -> TransactionLimit:
    milliseconds = int(settings.tuning.database_transaction_max_seconds * 1000)
    return TransactionLimit(milliseconds, is_default=not settings.database_behind_pooler)


def connect_arguments(settings: Settings) -> dict[str, Any]:
    """Return the driver's arguments for a connection of the service, except its address."""
    arguments: dict[str, Any] = {
        "connect_timeout": settings.tuning.database_connect_timeout_seconds,
        "application_name": "open-memory-bank",
    }
    if settings.database_behind_pooler:
        if not settings.database_pooler_prepared:
            arguments["prepare_threshold"] = None
    else:
        milliseconds = int(settings.database_statement_timeout_seconds * 1000)
        # No JIT: statements are short, and compiling one takes longer than running it.
        arguments["options"] = (
            f"-c statement_timeout={milliseconds}"
            f" -c transaction_timeout={_limit(settings).milliseconds}"
            " -c timezone=UTC -c jit=off"
        )
    return arguments


def open_engine(url: str, settings: Settings, check: Check | None = None) -> AsyncEngine:
    """Open a pool without connecting yet; `check` raises for an unusable new connection.

    Raises:
        AddressError: the address is malformed.
    """
    connect = partial(
        psycopg.AsyncConnection.connect, plain_url(url), **connect_arguments(settings)
    )
    opener = Opener(connect if check is None else partial(_checked, connect, check))
    return create_async_engine(
        _DIALECT,
        async_creator=opener.open,
        pool_size=settings.database_pool_size,
        max_overflow=settings.tuning.database_pool_overflow,
        pool_timeout=settings.tuning.database_pool_timeout_seconds,
        # A restarted server leaves dead connections in the pool, on which requests would fail.
        pool_pre_ping=True,
        # Parameters contain the text of memories, which must not get into messages and logs.
        hide_parameters=True,
        execution_options={OPENER: opener, TRANSACTION_LIMIT: _limit(settings)},
    )


async def _checked(connect: Connect, check: Check) -> Connection:
    connection = await connect()
    try:
        await check(connection)
    except BaseException:
        await connection.close()
        raise
    return connection


def open_blocking_engine(url: str, **arguments: Any) -> Engine:  # noqa: ANN401 - the driver's
    """Open an engine without a pool, for commands that may block.

    Raises:
        AddressError: the address is malformed.
    """
    # Prepared statements would stay on a pooler's connection and break other clients.
    connect = partial(psycopg.connect, plain_url(url), prepare_threshold=None, **arguments)
    return create_engine(_DIALECT, creator=connect, poolclass=NullPool, hide_parameters=True)
