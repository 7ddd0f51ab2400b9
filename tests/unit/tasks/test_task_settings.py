"""Settings of task memory that do not go together."""

import pytest
from pydantic import ValidationError

from app.settings.settings import Settings

MIB = 1024**2


def test_what_could_never_be_stored_is_not_offered() -> None:
    told = "TASK_MAX_ARTIFACT_BYTES must be at most MEMORY_BANK_TASK_MAX_NAMESPACE_BYTES"
    with pytest.raises(ValidationError, match=told):
        Settings(task_max_artifact_bytes=600 * MIB)


def test_sizes_that_go_together_are_taken() -> None:
    found = Settings(task_max_artifact_bytes=10, task_max_namespace_bytes=10)
    assert found.task_max_artifact_bytes == 10
