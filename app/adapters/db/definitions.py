"""Statements that define things and that no transaction can hold, on a connection of their own."""

from typing import Any

import psycopg
from psycopg import sql

from app.adapters.db.urls import plain_url
from app.kernel.failures import describe
from app.settings.settings import Settings

_LOCK_WAIT = "10min"
"""How long a definition waits for transactions that were open before it; it holds up none."""
_MEMORY = "256MB"


Definition = sql.Composed
"""A statement, with its names and values in it."""


class DefinitionError(RuntimeError):
    """The database cannot be reached, or refuses; what was done before is done."""


async def define(url: str, settings: Settings, *statements: Definition) -> None:
    """Run statements beside the pool, each a transaction of its own.

    They may run for as long as they take, on one core. Behind a pooler nothing can be said of
    that, and its own limits hold.

    Raises:
        DefinitionError: one failed; those after it were not run.
    """
    direct, options = _direct(url, settings)
    try:
        async with await psycopg.AsyncConnection.connect(
            direct,
            autocommit=True,
            application_name="open-memory-bank-indexes",
            connect_timeout=settings.database_connect_timeout_seconds,
            **options,
        ) as connection:
            for statement in statements:
                await connection.execute(statement, prepare=False)
    except psycopg.Error as error:
        raise DefinitionError(describe(error)) from None


def _direct(url: str, settings: Settings) -> tuple[str, dict[str, Any]]:
    """Return the address of the database, past a pooler if there is a way, and what is set."""
    if settings.listen_url is not None:
        url = settings.listen_url.get_secret_value()
    elif settings.database_behind_pooler:
        return plain_url(url), {}
    limits = {
        "statement_timeout": "0",
        "lock_timeout": _LOCK_WAIT,
        "maintenance_work_mem": _MEMORY,
        # Others would share their memory in a way for which containers often leave too little.
        "max_parallel_maintenance_workers": "0",
    }
    return plain_url(url), {"options": " ".join(f"-c {name}={limits[name]}" for name in limits)}
