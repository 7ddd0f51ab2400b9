"""Plain lines of an export, and what an import makes of them."""

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest

from app.memory.transfer.logic.kinds import MEMORY
from app.process.commands.export import plain_memory
from app.process.imports.items import Options
from app.process.imports.products import ItemLine, converted
from app.process.imports.records import Record
from tests.support.restores import SAMPLES

_SAID = datetime(2020, 6, 1, tzinfo=UTC)


def _values(**changed: Any) -> dict[str, Any]:
    given = {**SAMPLES, "memory_id": "a", "fact": "I live in Oslo.", **changed}
    return {field.column: given.get(field.column) for field in MEMORY.fields}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"event_time": _SAID}, "2020-06-01T00:00:00.000000Z"),
        ({}, None),
        # Set by hand since: it rests on the time of its last change.
        ({"event_time": _SAID, "held_time": datetime(2021, 1, 1, tzinfo=UTC)}, None),
    ],
)
def test_a_line_has_the_time_at_which_its_fact_was_said(
    changed: dict[str, Any], said: str | None
) -> None:
    line = plain_memory(_values(**changed))
    assert line is not None
    assert line.get("eventTime") == said
    (made,) = converted([Record(1, line)], Options("jsonl", _SAID), Counter())
    assert isinstance(made, ItemLine)
    assert made.line.get("eventTime") == said


def test_a_deleted_memory_has_no_line() -> None:
    assert plain_memory(_values(delete_time=_SAID)) is None
