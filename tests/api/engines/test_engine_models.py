"""A start names the models that serve engines and cannot be loaded."""

import httpx
from structlog.testing import capture_logs

from app.adapters.resources import Resources
from app.platform.engines.services.engines import EngineService
from tests.support.operations import create_memory


async def test_a_start_names_models_that_are_not_open(
    client: httpx.AsyncClient, resources: Resources
) -> None:
    await create_memory(client, "I like tea.")
    service = EngineService.of(resources)
    opened = resources.embedders.by_id

    with capture_logs() as lines:
        await service.warn_of_models(opened)
    assert lines == []

    with capture_logs() as lines:
        await service.warn_of_models({"another"})
    (line,) = lines
    assert (line["event"], line["model_id"]) == (
        "engine.model_not_open",
        resources.embedder.model_id,
    )
    assert "re-embedding.md" in line["help"]
