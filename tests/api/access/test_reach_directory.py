"""How an engine out of reach is found out must not tell that it is there."""

from collections.abc import Iterator

import pytest
from sqlalchemy import event

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.auth import Reach
from app.kernel.clock import FixedClock
from app.kernel.names import LocationName
from app.platform.engines.services.engine_cache import Directory, RestoringEngines
from app.platform.engines.services.engines import FIRST_ENGINE

HERE = LocationName(FIRST_ENGINE.project, FIRST_ENGINE.location)
ALL = Reach()
OF_PROJECT = Reach(projects=frozenset({HERE.project}))
OF_OTHER_PROJECT = Reach(projects=frozenset({"other"}))
OF_ENGINE = Reach(engines=frozenset({1}))
OF_OTHER_ENGINE = Reach(engines=frozenset({2}))


@pytest.fixture
def sent(database: Database) -> Iterator[list[str]]:
    """The statements that the database is sent."""
    found: list[str] = []

    def note(*arguments: object) -> None:
        found.append(str(arguments[2]))

    event.listen(database.engine.sync_engine, "before_cursor_execute", note)
    yield found
    event.remove(database.engine.sync_engine, "before_cursor_execute", note)


@pytest.fixture
def directory(resources: Resources, clock: FixedClock) -> Directory:
    del clock
    return Directory(resources.db, RestoringEngines(resources.db))


async def test_an_engine_within_reach_is_read_once(directory: Directory, sent: list[str]) -> None:
    for reach in (ALL, OF_PROJECT, OF_ENGINE):
        assert await directory.location_of(1, reach) == HERE
    assert len(sent) == 1


@pytest.mark.parametrize("reach", [OF_OTHER_PROJECT, OF_OTHER_ENGINE])
async def test_one_out_of_reach_is_looked_for_like_one_that_is_not_there(
    directory: Directory, sent: list[str], reach: Reach
) -> None:
    assert await directory.location_of(1, ALL) == HERE
    counts: list[int] = []
    for engine_id in (1, 1, 7, 7):
        sent.clear()
        assert await directory.location_of(engine_id, reach) is None
        counts.append(len(sent))
    assert len(set(counts)) == 1
    assert len(set(sent)) <= 1
