"""What the metadata of a memory say of where it comes from."""

from datetime import UTC, datetime
from typing import Any

import pytest

from app.memory.memories.logic.provenance import named_in


@pytest.mark.parametrize(
    ("metadata", "columns"),
    [
        ({}, {}),
        ({"source": {"stringValue": "mail"}}, {"source": "mail"}),
        ({"source": {"stringValue": ""}}, {"source": ""}),
        ({"source": {"stringValue": "é" * 4_096}}, {"source": "é" * 200}),
        ({"position": {"doubleValue": 7}}, {"position": 7.0}),
        ({"position": {"doubleValue": 0}}, {"position": 0.0}),
        (
            {"event_time": {"timestampValue": "2023-05-08T13:56:00Z"}},
            {"event_time": datetime(2023, 5, 8, 13, 56, tzinfo=UTC)},
        ),
        # Of another kind, or of another name, they are the user's own.
        ({"source": {"doubleValue": 1}, "position": {"stringValue": "first"}}, {}),
        ({"event_time": {"stringValue": "2023"}, "eventTime": {"stringValue": "a"}}, {}),
        ({"event_time": {"timestampValue": "soon"}, "source": None}, {}),
    ],
)
def test_metadata_name_columns_by_their_keys_and_kinds(
    metadata: dict[str, Any], columns: dict[str, Any]
) -> None:
    assert named_in(metadata) == columns
