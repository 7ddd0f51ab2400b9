"""The statement that checks whether an archive is being restored into an engine, for requests.

It reads one engine, so on a distributed database it depends only on the node of that engine.
"""

from app.adapters.db.session import Database

_IS_RESTORING = b"""
select true from engines where engine_id = $1 and restore is not null and delete_time is null
"""


async def is_restoring(db: Database, engine_id: int) -> bool:
    """Return True if an engine is being restored."""
    return bool(await db.run(_IS_RESTORING, [engine_id]))
