"""Settings of task memory that do not go together."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from app.settings.settings import Settings

MIB = 1024**2


def test_what_could_never_be_stored_is_not_offered() -> None:
    told = "TASK_MAX_ARTIFACT_BYTES must be at most MEMORY_BANK_TASK_MAX_NAMESPACE_BYTES"
    with pytest.raises(ValidationError, match=told):
        Settings(task_max_artifact_bytes=600 * MIB)


@pytest.mark.parametrize(
    ("sink", "source"), [("/srv", "/srv"), ("/srv/out", "/srv"), ("/srv", "/srv/x/../in")]
)
def test_what_was_exported_is_not_loaded(sink: str, source: str) -> None:
    with pytest.raises(ValidationError, match="IMPORT_SOURCES must not share folders"):
        Settings(task_export_sinks={"out": Path(sink)}, task_import_sources={"in": Path(source)})


def test_folders_beside_each_other_are_taken() -> None:
    sources = {"in": Path("/srv/in")}
    found = Settings(task_export_sinks={"out": Path("/srv/out")}, task_import_sources=sources)
    assert found.task_import_sources == sources


def test_sizes_that_go_together_are_taken() -> None:
    found = Settings(task_max_artifact_bytes=10, task_max_namespace_bytes=10)
    assert found.task_max_artifact_bytes == 10
