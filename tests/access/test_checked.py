"""A check finds data of every kind whole: with `make test-citus`, also on a cluster."""

import pytest

from app.platform.checking.service import CheckOptions
from app.process.on_database import check_database
from app.settings.settings import Settings
from tests.access.canaries import Canaries
from tests.access.service import Service
from tests.access.victim import fill


@pytest.mark.parametrize("engine_id", [None, 1])
async def test_data_of_every_kind_is_whole(
    service: Service, settings: Settings, database_url: str, engine_id: int | None
) -> None:
    await fill(service, Canaries())
    options = CheckOptions(is_full=engine_id is None, engine_id=engine_id)
    report = await check_database(settings, database_url, options)
    assert report.is_whole, "\n".join(report.lines())
