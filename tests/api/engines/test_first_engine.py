"""The engine that is there from the first start, and only from that."""

import httpx
import pytest
from pydantic import SecretStr

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.process.main import create_app
from app.process.start import open_process
from app.process.worker import make_runner
from app.settings.settings import EmbedderChoice, Settings
from tests.conftest import ADMIN_KEY
from tests.support.engines import FIRST, names
from tests.support.errors import NOT_FOUND, refusal


async def test_a_removed_first_engine_stays_away_after_the_next_start(
    database: Database, database_url: str, settings: Settings, clock: FixedClock
) -> None:
    del database  # which is empty, and emptied afterwards
    given = {"database_url": SecretStr(database_url), "embedder": EmbedderChoice.HASH}
    external = settings.model_copy(update=given)
    headers = {"Authorization": f"Bearer {ADMIN_KEY}"}
    for start in ("first", "second", "third"):
        async with open_process(external, clock) as process:
            transport = httpx.ASGITransport(app=create_app(process.resources))
            async with httpx.AsyncClient(transport=transport, headers=headers) as client:
                if start == "third":
                    assert refusal(await client.get(FIRST)) == NOT_FOUND
                    assert await names(client) == []
                    continue
                assert (await client.get(FIRST)).status_code == 200
                if start == "second":
                    assert (await client.delete(FIRST)).status_code == 200
                    await make_runner(process.resources).run_pending()


@pytest.mark.parametrize("configured", [None, "chosen"])
async def test_the_first_start_makes_key_and_engine(
    database: Database,
    database_url: str,
    settings: Settings,
    clock: FixedClock,
    configured: str | None,
) -> None:
    del database  # as above
    external = settings.model_copy(
        update={
            "database_url": SecretStr(database_url),
            "embedder": EmbedderChoice.HASH,
            "admin_key": configured and SecretStr(configured),
        }
    )
    async with open_process(external, clock) as process:
        key = configured or process.first_key
        transport = httpx.ASGITransport(app=create_app(process.resources))
        headers = {"Authorization": f"Bearer {key}"}
        async with httpx.AsyncClient(transport=transport, headers=headers) as client:
            assert (await client.get(FIRST)).status_code == 200
    assert (process.first_key is None) == (configured is not None)
