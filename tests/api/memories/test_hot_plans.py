"""How the statements that go past the session are planned."""

import pytest

from app.adapters.db.engine import open_engine
from app.adapters.db.session import Database
from app.settings.settings import Settings

_PLANNED = b"select current_setting('plan_cache_mode'), current_setting('enable_seqscan')"


@pytest.mark.parametrize(
    ("is_distributed", "planned"),
    [(False, ("force_generic_plan", "off")), (True, ("auto", "on"))],
)
async def test_only_nodes_of_a_cluster_plan_hot_statements_with_their_values(
    database_url: str,
    settings: Settings,
    is_distributed: bool,  # noqa: FBT001 - of the table above
    planned: tuple[str, str],
) -> None:
    """A plan for any scope would else read the whole table for a small one beside a large one."""
    database = Database(open_engine(database_url, settings))
    database.is_distributed = is_distributed
    (row,) = await database.run(_PLANNED, [])
    await database.close()
    assert tuple(row) == planned
