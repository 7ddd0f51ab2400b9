"""Schema statements that cannot run in a transaction, on a separate connection."""

from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg import sql

from app.adapters.db.urls import plain_url
from app.kernel.failures import describe
from app.settings.settings import Settings

_LOCK_WAIT = "10min"
"""Longest wait of a definition for earlier transactions; it does not block others."""
_MEMORY = "256MB"
_LIMITS = {
    "statement_timeout": "0",
    "lock_timeout": _LOCK_WAIT,
    "maintenance_work_mem": _MEMORY,
    # Parallel workers need shared memory, which is often too small in containers.
    "max_parallel_maintenance_workers": "0",
}

Definition = sql.Composed
"""A complete statement with its names and values."""


class DefinitionError(RuntimeError):
    """The database is unreachable or refuses a statement; earlier statements took effect."""


async def define(url: str, settings: Settings, *statements: Definition) -> None:
    """Run statements outside the pool, each in its own transaction.

    They have no time limit, and use one core. Behind a pooler these settings are impossible, and
    the pooler's own limits apply.

    Raises:
        DefinitionError: one failed; the later ones were not run.
    """
    direct, options = direct_address(url, settings, _LIMITS)
    try:
        async with await psycopg.AsyncConnection.connect(
            direct,
            autocommit=True,
            application_name="open-memory-bank-indexes",
            connect_timeout=settings.tuning.database_connect_timeout_seconds,
            **options,
        ) as connection:
            for statement in statements:
                await connection.execute(statement, prepare=False)
    except psycopg.Error as error:
        raise DefinitionError(describe(error)) from None


def direct_address(
    url: str, settings: Settings, limits: Mapping[str, str]
) -> tuple[str, dict[str, Any]]:
    """Return the database's address, bypassing a pooler if possible, and the settings to apply.

    Args:
        url: the address that the pool uses.
        settings: the service's settings, which may contain a direct address.
        limits: settings of the connection; not applied behind a pooler.
    """
    if settings.listen_url is not None:
        url = settings.listen_url.get_secret_value()
    elif settings.database_behind_pooler:
        return plain_url(url), {}
    return plain_url(url), {"options": " ".join(f"-c {name}={limits[name]}" for name in limits)}
