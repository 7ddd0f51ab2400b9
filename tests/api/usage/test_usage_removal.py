"""What an engine used goes with it."""

from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from sqlalchemy import func, select

from app.adapters.db.session import Database
from app.adapters.llm.ports import Usage
from app.kernel.clock import FixedClock
from app.platform.engines.store.tables import EngineRow
from app.platform.operations.services.runner import Runner
from app.platform.usage.store import ModelUsageRow
from app.settings.settings import Settings
from tests.support.bank import count
from tests.support.engines import FIRST
from tests.support.usage import record

_SPENT = Usage(1, 1, 1, 1)


@pytest.fixture
def settings(data_dir: Path) -> Settings:
    return Settings(data_dir=data_dir, sweep_batch_rows=2)


async def test_usage_is_removed_in_batches_with_its_engine_only(
    client: httpx.AsyncClient,
    database: Database,
    settings: Settings,
    clock: FixedClock,
    runner: Runner,
) -> None:
    for days in range(5):
        day = clock.now() - timedelta(days=days)
        await record(database, settings, day, mini=_SPENT, local=_SPENT)
    await record(database, settings, clock.now(), engine_id=2, mini=_SPENT)
    # It is no reason to ask for force: nothing that somebody wrote is lost.
    assert (await client.request("DELETE", FIRST)).status_code == 200
    await runner.run_pending()
    assert await count(database, EngineRow) == (0,)
    async with database.snapshot() as session:
        of_another = select(func.count()).where(ModelUsageRow.engine_id == 2)
        assert (await session.execute(of_another)).scalar_one() == 1
    assert await count(database, ModelUsageRow) == (1,)
