"""Whether the database answers, and has the schema of this release."""

import asyncio

from sqlalchemy import text

from app.db.migrate import wanted_revision
from app.db.session import Database


async def schema_is_current(db: Database) -> bool:
    """Say whether the schema is that of this release.

    Raises:
        Unavailable: the database cannot be reached.
    """
    wanted = await asyncio.to_thread(wanted_revision)
    async with db.snapshot() as session:
        found = await session.execute(text("select version_num from alembic_version"))
        return set(found.scalars()) == {wanted}
