"""The database, once as a single server and once used as a distributed one."""

import pytest
from sqlalchemy import text

from app.adapters.db.session import Database

_NO_FULL_LOOK = text("insert into ticks values ('operations.fullLook', 'infinity')")
"""A look over all engines would find what no hint tells of."""


@pytest.fixture(params=["one server", "distributed"])
async def database(request: pytest.FixtureRequest, database: Database) -> Database:
    if request.param == "distributed":
        database.is_distributed = True
        async with database.transaction() as session:
            await session.execute(_NO_FULL_LOOK)
    return database
