"""An export of all is of all, whatever the service would take by now."""

from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from app.adapters.resources import Resources
from app.artifacts.tasks.schemas import ExportNamespaceRequest
from app.artifacts.tasks.services.exports import export
from app.artifacts.tasks.services.tasks import TaskService
from app.kernel.names import EngineName, NamespaceName, TaskMemoryName
from app.settings.settings import Settings
from tests.support.bank import ok
from tests.support.tasks import store, text_output

NAME = NamespaceName(TaskMemoryName(EngineName("-", "-", 1), "tools"), "n")


@pytest.fixture
def settings(settings: Settings, tmp_path: Path) -> Settings:
    return settings.model_copy(update={"task_export_sinks": {"out": tmp_path}})


async def test_what_was_stored_when_more_was_taken_is_exported(
    client: httpx.AsyncClient, resources: Resources, tmp_path: Path
) -> None:
    ok(await store(client, *[text_output(f"{n}", name=f"a{n}") for n in range(5)]))
    lowered = resources.settings.model_copy(update={"task_max_namespace_artifacts": 2})
    tasks = TaskService.of(replace(resources, settings=lowered))
    for artifacts in (None, ["a4", "a0"]):
        request = ExportNamespaceRequest(sink="out", artifacts=artifacts)
        found = await export(tasks, NAME, request, None)
        assert len(found.files) == (2 if artifacts else 5)
    assert len(list((tmp_path / "1/tools/n").iterdir())) == 5
