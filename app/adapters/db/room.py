"""A comparison of the connections that processes open with the server's limit."""

import structlog
from sqlalchemy import text

from app.adapters.db.direct import MAX_CONNECTIONS
from app.adapters.db.session import Database
from app.settings.settings import Settings

log = structlog.get_logger()

_ALLOWED = text(
    "select current_setting('max_connections')::int"
    " - current_setting('superuser_reserved_connections')::int"
    " - current_setting('reserved_connections')::int"
)
_FOR_OTHERS = 20
"""Connections of the embedded Postgres for commands such as backups."""
_LISTENING = 1


def most_connections(settings: Settings, processes: int) -> int:
    """Return the most connections that a number of processes open."""
    pool = settings.database_pool_size + settings.tuning.database_pool_overflow
    return processes * (pool + MAX_CONNECTIONS + _LISTENING)


def room_for(settings: Settings, processes: int) -> int:
    """Return the connection limit of an embedded Postgres for a number of servers and a worker."""
    return _FOR_OTHERS + most_connections(settings, processes + 1)


async def warn_if_short(db: Database, settings: Settings, processes: int) -> None:
    """Log a warning if the server allows fewer connections than several processes may open.

    Behind a pooler it does no check, because the pooler opens the connections. Must not be called
    inside a transaction.
    """
    if processes == 1 or settings.database_behind_pooler:
        return
    async with db.snapshot() as session:
        allowed = (await session.execute(_ALLOWED)).scalar_one()
    needed = most_connections(settings, processes)
    if needed > allowed:
        log.warning("database.connections_short", needed=needed, allowed=allowed)
