"""The order of a list, read from its text."""

import pytest

from app.kernel.errors import InvalidArgument
from app.kernel.ordering import Order, read_order

_FIELDS = ("create_time", "name")


@pytest.mark.parametrize(
    ("text", "order"),
    [
        (None, Order("create_time", is_descending=True)),
        ("", Order("create_time", is_descending=True)),
        ("name", Order("name", is_descending=False)),
        ("createTime  asc", Order("create_time", is_descending=False)),
        (" create_time DESC ", Order("create_time", is_descending=True)),
    ],
)
def test_an_order_is_read(text: str | None, order: Order) -> None:
    assert read_order(text, "create_time desc", _FIELDS) == order


@pytest.mark.parametrize("text", ["fact", "name,create_time", "name down", "desc", "Name"])
def test_another_order_is_refused_naming_the_fields(text: str) -> None:
    with pytest.raises(InvalidArgument, match="orderBy: must be create_time or name") as refused:
        read_order(text, "create_time desc", _FIELDS)
    assert refused.value.violations[0].field == "orderBy"
