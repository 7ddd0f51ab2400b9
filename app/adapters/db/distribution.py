"""Distribution: whether a database spreads its tables over nodes, by engine."""

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

_HAS_CATALOG = text("select to_regclass('pg_catalog.pg_dist_partition') is not null")
_HAS_ENGINES = text(
    "select exists (select from pg_dist_partition where logicalrelid = to_regclass('engines'))"
)


async def is_distributed(engine: AsyncEngine) -> bool:
    """Return True if the table of engines is distributed over the nodes of a Citus cluster."""
    async with engine.connect() as connection:
        has_catalog = (await connection.execute(_HAS_CATALOG)).scalar_one()
        return bool(has_catalog and (await connection.execute(_HAS_ENGINES)).scalar_one())
