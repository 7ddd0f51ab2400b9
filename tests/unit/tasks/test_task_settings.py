"""Settings of task memory that do not go together."""

import pytest
from pydantic import ValidationError

from app.settings.settings import Settings

MIB = 1024**2


@pytest.mark.parametrize(
    ("sizes", "told"),
    [
        (
            {"task_max_artifact_bytes": 600 * MIB},
            "TASK_MAX_ARTIFACT_BYTES must be at most MEMORY_BANK_TASK_MAX_NAMESPACE_BYTES",
        ),
        (
            {"task_max_artifact_bytes": MIB // 2},
            "TASK_MAX_INLINE_BYTES must be at most MEMORY_BANK_TASK_MAX_ARTIFACT_BYTES",
        ),
        (
            {"task_chunk_tokens": 80, "task_chunk_overlap_tokens": 50},
            "TASK_CHUNK_OVERLAP_TOKENS must be at most half of",
        ),
    ],
)
def test_what_could_never_be_stored_is_not_offered(sizes: dict[str, int], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        Settings(**sizes)  # type: ignore[arg-type]  # each has its own type


def test_sizes_that_go_together_are_taken() -> None:
    found = Settings(task_max_inline_bytes=10, task_max_artifact_bytes=10)
    assert found.task_max_artifact_bytes == 10
