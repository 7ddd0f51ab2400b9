"""The database, once as a single server and once used as a distributed one."""

from collections.abc import AsyncIterator

import pytest
from sqlalchemy import text

from app.adapters.db.session import Database
from tests.support.distributed import used_as_distributed

_NO_FULL_LOOK = text("insert into ticks values ('operations.fullLook', 'infinity')")
"""A look over all engines would find what no hint tells of."""


@pytest.fixture(params=["one server", "distributed"])
async def database(request: pytest.FixtureRequest, database: Database) -> AsyncIterator[Database]:
    if request.param != "distributed":
        yield database
        return
    with used_as_distributed(database):
        async with database.transaction() as session:
            await session.execute(_NO_FULL_LOOK)
        yield database
