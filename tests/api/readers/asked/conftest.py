"""A service with two readers, both served on the loopback address."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from app.adapters.llm.factory import open_readers
from app.adapters.resources import Resources
from app.settings.settings import Settings
from tests.support.model_server import ModelServer
from tests.support.readers import readers


@pytest.fixture
def settings(settings: Settings, server: ModelServer) -> Settings:
    once = {"model_max_attempts": 1, "model_timeout_seconds": 30.0}
    return settings.model_copy(update={"task_readers": readers(server), **once})


@pytest.fixture
async def resources(resources: Resources, settings: Settings) -> AsyncIterator[Resources]:
    found = open_readers(settings)
    yield replace(resources, readers=found)
    await found.close()
