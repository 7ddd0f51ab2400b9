"""The database, once as a single server and once used as a distributed one."""

from collections.abc import Iterator

import pytest

from app.adapters.db.session import Database
from tests.support.distributed import used_as_distributed


@pytest.fixture(params=["one server", "distributed"])
def of_each_kind(request: pytest.FixtureRequest, database: Database) -> Iterator[None]:
    """For tests of what is sent in one way to a server, and in another to a cluster."""
    if request.param != "distributed":
        if database.is_distributed:
            pytest.skip("of one server, and this is a cluster")
        yield
        return
    with used_as_distributed(database):
        yield
