"""Rows of files, with their places in the text that readers get."""

import tracemalloc
from collections.abc import Sequence

import pytest

from app.adapters.documents.extracting import extracted
from app.adapters.documents.tables import MAX_JSON_CHARS, Wanted, rows_of

_NO_MEMBER = "It has no member with the name of a property; source.path can name the list of rows."
_WANTED = Wanted({"item": "item", "price": "Unit price"})


def _read(
    data: str, media_type: str, wanted: Wanted = _WANTED, size: int = 7
) -> list[tuple[object, str]]:
    """Return the rows of a file that comes in pages, each with its place in the text."""
    encoded = data.encode()
    pages = [encoded[start : start + size] for start in range(0, len(encoded), size)]
    text = "".join(extracted(pages, media_type, "text/plain"))
    rows = rows_of(pages, media_type, "text/plain", wanted)
    return [(row.fault or row.values, text[row.start : row.end]) for row in rows]


def _table(*rows: str) -> str:
    return f"<p>Menu</p><table>{''.join(rows)}</table>"


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (
            ["<tr><th>Item<th>Unit price", "<tr><td>Tea<td>3"],
            [({"item": "Tea", "price": "3"}, "Tea | 3")],
        ),
        (
            ["<tr><td>unit_price<td>ITEM", "<tr><td>3<td>a <b>big</b><br>pot"],
            [({"item": "a big pot", "price": "3"}, "3 | a big\npot")],
        ),
        (
            ["<tr><th>Item<th>Unit price", "<tr><td rowspan=2>Tea<td>3", "<tr><td>4"],
            [({"item": "Tea", "price": "3"}, "Tea | 3"), ({"item": "Tea", "price": "4"}, "4")],
        ),
        (
            ["<tr><th colspan=2>Item<th>Unit price", "<tr><td>Tea<td>black<td>3"],
            [({"item": "Tea", "price": "3"}, "Tea | black | 3")],
        ),
        (
            ["<tr><th>Item<th>Unit price", "<tr><td></td><td>3", "<tr><td>x<script>y()</script>"],
            [({"item": "", "price": "3"}, "3"), ({"item": "x"}, "x")],
        ),
        (
            [
                "<tr><th>Item<th>Unit price",
                "<tr><td>Tea<table><tr><td>deep</table><td>3",
                "<tr><td>Pot<td>4",
            ],
            [
                ({"item": "Tea", "price": "3"}, "Tea\n\ndeep\n\n3"),
                ({"item": "Pot", "price": "4"}, "Pot | 4"),
            ],
        ),
    ],
)
def test_cells_of_html_belong_to_the_columns_of_their_header(
    rows: Sequence[str], expected: object
) -> None:
    assert _read(_table(*rows), "text/html") == expected


def test_rows_of_json_have_the_place_of_their_text() -> None:
    data = (
        '{"a": [1], "rows": [{"item": "T\\u00e9a", "x": [1, 2]},\n {"unit_price": 4}, 5], "b": {}}'
    )
    assert _read(data, "application/json", Wanted(_WANTED.columns, "/rows")) == [
        ({"item": "T\u00e9a"}, '{"item": "T\u00e9a", "x": [1, 2]}'),
        ({"price": 4}, '{"unit_price": 4}'),
        (
            "It has no member with the name of a property; source.path can name the list of rows.",
            "5",
        ),
    ]


@pytest.mark.parametrize(
    ("data", "path", "values"),
    [
        ('{"item": 1}', "", [{"item": 1}]),
        ('[[{"item": 1}], [{"item": 2}]]', "/1", [{"item": 2}]),
        ('{"a/b": {"~": [{"item": NaN}]}}', "/a~1b/~0", [{"item": None}]),
        ("[]", "", []),
        ('{"rows": []}', "/rows", []),
        ("", "", []),
    ],
)
def test_a_pointer_leads_to_the_rows(data: str, path: str, values: object) -> None:
    found = _read(data, "application/json", Wanted(_WANTED.columns, path))
    assert [row for row, _ in found] == values


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ('[{"item": 1}', "/0/item/x"),
        ('{"rows": ', "/rows"),
        ('{"rows": [', "/rows"),
        ("[" * 100_000, ""),
        ("nonsense", ""),
        ("5", "/rows"),
        ("{", "/rows"),
        ('{"a"', "/rows"),
    ],
)
def test_json_that_is_broken_or_elsewhere_is_told(data: str, path: str) -> None:
    *_, (fault, _) = _read(data, "application/json", Wanted(_WANTED.columns, path), 100_000)
    assert fault == "It is not readable as JSON, or has nothing at source.path."


def test_long_json_is_left_to_models() -> None:
    data = '[{"item": 1},' + " " * MAX_JSON_CHARS + '{"item": 2}]'
    ((fault, _),) = _read(data, "application/json", size=2**20)
    assert str(fault).startswith("JSON of more than 4,194,304 characters")


def test_the_rows_of_csv_are_bounded() -> None:
    pages = [b"item\n", *[b"a\n" * 100_000] * 2]
    *rows, last = rows_of(pages, "text/csv", "text/plain", _WANTED)
    assert len(rows) == 199_999
    assert (last.fault, last.is_last) == ("Of CSV, only 200,000 rows are read.", True)


def test_csv_is_read_up_to_where_it_is_none() -> None:
    data = 'item,unit price\nTea,3\n\n"' + "x" * 300_000
    assert [values for values, _ in _read(data, "text/csv", size=50_000)] == [
        {"item": "Tea", "price": "3"},
        "From here on, it is not readable as CSV.",
    ]


@pytest.mark.parametrize(
    ("media_type", "part", "count"),
    [
        ("text/html", "<table><tr><td rowspan=9999 colspan=9999>item", 4_000),
        ("text/html", "<table><tr><th>item<tr><td rowspan=9999>x<tr>", 4_000),
        ("text/html", "</table></tr></td>", 20_000),
        ("text/html", "<td>item", 20_000),
        ("application/json", '[{"item":', 20_000),
        ("application/json", '{"item":1}', 20_000),
        ("text/csv", 'item,"', 20_000),
        ("text/csv", "item\n", 20_000),
    ],
)
def test_hostile_files_are_read_to_their_end(media_type: str, part: str, count: int) -> None:
    found = _read(part * count, media_type, size=65_536)
    assert len(found) <= count


@pytest.mark.parametrize(
    "page",
    [
        "<table><tr><td>item<tr><td rowspan=9999>" + "x " * 8_000 + "<tr><td>y" * 2_000,
        "<table><tr>" + "<td>item" * 200_000,
    ],
    ids=["rowspan", "cells"],
)
def test_cells_of_hostile_tables_take_little_memory(page: str) -> None:
    tracemalloc.start()
    try:
        rows = list(rows_of([page.encode()], "text/html", "text/html", _WANTED))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert not any(row.fault for row in rows)
    assert peak < 12 * 2**20
