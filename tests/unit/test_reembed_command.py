"""The sentences that the command `memory-bank reembed` prints about an operation."""

from typing import Any

import pytest

from app.process.commands.reembed import progress_of

_ERROR = {"code": 14, "message": "The model is away."}


@pytest.mark.parametrize(
    ("operation", "sentence"),
    [
        ({"metadata": {}}, "waiting."),
        (
            {"metadata": {"embeddedCount": 4, "totalCount": 8, "percent": 50}},
            "4 of 8 (50 %).",
        ),
        (
            {"metadata": {"postponedUntil": "2026-01-01T00:00:00Z"}},
            "the model is away; next attempt at 2026-01-01T00:00:00Z.",
        ),
        ({"metadata": {}, "error": _ERROR}, "The model is away."),
        (
            {"metadata": {"embeddedCount": 4}, "response": {"embeddingModel": "http:small"}},
            "4 memories; http:small serves.",
        ),
        (
            {
                "metadata": {"embeddedCount": 4},
                "response": {"embeddingModel": "http:small", "refusedCount": 2},
            },
            "4 memories; http:small serves. It refuses 2 more, found by words alone.",
        ),
    ],
)
def test_each_state_of_the_operation_has_a_sentence(
    operation: dict[str, Any], sentence: str
) -> None:
    assert progress_of(operation) == sentence
