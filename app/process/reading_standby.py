"""The standby of a server, which answers reads while the primary is unreachable."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.adapters.db.migrate import SchemaError
from app.adapters.db.standby import followed_standby
from app.adapters.resources import Resources


@asynccontextmanager
async def reading_standby(resources: Resources) -> AsyncIterator[None]:
    """Use the standby from the settings, if any, for reads during the block.

    Raises:
        SchemaError: the address is not a standby of the database, or the database cannot have one.
    """
    settings, db = resources.settings, resources.db
    if settings.read_url is None:
        yield
        return
    if settings.database_url is None or db.is_distributed:
        kind = "a distributed" if db.is_distributed else "the embedded"
        raise SchemaError(
            f"MEMORY_BANK_READ_URL must be absent with {kind} database; got an address. A standby"
            " follows one server, which MEMORY_BANK_DATABASE_URL names."
        )
    url = settings.read_url.get_secret_value()
    async with followed_standby(url, db.server, resources.database_url, settings) as standby:
        db.standby = standby
        yield
