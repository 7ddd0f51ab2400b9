"""Summaries by a provider's protocol, on the loopback address: it fails, comes back, is counted."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import httpx
import pytest

from app.adapters.llm.factory import open_models
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from app.settings.settings import Settings
from tests.support.bank import ok
from tests.support.model_server import ModelServer, status
from tests.support.summaries import (
    BY_THREE,
    covers,
    lines,
    session_with,
    summaries,
    talk,
    verbatim,
)


@pytest.fixture
async def resources(
    resources: Resources, settings: Settings, server: ModelServer
) -> AsyncIterator[Resources]:
    update = {"model": "openai:any", "model_base_url": server.url, "model_max_attempts": 1}
    models = open_models(settings.model_copy(update=update))
    yield replace(resources, models=models)
    await models.close()


async def test_a_provider_that_fails_and_comes_back_has_summarised_once(
    client: httpx.AsyncClient, runner: Runner, server: ModelServer, clock: FixedClock
) -> None:
    server.will(status(503), {"summary": "They spoke of three things."})
    path = await session_with(client, **BY_THREE)
    await talk(client, path, 1, 2, 3)
    await runner.run_pending()
    assert await verbatim(client, path) == [1, 2, 3, 4, 5, 6]
    clock.advance(timedelta(seconds=1))
    await runner.run_pending()
    assert await covers(client, path, state=None) == [(1, 6)]
    (found,) = await summaries(client, path)
    assert found["text"] == "They spoke of three things."
    assert found["model"] == "openai:any"
    sent = str(server.seen[-1].body["messages"][-1]["content"])
    assert sent.endswith(lines(1, 2, 3))
    used = ok(await client.get(f"{path}/usage"))
    assert used["total"]["callCount"] == 2
    assert used["total"]["inputTokenCount"] > 0
