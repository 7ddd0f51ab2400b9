"""The order of a list, read from its text."""

import pytest

from app.adapters.db.lists import List
from app.kernel.errors import InvalidArgument
from app.memory.memories.store.tables import MemoryRow

_LIST = List(
    "things",
    (MemoryRow.create_time, MemoryRow.memory_id),
    is_descending=True,
    orders=(MemoryRow.create_time, MemoryRow.fact),
)


@pytest.mark.parametrize(
    ("text", "first", "is_descending"),
    [
        (None, "create_time", True),
        ("", "create_time", True),
        ("fact", "fact", False),
        ("createTime  asc", "create_time", False),
        (" create_time DESC ", "create_time", True),
    ],
)
def test_an_order_is_read(text: str | None, first: str, *, is_descending: bool) -> None:
    ordered = _LIST.ordered(text)
    assert [column.key for column in ordered.key] == [first, "memory_id"]
    assert ordered.is_descending is is_descending


@pytest.mark.parametrize("text", ["name", "fact,create_time", "fact down", "desc", "Fact", " "])
def test_another_order_is_refused_naming_the_fields(text: str) -> None:
    with pytest.raises(InvalidArgument, match="orderBy: must be create_time or fact") as refused:
        _LIST.ordered(text)
    assert refused.value.violations[0].field == "orderBy"
