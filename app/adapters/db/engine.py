"""Creation of connection pools."""

from functools import partial
from typing import Any

import psycopg
from sqlalchemy import Engine, create_engine
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from app.adapters.db.urls import plain_url
from app.settings.settings import Settings

_DIALECT = "postgresql+psycopg://"
"""The dialect only: the driver itself connects, as it supports addresses of several hosts."""


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
        # Statements are short: compiling one takes longer than running it.
        options = f"-c statement_timeout={milliseconds} -c timezone=UTC -c jit=off"
        arguments["options"] = options
    return arguments


def open_engine(url: str, settings: Settings) -> AsyncEngine:
    """Open a pool without connecting yet.

    Raises:
        AddressError: the address is malformed.
    """
    connect = partial(
        psycopg.AsyncConnection.connect, plain_url(url), **connect_arguments(settings)
    )
    return create_async_engine(
        _DIALECT,
        async_creator=connect,
        pool_size=settings.database_pool_size,
        max_overflow=settings.tuning.database_pool_overflow,
        pool_timeout=settings.tuning.database_pool_timeout_seconds,
        # A restarted server leaves dead connections in the pool; the first request after it
        # must not pay for them.
        pool_pre_ping=True,
        # Parameters contain the text of memories; no message quotes them, whoever logs it.
        hide_parameters=True,
    )


def open_blocking_engine(url: str, **arguments: Any) -> Engine:  # noqa: ANN401 - the driver's
    """Open an engine that connects anew each time, for commands that may block.

    Raises:
        AddressError: the address is malformed.
    """
    # Prepared statements would stay on a pooler's connection and break other clients.
    connect = partial(psycopg.connect, plain_url(url), prepare_threshold=None, **arguments)
    return create_engine(_DIALECT, creator=connect, poolclass=NullPool, hide_parameters=True)
