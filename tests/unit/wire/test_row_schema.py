"""Values of rows, converted to their schema."""

import pytest

from app.kernel.text import span_of
from app.kernel.wire.row_schema import RowReader, plain_number
from tests.support.bank import Json


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("42", "42"),
        ("-1,234.5", "-1234.5"),
        ("1.234,5", "1234.5"),
        ("1,234,567", "1234567"),
        ("1.234.567", "1234567"),
        ("1 234 567,8", "1234567.8"),
        ("1\u202f234", "1234"),
        ("1'234.50", "1234.50"),
        ("0,125", "0.125"),
        ("12,5", "12.5"),
        ("1234,567", "1234.567"),
        ("1,234", "1,234"),
        ("1.234", "1.234"),
        ("1,23,456", "1,23,456"),
        ("1,234,5", "1,234,5"),
        ("12 coins", "12 coins"),
        ("", ""),
    ],
)
def test_separators_count_only_where_they_mean_one_number(text: str, number: str) -> None:
    assert plain_number(text) == number


_SCHEMA: Json = {
    "type": "object",
    "properties": {
        "n": {"type": "integer"},
        "x": {"type": ["number", "null"]},
        "text": {"type": "string"},
        "flag": {"type": "boolean"},
        "any": {"type": ["string", "number"]},
        "cents": {"multipleOf": 0.01},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
}


def test_values_are_converted_without_loss() -> None:
    given: Json = {"n": " 1,234,567 ", "x": " ", "text": 5, "flag": "TRUE", "tags": "a, b", "y": 1}
    assert RowReader(_SCHEMA)(given) == {
        "n": 1234567,
        "x": None,
        "text": "5",
        "flag": True,
        "tags": ["a", "b"],
    }
    assert RowReader(_SCHEMA)({"any": "1,234.50"}) == {"any": "1,234.50"}
    assert RowReader(_SCHEMA)({"n": None, "text": "", "x": 2}) == {"x": 2}


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ({"n": "1,234"}, "It does not meet /properties/n/type of the schema."),
        ({"n": 1.5}, "It does not meet /properties/n/type of the schema."),
        ({"flag": "secret"}, "It does not meet /properties/flag/type of the schema."),
        ({"text": "x" * 5_000}, "A value has more than 4 KiB or 200 parts."),
        ({"text": "\ud800"}, "A value has more than 4 KiB or 200 parts."),
        ({"cents": 10**309}, "It does not meet /properties/cents/multipleOf of the schema."),
        ({"x": float("inf")}, "A value has more than 4 KiB or 200 parts."),
    ],
)
def test_a_fault_tells_the_keyword_and_no_content(values: Json, fault: str) -> None:
    with pytest.raises(ValueError, match=r"^(It|A value) ") as refused:
        RowReader(_SCHEMA)(values)
    assert str(refused.value) == fault


def test_the_span_of_texts_is_around_the_longest() -> None:
    text = "3 teas. Green kettle: 42, tea: 3, pot: 42."
    assert span_of(text, ["3", "tea: 3"]) == (26, 32)
    assert span_of(text, ["42", "Green kettle"]) == (8, 24)
    assert span_of(text, ["cup", ""]) is None
