"""What a request had models do is recorded whole, whenever the request is stopped."""

import asyncio

import httpx
import pytest
from sqlalchemy import text
from structlog.testing import capture_logs

from app.adapters.llm.ports import Meter, Usage
from app.adapters.resources import Resources
from app.kernel.errors import NotFound
from app.kernel.names import EngineName
from app.platform.usage import service as usage
from app.platform.usage.logic import RECALL
from app.platform.usage.service import recorded
from tests.support.bank import ENGINE, ENGINE_URL, ok

_ENGINE = EngineName.parse(ENGINE)


def _meter() -> Meter:
    meter = Meter()
    meter.add("openai:any", Usage(1, 10, 2))
    return meter


async def _calls(client: httpx.AsyncClient) -> int:
    found: int = ok(await client.get(f"{ENGINE_URL}:usage"))["total"]["callCount"]
    return found


async def _request(resources: Resources, error: Exception | None = None) -> None:
    async with recorded(resources, _ENGINE, _meter(), RECALL):
        if error is not None:
            raise error


async def test_also_if_it_is_stopped_while_that_is_written(
    client: httpx.AsyncClient, resources: Resources
) -> None:
    async with resources.db.engine.begin() as connection:
        await connection.execute(text("select 1 from engines where engine_id = 1 for update"))
        request = asyncio.create_task(_request(resources))
        await asyncio.sleep(0.2)
        request.cancel()
        await asyncio.sleep(0.05)
        assert not request.done()
    with pytest.raises(asyncio.CancelledError):
        await request
    assert await _calls(client) == 1


async def test_it_ends_if_that_takes_too_long(
    client: httpx.AsyncClient, resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usage, "MAX_NOTE_SECONDS", 0.01)
    async with resources.db.engine.begin() as connection:
        await connection.execute(text("select 1 from engines where engine_id = 1 for update"))
        request = asyncio.create_task(_request(resources))
        await asyncio.sleep(0.2)
        request.cancel()
        with pytest.raises(asyncio.CancelledError):
            await request
    assert await _calls(client) == 0


async def test_an_error_is_told_though_its_costs_cannot_be_written(resources: Resources) -> None:
    async with resources.db.transaction() as session:
        await session.execute(text("delete from engines"))
    with capture_logs() as logs, pytest.raises(ValueError, match="first"):
        await _request(resources, ValueError("first"))
    assert [entry["event"] for entry in logs] == ["usage.costs_not_recorded"]
    with pytest.raises(NotFound):
        await _request(resources)
