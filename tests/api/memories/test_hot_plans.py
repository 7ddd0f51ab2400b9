"""How the statements that go past the session are planned."""

from app.adapters.db.engine import open_engine
from app.adapters.db.session import Database
from app.settings.settings import Settings

_PLANNED = b"select current_setting('plan_cache_mode'), current_setting('enable_seqscan')"


async def test_hot_statements_are_planned_once_and_enter_by_an_index(database: Database) -> None:
    # A plan for any scope would read the whole table for a small one beside a large one.
    (row,) = await database.run(_PLANNED, [])
    assert tuple(row) == ("force_generic_plan", "off")


async def test_nodes_of_a_cluster_plan_hot_statements_with_their_values(
    database_url: str, settings: Settings
) -> None:
    database = Database(open_engine(database_url, settings))
    database.is_distributed = True
    (row,) = await database.run(_PLANNED, [])
    await database.close()
    assert tuple(row) == ("auto", "on")
