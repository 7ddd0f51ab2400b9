"""Makes the connection pool from the settings."""

from sqlalchemy import URL, make_url
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from app.settings import Settings


def driver_url(url: str) -> URL:
    """Return the URL of any `postgresql://` address with the driver that the service uses."""
    return make_url(url).set(drivername="postgresql+psycopg")


def plain_url(url: str) -> str:
    """Return the URL as libpq reads it, whatever driver it names."""
    return make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)


def open_engine(url: str, settings: Settings) -> AsyncEngine:
    """Open a pool. No connection is made before the first use."""
    arguments: dict[str, object] = {
        "connect_timeout": settings.database_connect_timeout_seconds,
        "application_name": "open-memory-bank",
    }
    if settings.database_behind_pooler:
        arguments["prepare_threshold"] = None
    else:
        milliseconds = int(settings.database_statement_timeout_seconds * 1000)
        # Statements are short: to compile one takes longer than to run it.
        options = f"-c statement_timeout={milliseconds} -c timezone=UTC -c jit=off"
        arguments["options"] = options
    return create_async_engine(
        driver_url(url),
        pool_size=settings.database_pool_size,
        max_overflow=settings.database_pool_overflow,
        pool_timeout=settings.database_pool_timeout_seconds,
        # A restarted server leaves dead connections in the pool; the first request after it
        # must not pay for them.
        pool_pre_ping=True,
        # Parameters are the text of memories; they are in no message, whoever may log it.
        hide_parameters=True,
        connect_args=arguments,
    )
